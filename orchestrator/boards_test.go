package orchestrator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
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
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency = 4
		r.Projects[0].MoreBoards = []task.Board{{TrackerProject: webProject, Prefix: "WEB"}}
		r.Board.AddProject(webProject)
	}, func(r *Rig) {
		items := map[string]string{App: "a", webProject: "w"}
		for project, item := range items {
			r.Board.Put(tracker.Item{ID: item, ProjectID: project, Sequence: 7, Title: "the same", Description: "what is wanted"})
			r.Move(project, item, stage.StatusToAnalyse)
		}
		r.Settle(10 * time.Second)
		a, w := r.Task("a"), r.Task("w")
		require.Equal(r, []string{"APP-7", "WEB-7", AppRepo, AppRepo, App, webProject}, []string{a.WorkItemID, w.WorkItemID, a.Repo, w.Repo, a.TrackerProjectID, w.TrackerProjectID})
		require.NotEqual(r, a.Branch, w.Branch)
		for project, item := range items {
			require.Equal(r, stage.StatusInReview, r.Status(project, item))
			require.Len(r, r.Comments(project, item), 2)
			r.Board.Say(item, "kim", "an answer on "+project)
			r.Move(project, item, stage.StatusApproved)
		}
		r.Settle(time.Minute)
		for project, item := range items {
			r.Stands(item, stage.Done)
			require.Equal(r, stage.StatusDone, r.Status(project, item))
		}
		answered := 0
		for _, run := range r.Place.Runs() {
			if run.Role == stage.Developer {
				answered++
				require.Contains(r, run.Prompt, "an answer on "+map[string]string{"APP-7": App, "WEB-7": webProject}[run.WorkItem])
			}
		}
		require.Equal(r, 2, answered)
		require.Empty(r, r.Open())
	})
}

// A lost webhook of the second board is found, and whatever the task owes goes to where that
// board's words go.
func TestTheOtherBoardIsKnownEverywhere(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Projects[0].MoreBoards = []task.Board{{TrackerProject: webProject, SyncProject: webSync, Prefix: "WEB"}}
		r.Board.AddProject(webProject)
		r.Options.Columns = func(project string) (map[stage.Status]string, bool) {
			return map[stage.Status]string{}, project == webProject
		}
		r.Features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Every: time.Minute, Tracker: r.Board, Board: r.Board})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) {
		item := r.Card(webProject, "nobody tells of it")
		r.MoveUnseen(webProject, item, stage.StatusToAnalyse)
		r.Settle(5 * time.Minute)
		require.Equal(r, "WEB-1", r.Task(item).WorkItemID)
		require.Contains(r, r.Explain(item).Blockers[0].Do, "to the board of WEB, which has none")
		r.HostHook(githost.Hook{Kind: githost.HookMerged, Repo: AppRepo, Branch: r.Task(item).Branch})
		r.Settle(time.Minute)
		jobs := read(r, r.Store.Jobs, queue.Filter{TaskID: r.Task(item).ID})
		jobs = slices.DeleteFunc(jobs, func(j queue.Job) bool { return !orchestrator.IsEffect(j) })
		require.NotEmpty(r, jobs)
		for _, j := range jobs {
			require.Contains(r, string(j.Payload), `"project_id":"`+webSync+`"`, j.Kind)
		}
	})
}

// A board that has left its entry keeps what its tasks say.
func TestOn(t *testing.T) {
	t.Parallel()
	p := task.Project{TrackerProject: "a", SyncProject: "s", Prefix: "A", MoreBoards: []task.Board{{TrackerProject: "b", Prefix: "B"}}}
	for id, want := range map[string][3]string{"": {"a", "s", "A"}, "a": {"a", "s", "A"}, "b": {"b", "b", "B"}, "gone": {"gone", "gone", "A"}} {
		on := p.On(id)
		require.Equal(t, want, [3]string{on.TrackerProject, on.Sync(), on.Prefix}, id)
	}
}
