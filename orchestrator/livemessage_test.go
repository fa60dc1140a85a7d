package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// live makes a rig with the live message on.
func live(t *testing.T, f func(*rig)) {
	t.Helper()
	liveWith(t, nil, f)
}

// liveWith is live with further features.
func liveWith(t *testing.T, more func(*rig) orchestrator.Feature, f func(*rig)) {
	t.Helper()
	runWith(t, func(r *rig) {
		r.features = func() []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			l, err := livemessage.Feature(livemessage.Options{Store: r.store, Story: r.store, Jobs: r.store, Projects: projects, Messenger: r.chat, Cards: r.board})
			require.NoError(r, err)
			if more == nil {
				return []orchestrator.Feature{l}
			}
			return []orchestrator.Feature{more(r), l}
		}
	}, f)
}

// shows reports whether a card's message has a text in it.
func (r *rig) shows(item, text string) bool {
	r.Helper()
	id := r.task(item).TrackerMessageID
	for _, m := range r.silent() {
		if m.ID == id {
			return strings.Contains(strings.Join(m.Shown.Lines, "\n"), text)
		}
	}
	return false
}

// silent lists the live messages: the notices make a sound.
func (r *rig) silent() (out []memmessenger.Sent) {
	for _, m := range r.chat.Messages() {
		if m.Shown.Silent {
			out = append(out, m)
		}
	}
	return out
}

func TestLiveMessage(t *testing.T) {
	live(t, func(r *rig) {
		item := r.card(appProject, "Cache the tiles")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(500 * time.Millisecond)
		list := r.silent()
		require.Len(r, list, 1)
		require.Equal(r, "APP-1: Cache the tiles", list[0].Shown.Title)
		require.Equal(r, "analysis: the analyst is at work", list[0].Shown.Lines[0])
		require.Equal(r, list[0].ID, r.task(item).TrackerMessageID)
		r.settle(10 * time.Second)
		docs := func() string {
			return "artifacts: https://git.example.org/acme/app/tree/" + r.task(item).State.Pushed + "/docs/work/APP-1"
		}
		for _, line := range []string{"your move: Set Approved on the card, or Rejected with a comment", "card: https://board.example.org/p-app/item-1", docs()} {
			require.True(r, r.shows(item, line), "%s: %v", line, r.silent())
		}
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		list = r.silent()
		require.Len(r, list, 1, "one message, edited in place")
		text := strings.Join(list[0].Shown.Lines, "\n")
		for _, part := range []string{"done", "analysis: in 350 (300 cached), out 20, $0.0015, m", "deploy: ", "total: in 2,450", "wall ", "human review: ", docs()} {
			require.Contains(r, text, part)
		}
		require.NotEmpty(r, list[0].Shown.Link)
		require.GreaterOrEqual(r, list[0].Edits, 8)
	})
}

// A message that a person removed is sent anew; a chat that is down delays it and
// it catches up in one go; a chat that is closed holds nothing up.
func TestLiveMessageFailures(t *testing.T) {
	live(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.chat.Delete(r.silent()[0].ID)
		r.chat.FailWith(&flaky{})
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		r.chat.FailWith(nil)
		r.settle(time.Hour)
		list := r.silent()
		require.Len(r, list, 1)
		require.Equal(r, "done", list[0].Shown.Lines[0])
		require.Equal(r, list[0].ID, r.task(item).TrackerMessageID)
		require.Empty(r, r.open())
	})
	live(t, func(r *rig) {
		r.chat.FailWith(messenger.ErrUnreachable)
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Empty(r, r.open())
	})
}

// The branch of a cancelled task is removed: nothing on it is linked to.
func TestLiveMessageOfACancelledTask(t *testing.T) {
	liveWith(t, func(r *rig) orchestrator.Feature {
		projects, err := orchestrator.NewProjects(r.project...)
		require.NoError(r, err)
		s, err := stop.Feature(stop.Options{Store: r.store, Projects: projects, Workspaces: r.place, Agents: r.place})
		require.NoError(r, err)
		return s
	}, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.Contains(r, strings.Join(r.silent()[0].Shown.Lines, "\n"), "/tree/")
		r.move(appProject, item, stage.StatusStop)
		r.settle(time.Minute)
		lines := r.silent()[0].Shown.Lines
		require.Equal(r, "cancelled", lines[0])
		require.Equal(r, "card: https://board.example.org/p-app/item-1", lines[len(lines)-1])
		require.NotContains(r, strings.Join(lines, "\n"), "git.example.org")
	})
}

