package budget_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// dollar is one, in millionths.
const dollar = 1_000_000

func options(t *testing.T, s *memstore.Store, caps budget.Caps) budget.Options {
	t.Helper()
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP", Main: "main"})
	require.NoError(t, err)
	return budget.Options{Parts: orchestrator.Parts{Store: s, Projects: projects}, Caps: caps}
}

// slow is a ledger that takes its time, so that others come in between.
type slow struct{ *memstore.Store }

func (s slow) Reservations(ctx context.Context, repo string) ([]task.Reservation, error) {
	rs, err := s.Store.Reservations(ctx, repo)
	time.Sleep(time.Millisecond)
	return rs, err
}

// Of many agents that are to start at the same moment, as many do as there is
// money for.
func TestAdmitIsRaceFree(t *testing.T) {
	s := memstore.New(nil)
	o := options(t, s, budget.Caps{RepoDay: 7 * dollar})
	o.Store = slow{s}
	b, err := budget.New(o)
	require.NoError(t, err)
	var tasks []task.Task
	for n := range 50 {
		id, err := s.NewTaskID(t.Context())
		require.NoError(t, err)
		row := task.Task{
			ID: id, WorkItemID: fmt.Sprintf("APP-%d", n), TrackerIssueID: fmt.Sprint(n), Branch: fmt.Sprint(n), Repo: "acme/app",
			State: stage.State{Stage: stage.Analysis, Run: 1, Active: stage.Analyst},
		}
		job := queue.Job{Pool: queue.PoolAgents, TaskID: id, Holds: admit.Subjects(row.Repo, id)}
		require.NoError(t, s.Commit(t.Context(), task.Commit{Task: &row, Jobs: []queue.Job{job}}))
		row, err = s.Task(t.Context(), id)
		require.NoError(t, err)
		tasks = append(tasks, row)
	}
	var started atomic.Int32
	desk := admit.NewDesk(admit.Options{
		Store: s, Jobs: s, Rules: b.Feature().Admission, Scheduler: run.Real{}, Log: slog.New(slog.DiscardHandler),
		Begins: func(task.Task) bool { return true },
	})
	pass := func() {
		desk.Mark("")
		_, _, err := desk.Review(t.Context())
		require.NoError(t, err)
	}
	claim := func(row task.Task) bool {
		why, _ := desk.Claim(t.Context(), admit.Start{Task: row, JobID: row.ID, Attempt: 1})
		if why == "" {
			started.Add(1)
		}
		return why == ""
	}
	var all sync.WaitGroup
	for _, task := range tasks {
		all.Go(func() { claim(task) })
	}
	all.Wait()
	require.LessOrEqual(t, started.Load(), int32(7), "the cap is never passed")
	// Some may have given way to each other: what was freed is admitted again.
	held := func() (ids []string) {
		hs, err := s.Holds(t.Context())
		require.NoError(t, err)
		for _, h := range hs {
			if h.Name == budget.Name {
				ids = append(ids, h.Subject)
			}
		}
		return ids
	}
	for len(held()) > 43 {
		before := held()
		pass()
		for _, task := range tasks {
			subject := admit.Subjects(task.Repo, task.ID)[0]
			if slices.Contains(before, subject) && !slices.Contains(held(), subject) {
				require.True(t, claim(task), "there is room for it")
			}
		}
	}
	require.EqualValues(t, 7, started.Load())
	require.Len(t, held(), 43)
}

// A run that was reserved before midnight counts on the new day for as long as it is at work, or its result waits.
func TestDayOfAResultThatWaits(t *testing.T) {
	s, now := memstore.New(nil), time.Date(2026, 12, 2, 0, 10, 0, 0, time.UTC)
	o := options(t, s, budget.Caps{RepoDay: 7 * dollar})
	o.Now = func() time.Time { return now }
	b, err := budget.New(o)
	require.NoError(t, err)
	run := task.Reservation{TaskID: 1, JobID: 1, Attempt: 1, Repo: "acme/app", MicroUSD: dollar, At: now.Add(-time.Hour)}
	require.NoError(t, s.Reserve(t.Context(), run))
	for _, want := range []int64{0, dollar} { // of a run that was interrupted, and of one that has ended
		spent, err := b.Spent(t.Context(), "acme/app")
		require.NoError(t, err)
		require.Equal(t, want, spent)
		_, err = s.Put(t.Context(), queue.Job{Pool: queue.PoolEvents, TaskID: 1, DedupeKey: "run/1/1/1"})
		require.NoError(t, err)
	}
}

func TestNewRefuses(t *testing.T) {
	s := memstore.New(nil)
	for want, caps := range map[string]budget.Caps{
		"both 0": {},
		"Options.Caps.Task is 0.50 USD, less than the 1.00 USD":    {Task: dollar / 2},
		"Options.Caps.RepoDay is 2.00 USD, less than the 3.00 USD": {RepoDay: 2 * dollar, Run: 3 * dollar},
		"negative": {Task: -1},
	} {
		_, err := budget.New(options(t, s, caps))
		require.ErrorContains(t, err, want)
	}
}
