package orchestrator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// posts are the stages of the built-in pipeline, with the role that works there.
var posts = []struct {
	at   stage.Stage
	role stage.Role
}{
	{stage.Analysis, stage.Analyst}, {stage.Architecture, stage.Architect}, {stage.Development, stage.Developer},
	{stage.Review, stage.Reviewer}, {stage.Testing, stage.Tester}, {stage.DeployStaging, stage.Deployer},
}

// hangs makes the role of a stage work until it is ended.
func hangs(at stage.Stage) func(context.Context, work.Command, map[string]string) work.Result {
	return func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		if c.Stage == at {
			return hang(ctx, c, files)
		}
		return goodAgent(ctx, c, files)
	}
}

// STOP ends a task at every stage, whoever works there, and where a person is waited for.
func TestStopAtEachStage(t *testing.T) {
	stopped := func(r *rig, project, item string, runs int) {
		r.move(project, item, stage.StatusStop)
		r.settle(30 * time.Second)
		require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
		require.Empty(r, r.open())
		require.Empty(r, r.place.Checkouts())
		require.Equal(r, stage.StatusStop, r.status(project, item))
		r.settle(time.Hour)
		require.Len(r, r.roles(), runs, "nobody runs again")
	}
	for i, p := range posts {
		t.Run(string(p.at), func(t *testing.T) {
			stoppable(t, func(r *rig) {
				r.place.SetScript(hangs(p.at))
				item := r.card(appProject, "x")
				r.toDone(appProject, item)
				require.Equal(r, []any{p.at, p.role}, []any{r.task(item).State.Stage, r.task(item).State.Active})
				stopped(r, appProject, item, i+1)
			})
		})
	}
	t.Run("deploy, before Confirm Deploy", func(t *testing.T) {
		stoppable(t, func(r *rig) {
			item := r.card(selfProject, "x")
			r.toDone(selfProject, item)
			require.Equal(r, stage.HoldConfirm, r.task(item).State.Hold)
			stopped(r, selfProject, item, 7)
			require.Zero(r, r.host.Merges())
		})
	})
	t.Run("analysis, before Approved", func(t *testing.T) {
		stoppable(t, func(r *rig) {
			item := r.card(appProject, "x")
			r.move(appProject, item, stage.StatusToAnalyse)
			r.settle(10 * time.Second)
			stopped(r, appProject, item, 1)
		})
	})
}

// Rejected runs analyst and architect again, and sends every later stage back to the
// developer, who gets the reason; a deployment that is under way goes on.
func TestRejectedAtEachStage(t *testing.T) {
	for _, p := range posts {
		t.Run(string(p.at), func(t *testing.T) {
			run(t, func(r *rig) {
				back := stage.Development
				if p.at == stage.Analysis || p.at == stage.Architecture {
					back = p.at
				}
				item := r.card(appProject, "x")
				if p.at == stage.Analysis { // what it has shown is rejected
					r.move(appProject, item, stage.StatusToAnalyse)
					r.settle(10 * time.Second)
				} else {
					r.place.SetScript(hangs(p.at))
					r.toDone(appProject, item)
					require.Equal(r, p.role, r.task(item).State.Active)
				}
				require.Equal(r, p.at, r.task(item).State.Stage)
				runs := len(r.roles())
				r.place.SetScript(hangs(back))
				r.board.Say(item, "kim", "Not like this.")
				r.move(appProject, item, stage.StatusRejected)
				r.settle(time.Second)
				require.Equal(r, back, r.task(item).State.Stage)
				require.Len(r, r.roles(), runs+1)
				require.Equal(r, "Not like this.", r.place.Runs()[runs].Env["SIGNALBOX_FEEDBACK"])
				require.Equal(r, back, r.place.Runs()[runs].Stage)
			})
		})
	}
	t.Run("deploy, before Confirm Deploy", func(t *testing.T) {
		run(t, func(r *rig) {
			item := r.card(selfProject, "x")
			r.toDone(selfProject, item)
			require.Equal(r, stage.HoldConfirm, r.task(item).State.Hold)
			r.place.SetScript(hangs(stage.Development))
			r.board.Say(item, "kim", "Not today.")
			r.move(selfProject, item, stage.StatusRejected)
			r.settle(time.Second)
			require.Equal(r, stage.Development, r.task(item).State.Stage)
			require.Equal(r, "Not today.", r.place.Runs()[7].Env["SIGNALBOX_FEEDBACK"])
			require.Zero(r, r.host.Merges())
		})
	})
	t.Run("deploy, under way", func(t *testing.T) {
		run(t, func(r *rig) {
			r.place.SetScript(hangs(stage.Deploy))
			item := r.card(appProject, "x")
			r.toDone(appProject, item)
			before := r.task(item).State
			require.Equal(r, stage.PhaseRelease, before.Phase)
			r.move(appProject, item, stage.StatusRejected)
			r.settle(10 * time.Second)
			after := r.task(item).State
			require.Equal(r, []any{stage.Deploy, before.Phase, before.Active, before.Run}, []any{after.Stage, after.Phase, after.Active, after.Run})
			require.True(r, contains(r.comments(appProject, item), "cannot be rejected"), "%v", r.comments(appProject, item))
			require.Equal(r, stage.StatusDeploying, r.status(appProject, item), "the column goes back")
		})
	})
}