// Without the feature the story is the same, but for the updates it asks for.
func TestLiveMessageOnlyAdds(t *testing.T) {
	story := func(with func(*testing.T, func(*rig))) (out []string) {
		with(t, func(r *rig) {
			item := r.card(appProject, "x")
			r.toDone(appProject, item)
			entries, err := r.store.Journal(context.Background(), r.task(item).ID)
			require.NoError(r, err)
			for _, e := range entries {
				out = append(out, strings.NewReplacer(`,{"kind":"live"}`, "", `,"effects":[{"kind":"live"}]`, "").Replace(string(e.Payload)))
			}
		})
		return out
	}
	require.Equal(t, story(run), story(live))
}

// A task that waits for another shows that as long as it is true, and is not edited
// over and over meanwhile.
func TestLiveMessageOfATaskThatWaits(t *testing.T) {
	liveWith(t, func(r *rig) orchestrator.Feature {
		d, err := deps.New(deps.Options{Store: r.store, Table: r.store, Queue: r.store, Lister: r.store, Relations: r.board, Items: r.board})
		require.NoError(r, err)
		return d.Feature()
	}, func(r *rig) {
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			time.Sleep(5 * time.Minute)
			return goodAgent(ctx, c, files)
		})
		first, second := r.card(appProject, "one"), r.card(selfProject, "two")
		r.board.Block(second, first)
		r.move(appProject, first, stage.StatusToAnalyse)
		r.settle(time.Minute)
		require.True(r, r.shows(first, "analysis: the analyst is at work"), r.silent())
		require.False(r, r.shows(first, "waits"))
		r.move(selfProject, second, stage.StatusToAnalyse)
		r.settle(time.Minute)
		require.True(r, r.shows(second, "waits for APP-1 (task deps)"), r.silent())
		edits := r.silent()[1].Edits
		r.settle(3 * time.Minute)
		require.Equal(r, edits, r.silent()[1].Edits, "nothing has changed")
		r.mergedByHand(r.task(first))
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(first).State.Stage)
		require.True(r, r.shows(second, "analysis: the analyst is at work"), r.silent())
		require.False(r, r.shows(second, "waits"))
	})
}

// tooMany is the error of a chat that wants to be left alone for a while.
type tooMany struct{ flaky }

func (*tooMany) RetryAfter() time.Duration { return 5 * time.Minute }

// Updates that pile up while the chat takes no more become one.
func TestLiveMessageCoalesces(t *testing.T) {
	live(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		edits := r.silent()[0].Edits
		r.chat.FailWith(&tooMany{})
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		r.chat.FailWith(nil)
		r.settle(10 * time.Minute)
		list := r.silent()
		require.Len(r, list, 1)
		require.Equal(r, "done", list[0].Shown.Lines[0])
		require.Equal(r, edits+1, list[0].Edits, "one edit shows all that happened")
	})
}

// A task that goes well makes a sound when a person is needed, and at no other time.
func TestNoticesAreFew(t *testing.T) {
	audible := func(r *rig) (out []string) {
		for _, m := range r.chat.Messages() {
			if !m.Shown.Silent {
				require.Contains(r, m.Shown.Link, "https://board.example.org/", "the card is a step away")
				out = append(out, strings.Join(m.Shown.Lines, " "))
			}
		}
		return out
	}
	live(t, func(r *rig) {
		r.toDone(appProject, r.card(appProject, "x"))
		require.Equal(r, []string{"approval needed: the requirements are ready for review"}, audible(r))
	})
	live(t, func(r *rig) {
		item := r.card(selfProject, "x")
		r.toDone(selfProject, item)
		r.move(selfProject, item, stage.StatusConfirmDeploy)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, []string{
			"approval needed: the requirements are ready for review", "approval needed: the deployment waits for Confirm Deploy",
		}, audible(r))
	})
}
