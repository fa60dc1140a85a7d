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
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// live makes a rig with the live message on.
func live(t *testing.T, f func(*rig)) {
	t.Helper()
	runWith(t, func(r *rig) {
		r.features = func() []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			l, err := livemessage.Feature(livemessage.Options{Store: r.store, Story: r.store, Jobs: r.store, Projects: projects, Messenger: r.chat})
			require.NoError(r, err)
			return []orchestrator.Feature{l}
		}
	}, f)
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
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		list = r.silent()
		require.Len(r, list, 1, "one message, edited in place")
		text := strings.Join(list[0].Shown.Lines, "\n")
		for _, part := range []string{"done", "analysis: in 350 (300 cached), out 20, $0.0015, m", "deploy: ", "total: in 2,450", "wall ", "human review: ", "artifacts: https://git.example.org/acme/app/tree/feature/APP-1"} {
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
