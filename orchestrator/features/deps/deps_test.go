package deps_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// relations is the board's, which can be made to fail.
type relations struct {
	tracker.Relations
	err   error
	hangs func(item string) bool // no answer comes; nil = of none
	reads atomic.Int64
}

func (r *relations) BlockedBy(ctx context.Context, p, i string) ([]tracker.Ref, error) {
	r.reads.Add(1)
	if r.hangs != nil && r.hangs(i) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.Relations.BlockedBy(ctx, p, i)
}

// dependent makes a rig with dependencies on.
func dependent(t *testing.T, f func(*Rig, *relations)) {
	t.Helper()
	dependentWith(t, func(*Rig, *deps.Deps) []orchestrator.Feature { return nil }, func(r *Rig, rel *relations, _ *deps.Deps) { f(r, rel) })
}

// dependentWith makes one with more features on.
func dependentWith(t *testing.T, more func(*Rig, *deps.Deps) []orchestrator.Feature, f func(*Rig, *relations, *deps.Deps)) {
	t.Helper()
	rel, d := &relations{}, (*deps.Deps)(nil)
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency = 8
		rel.Relations = r.Board
		r.Features = func() []orchestrator.Feature {
			var err error
			d, err = deps.New(deps.Options{Parts: r.Parts(), Relations: rel, Items: r.Board, Line: serialgate.Name})
			require.NoError(r, err)
			return append(more(r, d), d.Feature())
		}
	}, func(r *Rig) { f(r, rel, d) })
}

func TestDependencies(t *testing.T) {
	dependent(t, func(r *Rig, _ *relations) {
		first, second, third := r.Card(App, "one"), r.Card(Self, "two"), r.Card(App, "three")
		r.Board.Block(third, first)
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(time.Second)
		r.Move(Self, second, stage.StatusToAnalyse)
		r.Settle(time.Second)
		r.Set(third, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		require.Equal(r, 2, r.Ran(stage.Analyst), "a task without dependencies goes on")
		x := r.Explain(third)
		require.Contains(r, x.Summary, "waits for APP-1 (task 1)")
		require.Equal(r, "Wait for the end of APP-1 (task 1) (done or stopped), or remove the relation", x.Blockers[0].Do)
		r.Set(first, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(first, stage.Done)
		require.Equal(r, stage.HoldApproval, r.Task(third).State.Hold, "and begins when it may")

		// A card that nobody has begun is waited for too.
		later, wish := r.Card(App, "later"), r.Card(App, "a wish")
		r.Board.Block(later, wish)
		r.Set(later, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		require.Contains(r, r.Explain(later).Summary, `waits for the card "a wish"`)
		r.Shutdown()
		r.Start()
		r.Settle(time.Hour)
		require.Equal(r, 3, r.Ran(stage.Analyst), "nor does a restart forget it")
		r.MoveUnseen(App, wish, stage.StatusDone)
		r.Settle(10 * time.Minute)
		r.Waits(later, stage.HoldApproval)

		// A dependency that is added later holds the next job.
		require.NoError(r, r.Store.SetDependencies(context.Background(), r.Task(third).ID, deps.SourceDB, []int64{r.Task(second).ID}))
		r.Settle(2 * time.Minute)
		r.Set(third, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(third, stage.Architecture)
		require.Contains(r, r.Explain(third).Summary, "SLF-2")
		require.NoError(r, r.Store.SetDependencies(context.Background(), r.Task(third).ID, deps.SourceDB, nil))
		r.Settle(5 * time.Minute)
		r.Stands(third, stage.Done)
		rows, err := r.Store.Dependencies(context.Background(), 0)
		require.NoError(r, err)
		require.Empty(r, rows)
	})
}

// A cycle is named once, not at every look, and its end is reported.
func TestDependencyCycle(t *testing.T) {
	dependent(t, func(r *Rig, _ *relations) {
		one, two := r.Card(App, "one"), r.Card(App, "two")
		r.Board.Block(one, two)
		r.Board.Block(two, one)
		r.Set(one, stage.StatusToAnalyse)
		r.Set(two, stage.StatusToAnalyse)
		r.Settle(10 * time.Minute)
		cycle := "a dependency cycle: APP-1 → APP-2 → APP-1"
		if r.Task(two).ID < r.Task(one).ID {
			cycle = "a dependency cycle: APP-2 → APP-1 → APP-2"
		}
		require.Empty(r, r.Roles())
		require.Equal(r, stage.StatusBlocked, r.Status(App, one))
		require.Equal(r, stage.StatusBlocked, r.Status(App, two))
		for _, item := range []string{one, two} {
			require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), cycle), "each card says it")
		}
		r.Settle(time.Hour)
		require.Equal(r, 1, strings.Count(r.Notices(), "a dependency cycle"), "people are told once")
		r.Board.Block(two)
		r.Settle(5*time.Minute + time.Second)
		require.Equal(r, 1, strings.Count(r.Notices(), "unblocked: the dependency cycle is gone"))
		require.Equal(r, stage.StatusAnalysis, r.Status(App, one), "its own column is back")
		require.True(r, r.Commented(App, one, "Unblocked: the dependency cycle is gone."))
		require.Equal(r, 1, r.Ran(stage.Analyst), "the one that waits for nobody")
	})
}

// What cannot be read counts as ready, and so does a card of a tracker without relations.
func TestDependenciesFailOpen(t *testing.T) {
	for _, err := range []error{errors.New("503"), tracker.ErrNoRelations} {
		dependent(t, func(r *Rig, rel *relations) {
			rel.err = err
			one, two := r.Card(App, "one"), r.Card(App, "two")
			r.Board.Block(two, one)
			r.Set(one, stage.StatusToAnalyse)
			r.Set(two, stage.StatusToAnalyse)
			r.Settle(time.Minute)
			require.Equal(r, 2, r.Ran(stage.Analyst))
		})
	}
}

// Each task begins 15 seconds after its agent has a place, whatever does not answer; one whose relations can be read
// begins at once.
func TestDependenciesThatHang(t *testing.T) {
	dependent(t, func(r *Rig, rel *relations) {
		healthy := r.Card(Self, "healthy")
		rel.hangs = func(item string) bool { return item != healthy }
		for range 3 {
			r.Begin("x")
			r.Settle(4 * time.Second)
		}
		r.Move(Self, healthy, stage.StatusToAnalyse)
		r.Settle(2 * time.Second)
		require.Equal(r, stage.HoldApproval, r.Task(healthy).State.Hold, "it was read")
		for ran := 1; ran < 4; ran++ {
			require.Equal(r, ran, r.Ran(stage.Analyst))
			r.Settle(4 * time.Second)
		}
		for range 24 { // three for each place
			r.Begin("x")
		}
		r.Settle(50 * time.Second)
		require.Equal(r, 28, r.Ran(stage.Analyst))
	})
}

// A task that waits for another takes no agent's slot.
func TestWaitingTakesNoSlot(t *testing.T) {
	dependent(t, func(r *Rig, _ *relations) {
		r.Shutdown()
		r.Options.MaxConcurrency = 1
		r.Start()
		first, second, third := r.Card(App, "one"), r.Card(App, "two"), r.Card(App, "three")
		r.Board.Block(second, first)
		for _, item := range []string{first, second, third} {
			r.Set(item, stage.StatusToAnalyse)
			r.Settle(100 * time.Millisecond)
		}
		r.Settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.Task(third).State.Hold, "the one behind it has worked")
		require.Equal(r, 2, r.Ran(stage.Analyst))
	})
}

