package orchestrator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
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
			return Hang(ctx, c, files)
		}
		return GoodAgent(ctx, c, files)
	}
}

// STOP ends a task at every stage, with any role at work, and where a person is waited for.
func TestStopAtEachStage(t *testing.T) {
	stopped := func(r *Rig, project, item string, runs int) {
		r.Move(project, item, stage.StatusStop)
		r.Settle(30 * time.Second)
		r.Cancelled(item)
		require.Empty(r, r.Open())
		require.Empty(r, r.Place.Checkouts())
		require.Equal(r, stage.StatusStop, r.Status(project, item))
		r.Settle(time.Hour)
		require.Len(r, r.Roles(), runs, "nobody runs again")
	}
	for i, p := range posts {
		t.Run(string(p.at), func(t *testing.T) {
			stoppable(t, func(r *Rig) {
				r.Place.SetScript(hangs(p.at))
				item := r.Finish("x")
				require.Equal(r, []any{p.at, p.role}, []any{r.Task(item).State.Stage, r.Task(item).State.Active})
				stopped(r, App, item, i+1)
			})
		})
	}
	t.Run("deploy, before Confirm Deploy", func(t *testing.T) {
		stoppable(t, func(r *Rig) {
			item := r.Card(Self, "x")
			r.ToDone(Self, item)
			r.Waits(item, stage.HoldConfirm)
			stopped(r, Self, item, 7)
			require.Zero(r, r.Host.Merges())
		})
	})
	t.Run("analysis, before Approved", func(t *testing.T) {
		stoppable(t, func(r *Rig) {
			item := r.Begin("x")
			r.Settle(10 * time.Second)
			stopped(r, App, item, 1)
		})
	})
}

// Rejected runs analyst and architect again, and sends every later stage back to the
// developer, who gets the reason; a deployment that is under way goes on.
func TestRejectedAtEachStage(t *testing.T) {
	for _, p := range posts {
		t.Run(string(p.at), func(t *testing.T) {
			Run(t, nil, func(r *Rig) {
				back := stage.Development
				if p.at == stage.Analysis || p.at == stage.Architecture {
					back = p.at
				}
				item := r.Card(App, "x")
				if p.at == stage.Analysis { // what it has shown is rejected
					r.Set(item, stage.StatusToAnalyse)
					r.Settle(10 * time.Second)
				} else {
					r.Place.SetScript(hangs(p.at))
					r.ToDone(App, item)
					require.Equal(r, p.role, r.Task(item).State.Active)
				}
				require.Equal(r, p.at, r.Task(item).State.Stage)
				runs := len(r.Roles())
				r.Place.SetScript(hangs(back))
				r.Board.Say(item, "kim", "Not like this.")
				r.Set(item, stage.StatusRejected)
				r.Settle(time.Second)
				r.Stands(item, back)
				require.Len(r, r.Roles(), runs+1)
				require.Equal(r, "Not like this.", r.Place.Runs()[runs].Env["SIGNALBOX_FEEDBACK"])
				require.Equal(r, back, r.Place.Runs()[runs].Stage)
			})
		})
	}
	t.Run("deploy, before Confirm Deploy", func(t *testing.T) {
		Run(t, nil, func(r *Rig) {
			item := r.Card(Self, "x")
			r.ToDone(Self, item)
			r.Waits(item, stage.HoldConfirm)
			r.Place.SetScript(hangs(stage.Development))
			r.Board.Say(item, "kim", "Not today.")
			r.Move(Self, item, stage.StatusRejected)
			r.Settle(time.Second)
			r.Stands(item, stage.Development)
			require.Equal(r, "Not today.", r.Place.Runs()[7].Env["SIGNALBOX_FEEDBACK"])
			require.Zero(r, r.Host.Merges())
		})
	})
	t.Run("deploy, under way", func(t *testing.T) {
		Run(t, nil, func(r *Rig) {
			r.Place.SetScript(hangs(stage.Deploy))
			item := r.Finish("x")
			before := r.Task(item).State
			require.Equal(r, stage.PhaseRelease, before.Phase)
			r.Set(item, stage.StatusRejected)
			r.Settle(10 * time.Second)
			after := r.Task(item).State
			require.Equal(r, []any{stage.Deploy, before.Phase, before.Active, before.Run}, []any{after.Stage, after.Phase, after.Active, after.Run})
			require.True(r, r.Commented(App, item, "cannot be rejected"), "%v", r.Comments(App, item))
			require.Equal(r, stage.StatusDeploying, r.Status(App, item), "the column goes back")
		})
	})
}

// A work item's number that is taken in the repository is followed by the next free one; a
// branch that is another task's is not shared.
func TestNamesThatAreTaken(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		ctx := context.Background()
		for id, of := range map[int64]string{1: "APP-7", 2: "APP-8"} { // of a board that there was before
			old := task.Task{
				ID: id, Repo: AppRepo, TrackerProjectID: "gone", TrackerIssueID: of, WorkItemID: of, Branch: "feature/" + of + "-x", State: stage.State{Stage: stage.Done},
			}
			require.NoError(r, r.Store.Commit(ctx, task.Commit{Task: &old}))
		}
		odd := task.Task{ID: 3, Repo: AppRepo, TrackerProjectID: "gone", TrackerIssueID: "odd", WorkItemID: "OLD-1", Branch: "feature/APP-20-x", State: stage.State{Stage: stage.Done}}
		require.NoError(r, r.Store.Commit(ctx, task.Commit{Task: &odd}))
		for id, sequence := range map[string]int64{"seven": 7, "twenty": 20} {
			r.Board.Put(tracker.Item{ID: id, ProjectID: App, Sequence: sequence, Title: "x", Description: "d"})
			r.Set(id, stage.StatusToAnalyse)
		}
		r.Settle(10 * time.Second)
		require.Equal(r, []string{"APP-9", "feature/APP-9-x"}, []string{r.Task("seven").WorkItemID, r.Task("seven").Branch})
		require.Equal(r, []string{"APP-20", "feature/APP-20-x-app-20-twenty"}, []string{r.Task("twenty").WorkItemID, r.Task("twenty").Branch})
		require.NotEmpty(r, r.Place.Remote(AppRepo, r.Task("twenty").Branch))
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
	return App
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
		project = App
	}
	return m.Tracking.Item(ctx, project, item)
}

// The registry can name another project of the tracker for statuses and comments.
func TestSyncProject(t *testing.T) {
	m := &mirrored{written: map[string]int{}}
	Run(t, func(r *Rig) {
		r.Projects[0].SyncProject = "p-sync"
		m.Tracking = r.Board
		r.Tracker = m
	}, func(r *Rig) {
		item := r.Finish("x")
		r.Stands(item, stage.Done)
		require.Equal(r, stage.StatusDone, r.Status(App, item))
		m.mu.Lock()
		defer m.mu.Unlock()
		require.Len(r, m.written, 1)
		require.Greater(r, m.written["p-sync"], 15)
	})
}
