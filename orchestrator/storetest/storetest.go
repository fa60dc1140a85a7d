// Package storetest is the conformance suite of task.Store and
// task.Records: what memory, SQLite and every later store must do alike.
package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

// Store is a store of tasks with the queue that shares its transactions.
type Store interface {
	task.Store
	task.Records
	task.Dependencies
	task.CostStore
	task.Pauses
	task.Facts
	task.Contents
	task.History
	task.Pruner
	queuetest.Queue
}

// opener opens an empty store with a clock; the test's Cleanup closes it.
type opener func(t *testing.T, now func() time.Time) Store

type kit struct {
	*testing.T
	s     Store
	clock *queuetest.Clock
}

// Run runs the whole suite.
func Run(t *testing.T, open opener) {
	t.Helper()
	for name, test := range map[string]func(*kit){
		"a task is read back as it was committed":           readsBack,
		"ids rise and are never used twice":                 ids,
		"a commit at an old version changes nothing at all": versions,
		"a commit that changes nothing leaves the row":      unchanged,
		"a journal is in the order of versions":             func(k *kit) { Order(k.T, k.s) },
		"a commit is refused among other tasks":             among,
		"a commit is refused behind a claim":                behindClaim,
		"names are unique":                                  unique,
		"a card may have another task after the end":        successors,
		"a lost claim undoes the whole commit":              lostClaim,
		"a commit finishes its claim and puts its jobs":     finishesClaim,
		"a commit cancels other jobs of its task":           cancels,
		"a commit can spare what runs":                      cancelsQueued,
		"a commit holds and frees":                          holds,
		"what entries name is kept once":                    contents,
		"a commit makes way for the next job":               relays,
		"a commit that is refused keeps its claim":          relaysRefused,
		"the story is kept in order":                        story,
		"an agent run is recorded once for each attempt":    runs,
		"tasks are listed by filter":                        filters,
		"a delivery is taken once":                          receives,
		"a delivery is known until it is pruned":            forgets,
		"jobs that ended long ago are pruned":               prunes,
		"jobs that something needs are not pruned":          prunesNone,
		"the id of a job that was pruned never comes back":  prunesNewest,
		"one of many concurrent starts wins":                races,
		"no such task":                                      missing,
		"dependencies are kept by source":                   dependencies,
		"a record ends its reservation":                     reservations,
		"pauses of agents are compared and kept":            pauses,
		"facts are kept until they are over":                facts,
		"costs are summed by task and by day":               costs,
		"tasks that ended are listed, the last one first":   ended,
		"the journal is read backwards and at a moment":     past,
	} {
		t.Run(name, func(t *testing.T) {
			clock := queuetest.NewClock()
			test(&kit{T: t, s: open(t, clock.Now), clock: clock})
		})
	}
}

func (k *kit) newTask(n int) task.Task {
	k.Helper()
	id, err := k.s.NewTaskID(k.Context())
	require.NoError(k, err)
	at := k.clock.Now()
	return task.Task{
		ID: id, WorkItemID: fmt.Sprintf("APP-%d", n), TrackerProjectID: "p1", TrackerIssueID: fmt.Sprintf("issue-%d", n),
		Repo: "acme/app", Branch: fmt.Sprintf("feature/APP-%d-x", n), Slug: "x", Title: "Title — ünïcode 🚦", Description: "d\n\"'",
		State: stage.State{
			Stage: stage.Analysis, Seq: 1, Run: 1, Active: stage.Analyst,
			Acted: stage.StatusToAnalyse, Set: stage.StatusAnalysis, EnteredAt: at,
		},
		CreatedAt: at, UpdatedAt: at, StageEnteredAt: at,
	}
}

func (k *kit) commit(c task.Commit) {
	k.Helper()
	require.NoError(k, k.s.Commit(k.Context(), c))
}

func (k *kit) task(id int64) task.Task {
	k.Helper()
	t, err := k.s.Task(k.Context(), id)
	require.NoError(k, err)
	return t
}

