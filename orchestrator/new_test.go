package orchestrator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

func TestNewRefuses(t *testing.T) {
	projects, err := task.NewProjects()
	require.NoError(t, err)
	_, err = orchestrator.New(stage.Default(), orchestrator.Deps{Projects: projects}, orchestrator.Options{})
	require.EqualError(t, err, "orchestrator: Deps.Store is required", "the first that is missing, by its field")
	Run(t, func(r *Rig) {
		r.Projects[0].Gates = map[stage.Stage][]string{stage.Review: {"no_such_gate"}}
		deps := orchestrator.Deps{
			Store: r.Store, Records: r.Store, Jobs: r.Store, Projects: r.Parts().Projects, Tracker: r.Board, Host: r.Host, Workspaces: r.Place, Agents: r.Place,
		}
		refused := func(want string, features ...orchestrator.Feature) {
			r.Helper()
			_, err := orchestrator.New(stage.Default(), deps, orchestrator.Options{}, features...)
			require.ErrorContains(r, err, want)
		}
		refused("the pipeline judges")
		for _, name := range stage.Default().Gates() {
			deps.Gates = append(deps.Gates, gates.Func(name, nil))
		}
		refused(`gates: "no_such_gate" at review is no check of this program`)
		r.Projects[0].Gates, r.Projects[0].Lanes.Default = nil, "fast"
		deps.Projects = r.Parts().Projects
		refused(`pipeline: there is no lane "fast", want full`)
		r.Projects[0].Lanes.Default = stage.WholeLane
		deps.Projects = r.Parts().Projects
		refused("nobody runs the effect")
		refused("no name", orchestrator.Feature{})
		own := map[stage.EffectKind]orchestrator.Runner{"own": orchestrator.RunnerFunc(nil)}
		refused(`feature b: effect "own" has a runner already`,
			orchestrator.Feature{Name: "a", Runners: own}, orchestrator.Feature{Name: "b", Runners: own})
		plain := task.Project{TrackerProject: "p", Host: task.HostGit, Repo: "acme/x", CloneURL: "/srv/x.git", Prefix: "X", CI: [][]string{{"make"}}}
		deps.Projects, err = task.NewProjects(plain)
		require.NoError(r, err)
		refused("project 1 (acme/x): ci: has commands, and none can be run by this program")
		deps.Host = struct{ orchestrator.Hosting }{r.Host}
		refused("project 1 (acme/x): host: is git, and the git host of this program serves no repository without one")
	}, func(*Rig) {})
}

// A board that does not answer delays an event and loses none.
func TestTrackerOutage(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.MoveUnseen(App, item, stage.StatusToAnalyse)
		r.Board.FailWith(errors.New("503"))
		r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, Status: true})
		r.Settle(10 * time.Minute)
		jobs := r.Open()
		require.Len(r, jobs, 1)
		require.Equal(r, "503", jobs[0].Error)
		r.Board.FailWith(nil)
		r.Settle(10 * time.Minute)
		r.Waits(item, stage.HoldApproval)
		require.Empty(r, r.Open())
		require.Equal(r, queue.Done, mustJob(r, jobs[0].ID).Status)
	})
}

func mustJob(r *Rig, id int64) queue.Job {
	r.Helper()
	list := read(r, r.Store.Jobs, queue.Filter{})
	for _, j := range list {
		if j.ID == id {
			return j
		}
	}
	require.Fail(r, "no such job")
	return queue.Job{}
}
