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
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
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
	dependentWith(t, func(*rig, *deps.Deps) []orchestrator.Feature { return nil }, func(r *rig, rel *relations, _ *deps.Deps) { f(r, rel) })
}

// dependentWith makes one with more features on.
func dependentWith(t *testing.T, more func(*rig, *deps.Deps) []orchestrator.Feature, f func(*rig, *relations, *deps.Deps)) {
	t.Helper()
	rel, d := &relations{}, (*deps.Deps)(nil)
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency = 8
		rel.Relations = r.board
		r.features = func() []orchestrator.Feature {
			var err error
			d, err = deps.New(deps.Options{
				Store: r.store, Table: r.store, Queue: r.store, Lister: r.store, Relations: rel, Items: r.board, Line: serialgate.Name,
			})
			require.NoError(r, err)
			return append(more(r, d), d.Feature())
		}
	}, func(r *rig) { f(r, rel, d) })
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
		require.Equal(r, "Wait until APP-1 (task 1) is done or stopped, or remove the relation", x.Blockers[0].Do)
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
		for _, item := range []string{one, two} {
			require.Equal(r, 1, strings.Count(strings.Join(r.comments(appProject, item), "\n"), cycle), "each card says it")
		}
		r.settle(time.Hour)
		require.Equal(r, 1, strings.Count(r.notices(), "a dependency cycle"), "people are told once")
		r.board.Block(two)
		r.settle(5 * time.Minute)
		require.Equal(r, 1, strings.Count(r.notices(), "unblocked: the dependency cycle is gone"))
		require.Equal(r, stage.StatusAnalysis, r.status(appProject, one), "its own column is back")
		require.True(r, contains(r.comments(appProject, one), "Unblocked: the dependency cycle is gone."))
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

// stopping makes a rig with dependencies and STOP.
func stopping(r *rig, _ *deps.Deps) []orchestrator.Feature {
	projects, err := orchestrator.NewProjects(r.project...)
	require.NoError(r, err)
	f, err := stop.Feature(stop.Options{Store: r.store, Projects: projects, Workspaces: r.place, Agents: r.place})
	require.NoError(r, err)
	return []orchestrator.Feature{f}
}

// A task that was stopped is over: whoever waits for it begins, whenever they came, and
// a new task of its card is waited for again.
func TestDependenciesOfACancelledTask(t *testing.T) {
	dependentWith(t, stopping, func(r *rig, _ *relations, _ *deps.Deps) {
		first, second, third := r.card(appProject, "one"), r.card(appProject, "two"), r.card(appProject, "three")
		r.board.Block(second, first)
		r.board.Block(third, first)
		r.move(appProject, first, stage.StatusToAnalyse)
		r.settle(time.Second)
		r.move(appProject, second, stage.StatusToAnalyse)
		r.settle(20 * time.Second)
		require.Equal(r, 1, count(r.roles(), stage.Analyst))
		r.move(appProject, first, stage.StatusStop)
		r.settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(second).State.Hold, "it waited when the other was stopped")
		r.move(appProject, third, stage.StatusToAnalyse)
		r.settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(third).State.Hold, "it came later")

		fourth := r.card(appProject, "four")
		r.board.Block(fourth, first)
		r.move(appProject, first, stage.StatusToAnalyse)
		r.settle(20 * time.Second)
		r.move(appProject, fourth, stage.StatusToAnalyse)
		r.settle(20 * time.Second)
		x, err := r.engine.Explain(context.Background(), r.task(fourth).ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, "APP-1 (task 4) is not finished")
	})
}

// A card without a task frees those that wait for it by its own webhook, and by the
// column STOP, which no tracker counts as an end.
func TestDependenciesOfACardThatMoves(t *testing.T) {
	for _, end := range []stage.Status{stage.StatusDone, stage.StatusStop} {
		dependent(t, func(r *rig, _ *relations) {
			wish, item := r.card(appProject, "a wish"), r.card(appProject, "x")
			r.board.Block(item, wish)
			r.move(appProject, item, stage.StatusToAnalyse)
			r.settle(4 * time.Minute)
			require.Empty(r, r.roles())
			r.move(appProject, wish, end)
			r.settle(5 * time.Second)
			require.Equal(r, []stage.Role{stage.Analyst}, r.roles(), end)
		})
	}
}

