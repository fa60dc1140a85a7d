package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// crowd is a dashboard before SQLite with unfinished tasks at every stage: each has
// a job, every other one is held by the serial gate, and each has two runs.
func crowd(b *testing.B, tasks int) http.Handler {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(b.TempDir(), "db")})
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	projects, err := task.NewProjects(task.Project{TrackerProject: project, Repo: repo, CloneURL: "u", Prefix: "APP"})
	require.NoError(b, err)
	gate, err := serialgate.New(serialgate.Options{Parts: orchestrator.Parts{Store: db, Projects: &task.Projects{}}, Repos: []string{repo}})
	require.NoError(b, err)
	board, host, place := memtracker.New(nil), memhost.New(), memwork.New(agent)
	engine, err := orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: db, Records: db, Jobs: db, Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place, Gates: checks.All(nil),
		Runners: effects.Runners(effects.Deps{Store: db, Jobs: db, Projects: projects, Tracker: board, Host: host, Workspaces: place}),
	}, orchestrator.Options{}, gate.Feature())
	require.NoError(b, err)
	stages := []stage.Stage{stage.Analysis, stage.Architecture, stage.Development, stage.Review, stage.Testing, stage.DeployStaging, stage.Deploy}
	now := time.Now()
	for i := range tasks {
		s := stages[i%len(stages)]
		id, err := db.NewTaskID(ctx)
		require.NoError(b, err)
		t := task.Task{
			ID: id, Repo: repo, TrackerProjectID: project, TrackerIssueID: fmt.Sprint("i", i), WorkItemID: fmt.Sprint("APP-", i+1), Branch: fmt.Sprint("b", i),
			Title: fmt.Sprintf("A card with a title of usual length, number %d", i), State: stage.State{Stage: s, Active: stage.Developer, Run: 1, Seq: 1}, CreatedAt: now, StageEnteredAt: now, UpdatedAt: now,
		}
		c := task.Commit{Task: &t, Jobs: []queue.Job{{
			Pool: queue.PoolAgents, Kind: orchestrator.KindAgent, Role: string(stage.Developer), Lane: repo, TaskID: id, Holds: admit.Subjects(repo, id),
		}}}
		for run := range int64(2) {
			c.Runs = append(c.Runs, task.AgentRun{JobID: int64(i)*2 + run + 1, Attempt: 1, Stage: s, Role: stage.Developer, Run: run, Status: "ok", Started: now, Finished: now.Add(time.Minute), Usage: work.Usage{Model: "m", Input: 1000, Output: 200, MicroUSD: 1_000_000}})
		}
		require.NoError(b, db.Commit(ctx, c))
		if i%2 == 1 {
			require.NoError(b, db.Hold(ctx, queue.Hold{Subject: admit.Subjects(repo, id)[1], Name: serialgate.Name, Reason: fmt.Sprintf("waits for a place: one task at a time in %s, and APP-1 (task 1) is before it", repo)}))
		}
	}
	pages := handler(b, dashboard.Options{Engine: engine, History: db, Access: access.New(access.Options{AdminToken: token, PublicRead: true})})
	return pages
}

// The board with 1,000 unfinished tasks: the server's whole work for a first
// paint. It should stay below 300 ms.
func BenchmarkBoard1000(b *testing.B) { benchmark(b, "/") }

// The same for the queue's page.
func BenchmarkQueue1000(b *testing.B) { benchmark(b, "/queue") }

func benchmark(b *testing.B, path string) {
	pages := crowd(b, 1000)
	size := 0
	for b.Loop() {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(b, http.StatusOK, w.Code)
		size = w.Body.Len()
	}
	b.ReportMetric(float64(size)/1000, "kB/page")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/page")
}