// edit tells of an edit of a card.
func edit(r *Rig, item string) {
	r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim"})
}

// stopping makes a rig with dependencies and STOP.
func stopping(r *Rig, _ *deps.Deps) []orchestrator.Feature {
	f, err := stop.Feature(r.Parts())
	require.NoError(r, err)
	return []orchestrator.Feature{f}
}

// A task that was stopped is over: every task that waits for it begins, whenever it came, and
// a new task of its card is waited for again.
func TestDependenciesOfACancelledTask(t *testing.T) {
	dependentWith(t, stopping, func(r *Rig, _ *relations, _ *deps.Deps) {
		first, second, third := r.Card(App, "one"), r.Card(App, "two"), r.Card(App, "three")
		r.Board.Block(second, first)
		r.Board.Block(third, first)
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(time.Second)
		r.Set(second, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		require.Equal(r, 1, r.Ran(stage.Analyst))
		r.Set(first, stage.StatusStop)
		r.Settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.Task(second).State.Hold, "it waited when the other was stopped")
		r.Set(third, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.Task(third).State.Hold, "it came later")

		fourth := r.Card(App, "four")
		r.Board.Block(fourth, first)
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		r.Set(fourth, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		require.Contains(r, r.Explain(fourth).Summary, "waits for APP-1 (task 4)")
	})
}

// A card without a task frees those that wait for it by its own webhook, and by the column STOP, which no tracker counts
// as an end. A relation that is taken from a card is seen by the webhook of that card.
func TestDependenciesOfACardThatChanges(t *testing.T) {
	for _, end := range []stage.Status{stage.StatusDone, stage.StatusStop, ""} {
		dependent(t, func(r *Rig, _ *relations) {
			wish, item := r.Card(App, "a wish"), r.Card(App, "x")
			r.Board.Block(item, wish)
			r.Set(item, stage.StatusToAnalyse)
			r.Settle(4 * time.Minute)
			require.Empty(r, r.Roles())
			if end == "" {
				r.Board.Block(item)
				edit(r, item)
			} else {
				r.Set(wish, end)
			}
			r.Settle(5 * time.Second)
			require.Equal(r, []stage.Role{stage.Analyst}, r.Roles(), end)
		})
	}
}

// A task that waits for one that the serial gate keeps behind it waits in a circle: people are
// notified, and the end of the relation ends it.
func TestDependencyAgainstTheSerialGate(t *testing.T) {
	gated := func(r *Rig, _ *deps.Deps) []orchestrator.Feature {
		g, err := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{"*"}})
		require.NoError(r, err)
		return append(stopping(r, nil), g.Feature())
	}
	dependentWith(t, gated, func(r *Rig, _ *relations, _ *deps.Deps) {
		one, two := r.Card(App, "one"), r.Card(App, "two")
		r.Board.Block(one, two)
		r.Set(one, stage.StatusToAnalyse)
		r.Settle(time.Second)
		r.Set(two, stage.StatusToAnalyse)
		r.Settle(5 * time.Minute)
		require.Empty(r, r.Roles())
		cycle := "a dependency cycle: APP-1 → APP-2 → APP-1 (tasks of a repository begin one at a time: APP-2 begins after APP-1)"
		require.Equal(r, 1, strings.Count(r.Notices(), cycle), r.Notices())
		require.Equal(r, stage.StatusBlocked, r.Status(App, one))
		require.Equal(r, stage.StatusBlocked, r.Status(App, two))
		x := r.Explain(two)
		var ends []string
		for _, b := range x.Blockers {
			ends = append(ends, b.Do)
		}
		require.ElementsMatch(r, []string{"Wait until APP-1 (task 1) is done, or stop it", "Remove one of these relations, or stop one of the tasks"}, ends)
		r.Board.Block(one)
		edit(r, one)
		r.Settle(20 * time.Second)
		r.Waits(one, stage.HoldApproval)
		require.Equal(r, stage.StatusAnalysis, r.Status(App, two))
	})
}

