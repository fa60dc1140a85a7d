package orchestrator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// registry makes a registry of entries.
func registry(r *Rig, list ...task.Project) *task.Projects {
	r.Helper()
	p, err := task.NewProjects(list...)
	require.NoError(r, err)
	return p
}

// reload has the rig's engine work by other entries.
func reload(r *Rig, list ...task.Project) {
	r.Helper()
	next := registry(r, list...)
	require.NoError(r, r.Engine.Check(next))
	r.Engine.Replace(next)
	r.Settle(3 * time.Second) // loops look every minute by themselves
}

// reloading is a rig whose features look into the registry of its engine.
func reloading(t *testing.T, agent memwork.Script, f func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		r.Place = memwork.New(agent)
		r.Place.OnPush = r.Pushed
		r.Options.MaxConcurrency = 8
		r.Projects[0].WIP = 1
		r.Registry = registry(r, r.Projects...)
		r.Features = func() []orchestrator.Feature {
			serial, err := serialgate.New(serialgate.Options{Parts: r.Parts()})
			require.NoError(r, err)
			limit, err := wip.New(wip.Options{Parts: r.Parts(), Except: serial.Covers})
			require.NoError(r, err)
			return []orchestrator.Feature{serial.Feature(), limit.Feature()}
		}
	}, f)
}

// begin puts cards on the board and sets them To Analyse, one after the other.
func begin(r *Rig, n int) (items []string) {
	for i := range n {
		items = append(items, r.Card(App, fmt.Sprint("card ", i)))
		r.Set(items[i], stage.StatusToAnalyse)
		r.Settle(200 * time.Millisecond)
	}
	return items
}

// slow agents work longer than a test looks at them.
func slow(ctx context.Context, c work.Command, files map[string]string) work.Result {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Minute):
	}
	return GoodAgent(ctx, c, files)
}