func readsBack(k *kit) {
	t := k.newTask(1)
	t.ApprovedBy, t.ApprovedAt = "someone", k.clock.Now().Add(time.Microsecond)
	t.TrackerMessageID, t.BRDReviewStartedAt, t.State.Lane = "77", k.clock.Now(), "fix"
	k.commit(task.Commit{Task: &t})
	got := k.task(t.ID)
	t.Version = 1
	require.Equal(k, t, got)
	got.State.Stage, got.State.Hold = stage.Done, stage.HoldNone
	k.commit(task.Commit{Task: &got})
	got.Version = 2
	require.Equal(k, got, k.task(t.ID))
}

func ids(k *kit) {
	a, b := k.newTask(1), k.newTask(2)
	require.Positive(k, a.ID)
	require.Greater(k, b.ID, a.ID)
}

func versions(k *kit) {
	t := k.newTask(1)
	k.commit(task.Commit{Task: &t})
	stale := k.task(t.ID)
	fresh := stale
	fresh.Title = "fresh"
	k.commit(task.Commit{Task: &fresh})
	stale.Title = "stale"
	err := k.s.Commit(k.Context(), task.Commit{
		Task: &stale, Jobs: []queue.Job{{Pool: "p"}}, Journal: []task.JournalEntry{{TaskID: t.ID, Kind: "decision", Payload: []byte("{}")}},
		Hold: []queue.Hold{{Subject: "s", Name: "n"}},
	})
	require.ErrorIs(k, err, task.ErrConflict)
	require.Equal(k, "fresh", k.task(t.ID).Title)
	k.noJobs()
	entries, err := k.s.Journal(k.Context(), t.ID)
	require.NoError(k, err)
	require.Empty(k, entries)
	again := k.task(t.ID)
	again.Version = 0
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &again}), task.ErrConflict, "inserting a stored id")
	ghost := k.newTask(2)
	ghost.Version = 3
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &ghost}), task.ErrConflict, "updating what is not there")
}

func (k *kit) noJobs() {
	k.Helper()
	jobs := k.all()
	require.Empty(k, jobs)
}

func unique(k *kit) {
	t := k.newTask(1)
	k.commit(task.Commit{Task: &t})
	for field, change := range map[string]func(*task.Task){
		"issue":     func(o *task.Task) { o.TrackerIssueID = t.TrackerIssueID },
		"work item": func(o *task.Task) { o.WorkItemID = t.WorkItemID },
		"branch":    func(o *task.Task) { o.Branch = t.Branch },
	} {
		o := k.newTask(2)
		change(&o)
		require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &o}), task.ErrConflict, field)
	}
	o := k.newTask(2)
	o.WorkItemID, o.Branch, o.Repo = t.WorkItemID, t.Branch, "acme/other"
	k.commit(task.Commit{Task: &o})
}

// A card has one unfinished task; those of it that are done stay, and keep their names.
func successors(k *kit) {
	t := k.newTask(1)
	k.commit(task.Commit{Task: &t})
	next, other := k.newTask(2), k.newTask(3)
	next.TrackerIssueID, other.TrackerIssueID = t.TrackerIssueID, t.TrackerIssueID
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &next}), task.ErrConflict)
	t.Version, t.State.Stage = 1, stage.Done
	k.commit(task.Commit{Task: &t})
	k.commit(task.Commit{Task: &next})
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &other}), task.ErrConflict, "beside the second")
	other.WorkItemID, other.TrackerIssueID = t.WorkItemID, "another"
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &other}), task.ErrConflict, "the names of the first")
	list, err := k.s.Tasks(k.Context(), task.Filter{TrackerIssueID: t.TrackerIssueID})
	require.NoError(k, err)
	require.Len(k, list, 2)
	require.Equal(k, []int64{t.ID, next.ID}, []int64{list[0].ID, list[1].ID})
	t = k.task(t.ID)
	t.Title = "changed after the end"
	k.commit(task.Commit{Task: &t})
}

func (k *kit) all() []queue.Job {
	k.Helper()
	jobs, err := k.s.Jobs(k.Context(), queue.Filter{})
	require.NoError(k, err)
	return jobs
}