// An operator's dependencies take effect at once; what could never end is refused.
func TestDependenciesOfTheTable(t *testing.T) {
	dependentWith(t, stopping, func(r *Rig, _ *relations, d *deps.Deps) {
		ctx := context.Background()
		first, second := r.Card(App, "one"), r.Card(App, "two")
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		r.Set(second, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		one, two := r.Task(first).ID, r.Task(second).ID
		require.ErrorIs(r, d.Add(ctx, r.Engine, two, 99, admin.OperatorBy(stage.ViaAPI)), task.ErrNotFound)
		require.ErrorIs(r, d.Add(ctx, r.Engine, 99, two, admin.OperatorBy(stage.ViaAPI)), task.ErrNotFound)
		require.NoError(r, d.Add(ctx, r.Engine, two, one, admin.OperatorBy(stage.ViaAPI)))
		require.NoError(r, d.Add(ctx, r.Engine, two, one, admin.OperatorBy(stage.ViaAPI)), "twice is once")
		list, err := d.List(ctx, two)
		require.NoError(r, err)
		require.Len(r, list, 1)
		for _, pair := range [][2]int64{{one, two}, {one, one}} {
			var refused *admin.RefusedError
			require.ErrorAs(r, d.Add(ctx, r.Engine, pair[0], pair[1], admin.OperatorBy(stage.ViaAPI)), &refused)
			require.Contains(r, refused.Why, "neither would ever begin")
		}
		r.Settle(time.Second)
		r.Set(second, stage.StatusApproved)
		r.Settle(20 * time.Second)
		require.Zero(r, r.Ran(stage.Architect), "it waits")
		require.NoError(r, d.Remove(ctx, r.Engine, two, one, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(time.Minute)
		r.Stands(second, stage.Done)
		var refused *admin.RefusedError
		require.ErrorAs(r, d.Add(ctx, r.Engine, one, two, admin.OperatorBy(stage.ViaAPI)), &refused)
		require.Contains(r, refused.Why, "task 2 is done"[1:])
		entries, err := r.Store.Journal(ctx, two)
		require.NoError(r, err)
		var acts []string
		for _, e := range entries {
			if a, err := e.Acted(); err == nil {
				acts = append(acts, a.What())
			}
		}
		require.Equal(r, []string{"depend on task 1", "depend on task 1", "undepend on task 1"}, acts)
	})
}
