package orchestrator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// The second board of the app, and where its statuses and comments go.
const (
	webProject = "p-web"
	webSync    = "p-web-sync"
)

// Cards of two boards with the same number live side by side in one repository, each to
// its end on its own board.
func TestTwoBoardsOfARepository(t *testing.T) {
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency = 4
		r.project[0].MoreBoards = []orchestrator.Board{{TrackerProject: webProject, Prefix: "WEB"}}
		r.board.AddProject(webProject)
	}, func(r *rig) {
		items := map[string]string{appProject: "a", webProject: "w"}
		for project, item := range items {
			r.board.Put(tracker.Item{ID: item, ProjectID: project, Sequence: 7, Title: "the same", Description: "what is wanted"})
			r.move(project, item, stage.StatusToAnalyse)
		}
		r.settle(10 * time.Second)
		a, w := r.task("a"), r.task("w")
		require.Equal(r, []string{"APP-7", "WEB-7", appRepo, appRepo, appProject, webProject}, []string{a.WorkItemID, w.WorkItemID, a.Repo, w.Repo, a.TrackerProjectID, w.TrackerProjectID})
		require.NotEqual(r, a.Branch, w.Branch)
		for project, item := range items {
			require.Equal(r, stage.StatusInReview, r.status(project, item))
			require.Len(r, r.comments(project, item), 2)
			r.board.Say(item, "kim", "an answer on "+project)
			r.move(project, item, stage.StatusApproved)
		}
		r.settle(time.Minute)
		for project, item := range items {
			require.Equal(r, stage.Done, r.task(item).State.Stage)
			require.Equal(r, stage.StatusDone, r.status(project, item))
		}
		answered := 0
		for _, run := range r.place.Runs() {
			if run.Role == stage.Developer {
				answered++
				require.Contains(r, run.Prompt, "an answer on "+map[string]string{"APP-7": appProject, "WEB-7": webProject}[run.WorkItem])
			}
		}
		require.Equal(r, 2, answered)
		require.Empty(r, r.open())
	})
}

// A lost webhook of the second board is found, and whatever the task owes goes to where that
// board's words go.
func TestTheOtherBoardIsKnownEverywhere(t *testing.T) {
	runWith(t, func(r *rig) {
		r.project[0].MoreBoards = []orchestrator.Board{{TrackerProject: webProject, SyncProject: webSync, Prefix: "WEB"}}
		r.board.AddProject(webProject)
		r.opt.Columns = func(project string) (map[stage.Status]string, bool) {
			return map[stage.Status]string{}, project == webProject
		}
		r.features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Every: time.Minute, Tracker: r.board, Board: r.board})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *rig) {
		item := r.card(webProject, "nobody tells of it")
		r.place0(webProject, item, stage.StatusToAnalyse)
		r.settle(5 * time.Minute)
		require.Equal(r, "WEB-1", r.task(item).WorkItemID)
		require.Contains(r, r.explained(item).Blockers[0].Do, "to the board of WEB, which has none")
		r.hostHook(githost.Hook{Kind: githost.HookMerged, Repo: appRepo, Branch: r.task(item).Branch})
		r.settle(time.Minute)
		jobs, err := r.store.Jobs(context.Background(), queue.Filter{TaskID: r.task(item).ID})
		require.NoError(r, err)
		jobs = slices.DeleteFunc(jobs, func(j queue.Job) bool { return !orchestrator.IsEffect(j) })
		require.NotEmpty(r, jobs)
		for _, j := range jobs {
			require.Contains(r, string(j.Payload), `"project_id":"`+webSync+`"`, j.Kind)
		}
	})
}

// The brake on one board is told once, whatever the other one of the repository does.
func TestBrakeOfOneBoardOfTwo(t *testing.T) {
	runWith(t, func(r *rig) {
		r.project[0].MoreBoards = []orchestrator.Board{{TrackerProject: webProject, Prefix: "WEB"}}
		r.board.AddProject(webProject)
		r.features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Tracker: r.board, Board: r.board, Brake: 5})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *rig) {
		for range 6 {
			r.place0(webProject, r.card(webProject, "x"), stage.StatusToAnalyse)
		}
		r.settle(10 * time.Minute)
		require.Equal(r, 1, r.titles("acme/app: many cards would move at once"))
		require.Empty(r, r.roles())
	})
}

// A board that has left its entry keeps what its tasks say.
func TestOn(t *testing.T) {
	t.Parallel()
	p := orchestrator.Project{TrackerProject: "a", SyncProject: "s", Prefix: "A", MoreBoards: []orchestrator.Board{{TrackerProject: "b", Prefix: "B"}}}
	for id, want := range map[string][3]string{"": {"a", "s", "A"}, "a": {"a", "s", "A"}, "b": {"b", "b", "B"}, "gone": {"gone", "gone", "A"}} {
		on := p.On(id)
		require.Equal(t, want, [3]string{on.TrackerProject, on.Sync(), on.Prefix}, id)
	}
}