// take claims one job, if there is one to be had.
func (k *kit) take(pool string) []queue.Claim {
	k.Helper()
	claims, err := k.s.Take(k.Context(), pool, "w", 1, time.Minute)
	require.NoError(k, err)
	return claims
}

func (k *kit) claim() queue.Claim {
	k.Helper()
	_, err := k.s.Put(k.Context(), queue.Job{Pool: "events", TaskID: 1, DedupeKey: "timer"})
	require.NoError(k, err)
	claims := k.take("events")
	require.Len(k, claims, 1)
	return claims[0]
}

func lostClaim(k *kit) {
	c := k.claim()
	require.NoError(k, k.s.Finish(k.Context(), c, queue.Outcome{Kind: queue.OutcomeDone}))
	t := k.newTask(1)
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Task: &t, Claim: &c, Jobs: []queue.Job{{Pool: "p"}}}), queue.ErrLost)
	_, err := k.s.Task(k.Context(), t.ID)
	require.ErrorIs(k, err, task.ErrNotFound)
}

func finishesClaim(k *kit) {
	c := k.claim()
	t := k.newTask(1)
	k.commit(task.Commit{Task: &t, Claim: &c, Jobs: []queue.Job{{Pool: "p", TaskID: t.ID, DedupeKey: "timer"}}})
	jobs := k.all()
	require.Len(k, jobs, 2, "the finished claim's dedupe key is free for what follows")
	require.Equal(k, queue.Done, jobs[0].Status)
	require.Equal(k, queue.Queued, jobs[1].Status)
	require.ErrorIs(k, k.s.Commit(k.Context(), task.Commit{Claim: &c}), queue.ErrLost)
}

func cancels(k *kit) {
	t := k.newTask(1)
	_, err := k.s.Put(k.Context(),
		queue.Job{Pool: "agents", TaskID: t.ID}, queue.Job{Pool: "effects", TaskID: t.ID}, queue.Job{Pool: "agents", TaskID: t.ID + 1})
	require.NoError(k, err)
	claims := k.take("agents")
	k.commit(task.Commit{Task: &t, CancelPools: []string{"agents"}, Jobs: []queue.Job{{Pool: "agents", TaskID: t.ID}}})
	require.ErrorIs(k, k.s.Extend(k.Context(), claims[0], time.Minute), queue.ErrLost)
	jobs := k.all()
	statuses := []queue.Status{}
	for _, j := range jobs {
		statuses = append(statuses, j.Status)
	}
	require.Equal(k, []queue.Status{queue.Cancelled, queue.Queued, queue.Queued, queue.Queued}, statuses)
}

func cancelsQueued(k *kit) {
	t := k.newTask(1)
	_, err := k.s.Put(k.Context(),
		queue.Job{Pool: "effects", TaskID: t.ID}, queue.Job{Pool: "effects", TaskID: t.ID}, queue.Job{Pool: "events", TaskID: t.ID})
	require.NoError(k, err)
	claims := k.take("effects")
	k.commit(task.Commit{Task: &t, CancelQueued: []string{"effects"}})
	require.NoError(k, k.s.Finish(k.Context(), claims[0], queue.Outcome{Kind: queue.OutcomeDone}), "what runs is finished")
	jobs := k.all()
	got := []queue.Status{jobs[0].Status, jobs[1].Status, jobs[2].Status}
	require.Equal(k, []queue.Status{queue.Done, queue.Cancelled, queue.Queued}, got)
}

func holds(k *kit) {
	k.commit(task.Commit{Hold: []queue.Hold{{Subject: "s", Name: "n"}}, Jobs: []queue.Job{{Pool: "p", Holds: []string{"s"}}}})
	claims := k.take("p")
	require.Empty(k, claims)
	k.commit(task.Commit{Free: []queue.Hold{{Subject: "s", Name: "n"}}})
	claims = k.take("p")
	require.Len(k, claims, 1)
}

