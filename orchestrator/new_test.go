package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

func TestNewRefuses(t *testing.T) {
	projects, err := orchestrator.NewProjects()
	require.NoError(t, err)
	_, err = orchestrator.New(stage.Default(), orchestrator.Deps{Projects: projects}, orchestrator.Options{})
	require.ErrorContains(t, err, "is required")
	runWith(t, func(r *rig) {
		r.project[0].Gates = map[stage.Stage][]string{stage.Review: {"no_such_gate"}}
		projects, err := orchestrator.NewProjects(r.project...)
		require.NoError(r, err)
		deps := orchestrator.Deps{
			Store: r.store, Story: r.store, Jobs: r.store, Projects: projects, Tracker: r.board, Host: r.host, Workspaces: r.place, Agents: r.place,
		}
		_, err = orchestrator.New(stage.Default(), deps, orchestrator.Options{})
		require.ErrorContains(r, err, "the pipeline judges")
		for _, name := range stage.Default().Gates() {
			deps.Gates = append(deps.Gates, gates.Func(name, nil))
		}
		_, err = orchestrator.New(stage.Default(), deps, orchestrator.Options{})
		require.ErrorContains(r, err, `gates: "no_such_gate" at review is no check of this program`)
		r.project[0].Gates = nil
		deps.Projects, err = orchestrator.NewProjects(r.project...)
		require.NoError(r, err)
		_, err = orchestrator.New(stage.Default(), deps, orchestrator.Options{})
		require.ErrorContains(r, err, "nobody runs the effect")
		_, err = orchestrator.New(stage.Default(), deps, orchestrator.Options{}, orchestrator.Feature{Name: "a", Needs: []string{"b"}})
		require.ErrorContains(r, err, "feature a needs b")
		_, err = orchestrator.New(stage.Default(), deps, orchestrator.Options{}, orchestrator.Feature{})
		require.ErrorContains(r, err, "no name")
	}, func(*rig) {})
}

// A board that does not answer delays an event and loses none.
func TestTrackerOutage(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.place0(appProject, item, stage.StatusToAnalyse)
		r.board.FailWith(errors.New("503"))
		r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, Status: true})
		r.settle(10 * time.Minute)
		jobs := r.open()
		require.Len(r, jobs, 1)
		require.Equal(r, "503", jobs[0].Error)
		r.board.FailWith(nil)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		require.Empty(r, r.open())
		require.Equal(r, queue.Done, mustJob(r, jobs[0].ID).Status)
	})
}

func mustJob(r *rig, id int64) queue.Job {
	r.Helper()
	list, err := r.store.Jobs(context.Background(), queue.Filter{})
	require.NoError(r, err)
	for _, j := range list {
		if j.ID == id {
			return j
		}
	}
	require.Fail(r, "no such job")
	return queue.Job{}
}
