package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// registry makes a registry of entries.
func (r *rig) registry(list ...orchestrator.Project) *orchestrator.Projects {
	r.Helper()
	p, err := orchestrator.NewProjects(list...)
	require.NoError(r, err)
	return p
}

// reload has the rig's engine work by other entries.
func (r *rig) reload(list ...orchestrator.Project) {
	r.Helper()
	next := r.registry(list...)
	require.NoError(r, r.engine.Check(next))
	r.engine.Replace(next)
	r.settle(3 * time.Second) // loops look every minute by themselves
}

// reloading is a rig whose features look into the registry of its engine.
func reloading(t *testing.T, agent memwork.Script, f func(*rig)) {
	t.Helper()
	runWith(t, func(r *rig) {
		r.place = memwork.New(agent)
		r.place.OnPush = r.pushed
		r.opt.MaxConcurrency = 8
		r.project[0].WIP = 1
		r.projects = r.registry(r.project...)
		r.features = func() []orchestrator.Feature {
			serial, err := serialgate.New(serialgate.Options{Store: r.store, Holds: r.store, Lister: r.store, Projects: r.projects})
			require.NoError(r, err)
			limit, err := wip.New(wip.Options{Store: r.store, Holds: r.store, Finder: r.store, Projects: r.projects, Except: serial.Covers, Before: serial.Repair})
			require.NoError(r, err)
			return []orchestrator.Feature{serial.Feature(), limit.Feature()}
		}
	}, f)
}

// slow agents work longer than a test looks at them.
func slow(ctx context.Context, c work.Command, files map[string]string) work.Result {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Minute):
	}
	return goodAgent(ctx, c, files)
}

func TestARepositoryThatIsAddedWhileTheEngineWorks(t *testing.T) {
	reloading(t, goodAgent, func(r *rig) {
		never := gates.Func("NEW/never", func(context.Context, gates.Subject) gates.Verdict { return gates.Redf("never on a Sunday") })
		added := orchestrator.Project{
			TrackerProject: "p-new", Repo: "acme/new", CloneURL: "u", Prefix: "NEW",
			Commands: []gates.Gate{never}, Gates: map[stage.Stage][]string{stage.Analysis: {"NEW/never"}},
		}
		r.board.AddProject("p-new")
		r.host.Push("acme/new", "main", "base")
		item := r.card("p-new", "the first")
		r.move("p-new", item, stage.StatusToAnalyse)
		r.settle(5 * time.Second)
		require.Empty(r, r.roles(), "it is not registered yet")

		r.reload(append(r.project, added)...)
		r.move("p-new", item, stage.StatusToAnalyse)
		r.settle(5 * time.Second)
		require.Equal(r, "NEW-1", r.task(item).WorkItemID)
		r.move("p-new", item, stage.StatusApproved)
		r.settle(5 * time.Second)
		require.Equal(r, stage.Analysis, r.task(item).State.Stage)
		require.True(r, contains(r.comments("p-new", item), "never on a Sunday"), "%v", r.comments("p-new", item))

		added.Commands, added.Gates = nil, nil
		r.reload(append(r.project, added)...)
		r.move("p-new", item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// A registry that names checks which there are not is refused, whole.
func TestCheckOfARegistry(t *testing.T) {
	reloading(t, goodAgent, func(r *rig) {
		bad := r.project[1]
		bad.Gates = map[stage.Stage][]string{stage.Review: {"check_nothing"}}
		var wrong *orchestrator.FieldError
		require.ErrorAs(r, r.engine.Check(r.registry(r.project[0], bad)), &wrong)
		require.Equal(r, orchestrator.FieldError{Entry: 1, Repo: selfRepo, Field: "gates", Text: `"check_nothing" at review is no check of this program, and none of the project's commands`}, *wrong)
		bad.Gates, bad.Commands = nil, []gates.Gate{gates.Func("qg0", nil)}
		require.ErrorAs(r, r.engine.Check(r.registry(r.project[0], bad)), &wrong)
		require.Equal(r, "commands", wrong.Field)
		require.Contains(r, wrong.Text, `two gates are called "qg0"`)
	})
}

// Places and the cover of the serial gate are those of the new registry at once, for the
// tasks that are there as well.
func TestPlacesAndCoverOfAnotherRegistry(t *testing.T) {
	reloading(t, slow, func(r *rig) {
		app, self := r.project[0], r.project[1]
		items := r.begin(4)
		r.settle(3 * time.Second)
		require.Len(r, r.roles(), 1)
		require.Equal(r, wip.Name, r.explained(items[3]).Blockers[0].Kind)
		app.WIP = 2
		r.reload(app, self)
		require.Len(r, r.roles(), 2)

		app.SelfHosting = true // one task begins at a time, and none is done
		r.reload(app, self)
		require.Len(r, r.roles(), 2)
		require.Equal(r, serialgate.Name, r.explained(items[3]).Blockers[0].Kind)

		app.SelfHosting, app.WIP = false, 4
		r.reload(app, self)
		require.Len(r, r.roles(), 4)
	})
}

// A repository that leaves the registry and comes back.
func TestTasksGoOnWhenTheirRepositoryIsBack(t *testing.T) {
	reloading(t, goodAgent, func(r *rig) {
		item := r.begin(1)[0]
		r.settle(5 * time.Second)
		r.reload(r.project[1])
		list, err := r.engine.Stranded(context.Background())
		require.NoError(r, err)
		require.Len(r, list, 1)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Analysis, r.task(item).State.Stage)
		r.reload(r.project...)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

func TestNowStaysWhatItWas(t *testing.T) {
	t.Parallel()
	p := func(repo string) orchestrator.Project {
		return orchestrator.Project{TrackerProject: "p" + repo, Repo: repo, CloneURL: "u", Prefix: "X"}
	}
	one, err := orchestrator.NewProjects(p("acme/one"))
	require.NoError(t, err)
	two, err := orchestrator.NewProjects(p("acme/two"))
	require.NoError(t, err)
	before := one.Now()
	one.Replace(two)
	_, old := before.ByRepo("acme/one")
	_, gone := one.ByRepo("acme/one")
	_, now := one.ByTracker("pacme/two")
	require.Equal(t, []bool{true, false, true}, []bool{old, gone, now})
	require.Equal(t, "acme/two", one.All()[0].Repo)
}
