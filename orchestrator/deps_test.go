package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// relations is the board's, which can be made to fail.
type relations struct {
	tracker.Relations
	err error
}

func (r *relations) BlockedBy(ctx context.Context, p, i string) ([]tracker.Ref, error) {
	if r.err != nil {
		return nil, r.err
	}
	return r.Relations.BlockedBy(ctx, p, i)
}

// dependent makes a rig with dependencies on.
func dependent(t *testing.T, f func(*rig, *relations)) {
	t.Helper()
	rel := &relations{}
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency = 8
		rel.Relations = r.board
		r.features = func() []orchestrator.Feature {
			d, err := deps.New(deps.Options{Store: r.store, Table: r.store, Queue: r.store, Lister: r.store, Relations: rel, Items: r.board})
			require.NoError(r, err)
			return []orchestrator.Feature{d.Feature()}
		}
	}, func(r *rig) { f(r, rel) })
}

func TestDependencies(t *testing.T) {
	dependent(t, func(r *rig, _ *relations) {
		first, second, third := r.card(appProject, "one"), r.card(selfProject, "two"), r.card(appProject, "three")
		r.board.Block(third, first)
		r.move(appProject, first, stage.StatusToAnalyse)
		r.settle(time.Second)
		r.move(selfProject, second, stage.StatusToAnalyse)
		r.settle(time.Second)
		r.move(appProject, third, stage.StatusToAnalyse)
		r.settle(20 * time.Second)
		require.Equal(r, 2, count(r.roles(), stage.Analyst), "a task without dependencies goes on")
		x, err := r.engine.Explain(context.Background(), r.task(third).ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, "APP-1 (task 1) is not finished")
		r.move(appProject, first, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(first).State.Stage)
		require.Equal(r, stage.HoldApproval, r.task(third).State.Hold, "and begins when it may")

		// A card that nobody has begun is waited for too.
		later, wish := r.card(appProject, "later"), r.card(appProject, "a wish")
		r.board.Block(later, wish)
		r.move(appProject, later, stage.StatusToAnalyse)
		r.settle(time.Minute)
		x, err = r.engine.Explain(context.Background(), r.task(later).ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, `the card "a wish" is not finished`)
		r.shutdown()
		r.start()
		r.settle(time.Hour)
		require.Equal(r, 3, count(r.roles(), stage.Analyst), "nor does a restart forget it")
		r.place0(appProject, wish, stage.StatusDone)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.HoldApproval, r.task(later).State.Hold)

		// A dependency that is added later holds the next job.
		require.NoError(r, r.store.SetDependencies(context.Background(), r.task(third).ID, deps.SourceDB, []int64{r.task(second).ID}))
		r.settle(2 * time.Minute)
		r.move(appProject, third, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Architecture, r.task(third).State.Stage)
		x, err = r.engine.Explain(context.Background(), r.task(third).ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, "SLF-2")
		require.NoError(r, r.store.SetDependencies(context.Background(), r.task(third).ID, deps.SourceDB, nil))
		r.settle(5 * time.Minute)
		require.Equal(r, stage.Done, r.task(third).State.Stage)
	})
}

// A cycle is named once, not at every look, and its end is told.
func TestDependencyCycle(t *testing.T) {
	dependent(t, func(r *rig, _ *relations) {
		one, two := r.card(appProject, "one"), r.card(appProject, "two")
		r.board.Block(one, two)
		r.board.Block(two, one)
		r.move(appProject, one, stage.StatusToAnalyse)
		r.move(appProject, two, stage.StatusToAnalyse)
		r.settle(10 * time.Minute)
		cycle := "a dependency cycle: APP-1 → APP-2 → APP-1"
		if r.task(two).ID < r.task(one).ID {
			cycle = "a dependency cycle: APP-2 → APP-1 → APP-2"
		}
		require.Empty(r, r.roles())
		require.Equal(r, stage.StatusBlocked, r.status(appProject, one))
		require.Equal(r, stage.StatusBlocked, r.status(appProject, two))
		require.Equal(r, 2, strings.Count(r.notices(), cycle), "once for each task")
		r.settle(time.Hour)
		require.Equal(r, 2, strings.Count(r.notices(), "a dependency cycle"))
		r.board.Block(two)
		r.settle(5 * time.Minute)
		require.Contains(r, r.notices(), "unblocked: the dependency cycle is gone")
		require.Equal(r, 1, count(r.roles(), stage.Analyst), "the one that waits for nobody")
	})
}

// What cannot be read counts as ready.
func TestDependenciesFailOpen(t *testing.T) {
	dependent(t, func(r *rig, rel *relations) {
		rel.err = errors.New("503")
		one, two := r.card(appProject, "one"), r.card(appProject, "two")
		r.board.Block(two, one)
		r.move(appProject, one, stage.StatusToAnalyse)
		r.move(appProject, two, stage.StatusToAnalyse)
		r.settle(time.Minute)
		require.Equal(r, 2, count(r.roles(), stage.Analyst))
	})
}

func TestDependenciesOfATrackerWithout(t *testing.T) {
	dependent(t, func(r *rig, rel *relations) {
		rel.err = tracker.ErrNoRelations
		item := r.card(appProject, "one")
		r.toDone(appProject, item)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		held, err := r.store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held)
	})
}

func TestDepsRefuses(t *testing.T) {
	_, err := deps.New(deps.Options{})
	require.ErrorContains(t, err, "required")
}

// The loop is woken by what is durable: however long a decision takes to be
// committed, its task is looked at right after.
func TestDependenciesOfASlowCommit(t *testing.T) {
	dependent(t, func(r *rig, _ *relations) {
		r.shutdown()
		with := r.features
		r.features = func() []orchestrator.Feature {
			slow := orchestrator.Feature{Name: "slow", Holds: func(context.Context, orchestrator.Change) (_, _ []queue.Hold, _ error) {
				time.Sleep(3 * time.Second)
				return nil, nil, nil
			}}
			return append(with(), slow)
		}
		r.start()
		r.settle(10 * time.Second)
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(4 * time.Second)
		require.Equal(r, []stage.Role{stage.Analyst}, r.roles())
	})
}