// A work item's number that is taken in the repository is followed by the next free one; a
// branch that is another task's is not shared.
func TestNamesThatAreTaken(t *testing.T) {
	run(t, func(r *rig) {
		ctx := context.Background()
		for id, of := range map[int64]string{1: "APP-7", 2: "APP-8"} { // of a board that there was before
			old := orchestrator.Task{
				ID: id, Repo: appRepo, TrackerProjectID: "gone", TrackerIssueID: of, WorkItemID: of, Branch: "feature/" + of + "-x", State: stage.State{Stage: stage.Done},
			}
			require.NoError(r, r.store.Commit(ctx, orchestrator.Commit{Task: &old}))
		}
		odd := orchestrator.Task{ID: 3, Repo: appRepo, TrackerProjectID: "gone", TrackerIssueID: "odd", WorkItemID: "OLD-1", Branch: "feature/APP-20-x", State: stage.State{Stage: stage.Done}}
		require.NoError(r, r.store.Commit(ctx, orchestrator.Commit{Task: &odd}))
		for id, sequence := range map[string]int64{"seven": 7, "twenty": 20} {
			r.board.Put(tracker.Item{ID: id, ProjectID: appProject, Sequence: sequence, Title: "x", Description: "d"})
			r.move(appProject, id, stage.StatusToAnalyse)
		}
		r.settle(10 * time.Second)
		require.Equal(r, []string{"APP-9", "feature/APP-9-x"}, []string{r.task("seven").WorkItemID, r.task("seven").Branch})
		require.Equal(r, []string{"APP-20", "feature/APP-20-x-app-20-twenty"}, []string{r.task("twenty").WorkItemID, r.task("twenty").Branch})
		require.NotEmpty(r, r.place.Remote(appRepo, r.task("twenty").Branch))
	})
}

// mirrored is a board whose project p-sync shows the cards of the first one, and which notes
// what is written where.
type mirrored struct {
	orchestrator.Tracking

	mu      sync.Mutex
	written map[string]int
}

func (m *mirrored) at(project string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[project]++
	return appProject
}

func (m *mirrored) SetStatus(ctx context.Context, project, item string, s stage.Status) error {
	return m.Tracking.SetStatus(ctx, m.at(project), item, s)
}

func (m *mirrored) AddComment(ctx context.Context, n tracker.NewComment) (string, error) {
	n.ProjectID = m.at(n.ProjectID)
	return m.Tracking.AddComment(ctx, n)
}

func (m *mirrored) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	if project == "p-sync" {
		project = appProject
	}
	return m.Tracking.Item(ctx, project, item)
}

// The registry can name another project of the tracker for statuses and comments.
func TestSyncProject(t *testing.T) {
	m := &mirrored{written: map[string]int{}}
	runWith(t, func(r *rig) {
		r.project[0].SyncProject = "p-sync"
		m.Tracking = r.board
		r.tracker = m
	}, func(r *rig) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, stage.StatusDone, r.status(appProject, item))
		m.mu.Lock()
		defer m.mu.Unlock()
		require.Len(r, m.written, 1)
		require.Greater(r, m.written["p-sync"], 15)
	})
}
