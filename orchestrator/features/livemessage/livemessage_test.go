package livemessage_test

import (
	"context"
	"slices"
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
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// live makes a rig with the live message on.
func live(t *testing.T, f func(*Rig)) {
	t.Helper()
	liveWith(t, nil, f)
}

// liveWith is live with further features.
func liveWith(t *testing.T, more func(*Rig) orchestrator.Feature, f func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			l, err := livemessage.Feature(livemessage.Options{Parts: r.Parts(), Messenger: r.Chat, Cards: r.Board})
			require.NoError(r, err)
			if more == nil {
				return []orchestrator.Feature{l}
			}
			return []orchestrator.Feature{more(r), l}
		}
	}, f)
}

// containsText reports whether a card's message has a text in it.
func containsText(r *Rig, item, text string) bool {
	r.Helper()
	return slices.ContainsFunc(r.Silent(), func(m memmessenger.Sent) bool {
		return m.ID == r.Task(item).TrackerMessageID && strings.Contains(strings.Join(m.Shown.Lines, "\n"), text)
	})
}

func TestLiveMessage(t *testing.T) {
	live(t, func(r *Rig) {
		item := r.Begin("Cache the tiles")
		r.Settle(500 * time.Millisecond)
		list := r.Silent()
		require.Len(r, list, 1)
		require.Equal(r, "APP-1: Cache the tiles", list[0].Shown.Title)
		require.Equal(r, "analysis: the analyst is at work", list[0].Shown.Lines[0])
		require.Equal(r, list[0].ID, r.Task(item).TrackerMessageID)
		r.Settle(10 * time.Second)
		docs := func() string {
			return "artifacts: https://git.example.org/acme/app/tree/" + r.Task(item).State.Pushed + "/docs/work/APP-1"
		}
		for _, line := range []string{"your move: Set Approved on the card, or Rejected with a comment", "card: https://board.example.org/p-app/item-1", docs()} {
			require.True(r, containsText(r, item, line), "%s: %v", line, r.Silent())
		}
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		list = r.Silent()
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
	live(t, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.Chat.Delete(r.Silent()[0].ID)
		r.Chat.FailWith(&flaky{})
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		r.Chat.FailWith(nil)
		r.Settle(time.Hour)
		list := r.Silent()
		require.Len(r, list, 1)
		require.Equal(r, "done", list[0].Shown.Lines[0])
		require.Equal(r, list[0].ID, r.Task(item).TrackerMessageID)
		require.Zero(r, list[0].Edits, "updates that have piled up are one")
		require.Empty(r, r.Open())
	})
	live(t, func(r *Rig) {
		r.Chat.FailWith(messenger.ErrUnreachable)
		r.Stands(r.Finish("x"), stage.Done)
		require.Empty(r, r.Open())
	})
}

// The branch of a cancelled task is removed: nothing on it is linked to.
func TestLiveMessageOfACancelledTask(t *testing.T) {
	liveWith(t, func(r *Rig) orchestrator.Feature {
		s, err := stop.Feature(r.Parts())
		require.NoError(r, err)
		return s
	}, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		require.Contains(r, strings.Join(r.Silent()[0].Shown.Lines, "\n"), "/tree/")
		r.Set(item, stage.StatusStop)
		r.Settle(time.Minute)
		lines := r.Silent()[0].Shown.Lines
		require.Equal(r, "cancelled", lines[0])
		require.Equal(r, "card: https://board.example.org/p-app/item-1", lines[len(lines)-1])
		require.NotContains(r, strings.Join(lines, "\n"), "git.example.org")
	})
}

// A task that waits for another shows that as long as it is true, and is not edited
// over and over meanwhile.
func TestLiveMessageOfATaskThatWaits(t *testing.T) {
	liveWith(t, func(r *Rig) orchestrator.Feature {
		d, err := deps.New(deps.Options{Parts: r.Parts(), Relations: r.Board, Items: r.Board})
		require.NoError(r, err)
		r.Options.MaxConcurrency = 3
		return d.Feature()
	}, func(r *Rig) {
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			time.Sleep(5 * time.Minute)
			return GoodAgent(ctx, c, files)
		})
		first, second, third := r.Card(App, "one"), r.Card(Self, "two"), r.Begin("three")
		r.Board.Block(second, first, third)
		r.Settle(time.Second) // so that it is the first task
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		require.True(r, containsText(r, first, "analysis: the analyst is at work"), r.Silent())
		require.False(r, containsText(r, first, "waits"))
		r.Move(Self, second, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		require.True(r, containsText(r, second, "waits for APP-3, APP-1"), r.Silent())
		r.MergeByHand(r.Task(third))
		r.Settle(5 * time.Second)
		r.Shutdown() // before the message says so
		r.Start()
		r.Settle(2 * time.Minute)
		require.False(r, containsText(r, second, "APP-3"))
		edits := r.Silent()[2].Edits
		r.Settle(3 * time.Minute)
		require.Equal(r, edits, r.Silent()[2].Edits, "nothing has changed")
		r.MergeByHand(r.Task(first))
		r.Settle(5 * time.Second)
		r.Shutdown() // nor does a wait outlive it that is over
		r.Start()
		r.Settle(2 * time.Minute)
		r.Stands(first, stage.Done)
		require.True(r, containsText(r, second, "analysis: the analyst is at work"), r.Silent())
		require.False(r, containsText(r, second, "waits"))
	})
}

// A merge that is held is shown, and not edited over and over meanwhile.
func TestLiveMessageOfAMergeThatIsHeld(t *testing.T) {
	live(t, func(r *Rig) {
		r.Host.FailCall("Merge", &flaky{})
		item := r.Finish("x")
		require.Equal(r, stage.PhaseMerge, r.Task(item).State.Phase)
		held := queue.Hold{Subject: "card/1", Name: "test", Reason: "the card is being looked for"}
		require.NoError(r, r.Store.Hold(context.Background(), held))
		r.Settle(10 * time.Minute)
		require.True(r, containsText(r, item, "waits: the card is being looked for"), r.Silent())
		edits := r.Silent()[0].Edits
		r.Settle(10 * time.Minute)
		require.Equal(r, edits, r.Silent()[0].Edits, "nothing has changed")
		r.Host.FailCall("Merge", nil)
		require.NoError(r, r.Store.Free(context.Background(), held))
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
	})
}

// flaky is the error of a chat that may answer the next time.
type flaky struct{}

func (*flaky) Error() string   { return "503" }
func (*flaky) Retryable() bool { return true }

// A task that goes well makes a sound when a person is needed, and at no other time.
func TestNoticesAreFew(t *testing.T) {
	audible := func(r *Rig) (out []string) {
		for _, m := range r.Chat.Messages() {
			if !m.Shown.Silent {
				require.Contains(r, m.Shown.Link, "https://board.example.org/", "the card is a step away")
				out = append(out, strings.Join(m.Shown.Lines, " "))
			}
		}
		return out
	}
	live(t, func(r *Rig) {
		r.ToDone(App, r.Card(App, "x"))
		require.Equal(r, []string{"approval needed: the requirements are ready for review"}, audible(r))
	})
	live(t, func(r *Rig) {
		item := r.Card(Self, "x")
		r.ToDone(Self, item)
		r.Move(Self, item, stage.StatusConfirmDeploy)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, []string{
			"approval needed: the requirements are ready for review", "approval needed: the deployment waits for Confirm Deploy",
		}, audible(r))
	})
}