func story(k *kit) {
	t := k.newTask(1)
	v := gates.Redf("CI failed").With(gates.Evidence{Kind: "check", Name: "build", Note: "failed"})
	v.Check, v.SHA = "check_ci_green", "abc"
	at := k.clock.Now()
	for i := range 3 {
		k.commit(task.Commit{
			Journal: []task.JournalEntry{{TaskID: t.ID, Seq: int64(i), At: at, Kind: "decision", Payload: []byte(fmt.Sprint(i))}},
			Gates:   []task.GateResult{{TaskID: t.ID, Stage: stage.Development, Verdict: v, At: at}},
		})
	}
	entries, err := k.s.Journal(k.Context(), t.ID)
	require.NoError(k, err)
	require.Len(k, entries, 3)
	require.Equal(k, "2", string(entries[2].Payload))
	require.True(k, entries[2].At.Equal(at))
	k.commit(task.Commit{Journal: []task.JournalEntry{{TaskID: t.ID + 1, Seq: 9, At: at, Kind: "decision", Payload: []byte("9")}}})
	newest, err := k.s.JournalSince(k.Context(), -1, 10)
	require.NoError(k, err)
	require.Len(k, newest, 1)
	require.EqualValues(k, 9, newest[0].Seq)
	since, err := k.s.JournalSince(k.Context(), entries[0].ID, 2)
	require.NoError(k, err)
	require.Equal(k, entries[1:], since, "oldest first, and no more than asked for")
	since, err = k.s.JournalSince(k.Context(), newest[0].ID, 2)
	require.NoError(k, err)
	require.Empty(k, since)
	results, err := k.s.GateResults(k.Context(), t.ID)
	require.NoError(k, err)
	require.Len(k, results, 3)
	require.Equal(k, v, results[0].Verdict)
	require.Equal(k, stage.Development, results[0].Stage)
}

func filters(k *kit) {
	var made []task.Task
	for n := range 5 {
		t := k.newTask(n)
		switch n {
		case 3:
			t.State.Stage, t.Repo = stage.Done, "acme/other"
		case 4: // one of the same card as another
			t.State.Stage, t.Repo = stage.Cancelled, "acme/elsewhere"
			t.TrackerIssueID, t.WorkItemID = task.Tombstone("issue-2", t.ID, k.clock.Now()), task.Tombstone("APP-2", t.ID, k.clock.Now())
		}
		k.commit(task.Commit{Task: &t})
		made = append(made, t)
	}
	check := func(f task.Filter, want ...int) {
		k.Helper()
		list, err := k.s.Tasks(k.Context(), f)
		require.NoError(k, err)
		var got []int
		for _, t := range list {
			got = append(got, slices.IndexFunc(made, func(m task.Task) bool { return m.ID == t.ID }))
		}
		require.Equal(k, want, got)
	}
	check(task.Filter{}, 0, 1, 2, 3, 4)
	check(task.Filter{Live: true}, 0, 1, 2)
	check(task.Filter{Repo: "acme/other"}, 3)
	check(task.Filter{Stage: stage.Done}, 3)
	check(task.Filter{TrackerIssueID: "issue-2"}, 2)
	check(task.Filter{TrackerIssueID: "issue-2", Cancelled: true}, 2, 4)
	check(task.Filter{TrackerIssueID: "issue", Cancelled: true})
	check(task.Filter{WorkItemID: "APP-2", Cancelled: true}, 2, 4)
	check(task.Filter{WorkItemID: "APP-2", Live: true, Cancelled: true}, 2)
	check(task.Filter{Repo: "acme/app", Branch: made[1].Branch}, 1)
	check(task.Filter{WorkItemID: "APP-0"}, 0)
	check(task.Filter{AfterID: made[1].ID}, 2, 3, 4)
	check(task.Filter{AfterID: made[0].ID, Limit: 1}, 1)
}

func races(k *kit) {
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		t := k.newTask(1)
		wg.Go(func() { results[i] = k.s.Commit(k.Context(), task.Commit{Task: &t}) })
	}
	wg.Wait()
	won := slices.DeleteFunc(results, func(err error) bool { return errors.Is(err, task.ErrConflict) })
	require.Equal(k, []error{nil}, won)
}