func TestARepositoryThatIsAddedWhileTheEngineWorks(t *testing.T) {
	reloading(t, GoodAgent, func(r *Rig) {
		never := gates.Func("NEW/never", func(context.Context, gates.Facts) gates.Verdict { return gates.Redf("never on a Sunday") })
		added := task.Project{
			TrackerProject: "p-new", Repo: "acme/new", CloneURL: "u", Prefix: "NEW",
			Commands: []gates.Gate{never}, Gates: map[stage.Stage][]string{stage.Analysis: {"NEW/never"}},
		}
		r.Board.AddProject("p-new")
		r.Host.Push("acme/new", "main", "base")
		item := r.Card("p-new", "the first")
		r.Move("p-new", item, stage.StatusToAnalyse)
		r.Settle(5 * time.Second)
		require.Empty(r, r.Roles(), "it is not registered yet")

		reload(r, append(r.Projects, added)...)
		r.Move("p-new", item, stage.StatusToAnalyse)
		r.Settle(5 * time.Second)
		require.Equal(r, "NEW-1", r.Task(item).WorkItemID)
		r.Move("p-new", item, stage.StatusApproved)
		r.Settle(5 * time.Second)
		r.Stands(item, stage.Analysis)
		require.True(r, r.Commented("p-new", item, "never on a Sunday"), "%v", r.Comments("p-new", item))

		added.Commands, added.Gates = nil, nil
		reload(r, append(r.Projects, added)...)
		r.Move("p-new", item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

// A registry that names checks which there are not is refused, whole.
func TestCheckOfARegistry(t *testing.T) {
	reloading(t, GoodAgent, func(r *Rig) {
		bad := r.Projects[1]
		bad.Gates = map[stage.Stage][]string{stage.Review: {"check_nothing"}}
		var wrong *task.FieldError
		require.ErrorAs(r, r.Engine.Check(registry(r, r.Projects[0], bad)), &wrong)
		require.Equal(r, task.FieldError{Entry: 1, Repo: "acme/self", Field: "gates", Text: `"check_nothing" at review is no check of this program, and none of the project's commands`}, *wrong)
		bad.Gates, bad.Commands = nil, []gates.Gate{gates.Func("qg0", nil)}
		require.ErrorAs(r, r.Engine.Check(registry(r, r.Projects[0], bad)), &wrong)
		require.Equal(r, "commands", wrong.Field)
		require.Contains(r, wrong.Text, `two gates are called "qg0"`)
	})
}

// Places and the cover of the serial gate are those of the new registry at once, for the
// tasks that are there as well.
func TestPlacesAndCoverOfAnotherRegistry(t *testing.T) {
	reloading(t, slow, func(r *Rig) {
		app, self := r.Projects[0], r.Projects[1]
		items := begin(r, 4)
		r.Settle(3 * time.Second)
		require.Len(r, r.Roles(), 1)
		require.Equal(r, wip.Name, r.Explain(items[3]).Blockers[0].Kind)
		app.WIP = 2
		reload(r, app, self)
		require.Len(r, r.Roles(), 2)

		app.SelfHosting = true // one task begins at a time, and none is done
		reload(r, app, self)
		require.Len(r, r.Roles(), 2)
		require.Equal(r, serialgate.Name, r.Explain(items[3]).Blockers[0].Kind)

		app.SelfHosting, app.WIP = false, 4
		reload(r, app, self)
		require.Len(r, r.Roles(), 4)
	})
}

// A repository that leaves the registry and comes back.
func TestTasksGoOnWhenTheirRepositoryIsBack(t *testing.T) {
	reloading(t, GoodAgent, func(r *Rig) {
		item := begin(r, 1)[0]
		r.Settle(5 * time.Second)
		reload(r, r.Projects[1])
		list, err := admin.FindStranded(context.Background(), r.Engine)
		require.NoError(r, err)
		require.Len(r, list, 1)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Analysis)
		reload(r, r.Projects...)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

// A board that leaves the registry strands its tasks: people are told, and what they are told ends them.
func TestBoardLeavesTheRegistry(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Projects[0].MoreBoards = []task.Board{{TrackerProject: "p-web", Prefix: "WEB"}}
		r.Board.AddProject("p-web")
		r.Features = func() []orchestrator.Feature {
			f, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{f}
		}
	}, func(r *Rig) {
		item := r.Card("p-web", "x")
		r.Move("p-web", item, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		left := r.Projects[0]
		left.MoreBoards = nil
		reload(r, left, r.Projects[1])
		list, err := admin.FindStranded(r.Context(), r.Engine)
		require.NoError(r, err)
		require.Len(r, list, 1)
		require.Contains(r, list[0].String(), "WEB-1; put that back")
		b := r.Explain(item).Blockers
		require.Equal(r, []any{"registry", "human"}, []any{b[0].Kind, b[1].Kind})
		require.Contains(r, b[0].Do, "signalbox stop WEB-1")
		require.NoError(r, admin.Stop(r.Context(), r.Engine, r.Task(item).ID, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(time.Minute)
		require.Equal(r, stage.Cancelled, r.Cancelled(item).State.Stage)
	})
}

func TestNowStaysWhatItWas(t *testing.T) {
	t.Parallel()
	p := func(repo string) task.Project {
		return task.Project{TrackerProject: "p" + repo, Repo: repo, CloneURL: "u", Prefix: "X"}
	}
	one, err := task.NewProjects(p("acme/one"))
	require.NoError(t, err)
	two, err := task.NewProjects(p("acme/two"))
	require.NoError(t, err)
	before := one.Now()
	one.Replace(two)
	_, old := before.ByRepo("acme/one")
	_, gone := one.ByRepo("acme/one")
	_, now := one.ByTracker("pacme/two")
	require.Equal(t, []bool{true, false, true}, []bool{old, gone, now})
	require.Equal(t, "acme/two", one.All()[0].Repo)
}

// What is owed to a repository that is registered no more makes no neighbour sick, which others wait for.
func TestMissingRepositoryMakesNobodySick(t *testing.T) {
	reloading(t, GoodAgent, func(r *Rig) {
		r.SetCI(githost.CheckPending)
		for range 8 {
			item := r.Card(Self, "x")
			r.Move(Self, item, stage.StatusToAnalyse)
			r.Settle(10 * time.Second)
			r.Move(Self, item, stage.StatusApproved)
		}
		r.Settle(time.Minute)
		reload(r, r.Projects[0])
		r.Settle(30 * time.Minute)
		require.NoError(r, r.Engine.Reachable(context.Background()))
	})
}