// A relation that is taken from a card is seen by the webhook of that card.
func TestDependenciesOfACardThatIsEdited(t *testing.T) {
	dependent(t, func(r *rig, _ *relations) {
		wish, item := r.card(appProject, "a wish"), r.card(appProject, "x")
		r.board.Block(item, wish)
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		r.board.Block(item)
		r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "kim"})
		r.settle(5 * time.Second)
		require.Equal(r, []stage.Role{stage.Analyst}, r.roles())
	})
}

// Who waits for a task that the serial gate keeps behind it waits in a circle: people are
// told, and the end of the relation ends it.
func TestDependencyAgainstTheSerialGate(t *testing.T) {
	gated := func(r *rig, _ *deps.Deps) []orchestrator.Feature {
		g, err := serialgate.New(serialgate.Options{Store: r.store, Holds: r.store, Lister: r.store, Repos: []string{"*"}})
		require.NoError(r, err)
		return append(stopping(r, nil), g.Feature())
	}
	dependentWith(t, gated, func(r *rig, _ *relations, _ *deps.Deps) {
		one, two := r.card(appProject, "one"), r.card(appProject, "two")
		r.board.Block(one, two)
		r.move(appProject, one, stage.StatusToAnalyse)
		r.settle(time.Second)
		r.move(appProject, two, stage.StatusToAnalyse)
		r.settle(5 * time.Minute)
		require.Empty(r, r.roles())
		cycle := "a dependency cycle: APP-1 → APP-2 → APP-1 (tasks of a repository begin one at a time: APP-2 begins after APP-1)"
		require.Equal(r, 1, strings.Count(r.notices(), cycle), r.notices())
		require.Equal(r, stage.StatusBlocked, r.status(appProject, one))
		require.Equal(r, stage.StatusBlocked, r.status(appProject, two))
		x, err := r.engine.Explain(context.Background(), r.task(two).ID)
		require.NoError(r, err)
		var ends []string
		for _, b := range x.Blockers {
			ends = append(ends, b.Do)
		}
		require.ElementsMatch(r, []string{"Wait until APP-1 (task 1) is done, or stop it", "Remove one of these relations, or stop one of the tasks"}, ends)
		r.board.Block(one)
		r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: one, ActorID: "kim"})
		r.settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(one).State.Hold)
		require.Equal(r, stage.StatusAnalysis, r.status(appProject, two))
	})
}

// An operator's dependencies take effect at once; what could never end is refused.
func TestDependenciesOfTheTable(t *testing.T) {
	dependentWith(t, stopping, func(r *rig, _ *relations, d *deps.Deps) {
		ctx := context.Background()
		first, second := r.card(appProject, "one"), r.card(appProject, "two")
		r.move(appProject, first, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.move(appProject, second, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		one, two := r.task(first).ID, r.task(second).ID
		require.ErrorIs(r, d.Add(ctx, r.engine, two, 99, operator), orchestrator.ErrNotFound)
		require.ErrorIs(r, d.Add(ctx, r.engine, 99, two, operator), orchestrator.ErrNotFound)
		require.NoError(r, d.Add(ctx, r.engine, two, one, operator))
		require.NoError(r, d.Add(ctx, r.engine, two, one, operator), "twice is once")
		list, err := d.List(ctx, two)
		require.NoError(r, err)
		require.Len(r, list, 1)
		for _, pair := range [][2]int64{{one, two}, {one, one}} {
			var refused *orchestrator.RefusedError
			require.ErrorAs(r, d.Add(ctx, r.engine, pair[0], pair[1], operator), &refused)
			require.Contains(r, refused.Why, "neither would ever begin")
		}
		r.settle(time.Second)
		r.move(appProject, second, stage.StatusApproved)
		r.settle(20 * time.Second)
		require.Zero(r, count(r.roles(), stage.Architect), "it waits")
		require.NoError(r, d.Remove(ctx, r.engine, two, one, operator))
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(second).State.Stage)
		var refused *orchestrator.RefusedError
		require.ErrorAs(r, d.Add(ctx, r.engine, one, two, operator), &refused)
		require.Contains(r, refused.Why, "task 2 is done"[1:])
		entries, err := r.store.Journal(ctx, two)
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
