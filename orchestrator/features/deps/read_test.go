package deps_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// slow is a store that takes its time to find a card's task, at first.
type slow struct {
	orchestrator.Keeping
	asked *atomic.Bool
}

func (s slow) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	if f.TrackerIssueID != "" && f.Cancelled && s.asked.CompareAndSwap(false, true) {
		time.Sleep(30 * time.Second)
	}
	return s.Keeping.Tasks(ctx, f)
}

// What an older reading has found does not count, though it is recorded last.
func TestOlderReadingsDoNotCount(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			parts := r.Parts()
			parts.Store = slow{parts.Store, new(atomic.Bool)}
			d, err := deps.New(deps.Options{Parts: parts, Relations: r.Board, Items: r.Board})
			require.NoError(r, err)
			return []orchestrator.Feature{d.Feature()}
		}
	}, func(r *Rig) {
		past, wish, item := r.Card(App, "past"), r.Card(App, "a wish"), r.Card(App, "x")
		r.MoveUnseen(App, past, stage.StatusDone)
		r.Set(item, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		r.Board.Block(item, past)
		edit(r, item)
		r.Settle(time.Second)
		r.Board.Block(item, wish)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst}, r.Roles())
	})
}

// No tracker tells of a relation: one that a person sets a moment before the approval holds what that starts, and one
// that is taken away lets it go. While nothing is about to start, nothing is read.
func TestDependenciesAreReadForAStart(t *testing.T) {
	dependent(t, func(r *Rig, rel *relations) {
		wish, item := r.Card(App, "a wish"), r.Card(App, "x")
		r.Set(item, stage.StatusToAnalyse)
		r.Settle(3 * time.Hour)
		require.EqualValues(r, 1, rel.reads.Load())
		r.Board.Block(item, wish)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		require.Zero(r, r.Ran(stage.Architect))
		require.Contains(r, r.Explain(item).Summary, `waits for the card "a wish"`)
		r.Board.FailCall("Item", faulttest.Error(faulttest.Passing))
		r.Settle(7 * time.Minute)
		require.Zero(r, r.Ran(stage.Architect), "what was read counts until it is read otherwise")
		r.Board.FailCall("Item", nil)
		r.Board.Block(item)
		r.Settle(7 * time.Minute)
		require.Equal(r, 1, r.Ran(stage.Architect))
		require.LessOrEqual(r, rel.reads.Load(), int64(12))
	})
}
