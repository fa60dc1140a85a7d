package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// unchanged: a decision that changes nothing is stored with all that it owes, beside
// the version that it was made on or not at all, and the row stays as it is.
func unchanged(k *kit) {
	t := k.newTask(1)
	k.commit(task.Commit{Task: &t})
	old := k.task(t.ID)
	nothing := func(t task.Task) (task.Commit, queue.Claim) {
		c := k.claim()
		t.Title = "nobody stores this"
		return task.Commit{
			Task: &t, Unchanged: true, Claim: &c, Jobs: []queue.Job{{Pool: "p", TaskID: t.ID}},
			Journal: []task.JournalEntry{{TaskID: t.ID, Seq: t.State.Seq, At: k.clock.Now(), Kind: "decision", Payload: []byte("{}")}},
		}, c
	}
	for n := range 2 { // one after the other: neither makes a version
		commit, claim := nothing(old)
		k.commit(commit)
		require.Equal(k, old, k.task(t.ID))
		require.ErrorIs(k, k.s.Extend(k.Context(), claim, time.Minute), queue.ErrLost, "the claim is finished")
		k.stored(t.ID, n+1)
	}
	next := old
	next.State.Seq++
	k.commit(task.Commit{Task: &next})
	ghost := k.newTask(2)
	ghost.Version = 1
	for name, t := range map[string]task.Task{"an old version": old, "no such task": ghost} {
		commit, claim := nothing(t)
		require.ErrorIs(k, k.s.Commit(k.Context(), commit), task.ErrConflict, name)
		require.NoError(k, k.s.Finish(k.Context(), claim, queue.Outcome{Kind: queue.OutcomeDone}), "%s: the claim is still held", name)
		k.stored(old.ID, 2)
	}
}

// stored counts what came of decisions: entries of a task, and jobs.
func (k *kit) stored(task int64, want int) {
	k.Helper()
	entries, err := k.s.Journal(k.Context(), task)
	require.NoError(k, err)
	require.Len(k, entries, want)
	jobs, err := k.s.Jobs(k.Context(), queue.Filter{Pool: "p"})
	require.NoError(k, err)
	require.Len(k, jobs, want)
}

// deciders is how many decide at the same time, and decisions what each of them does.
const (
	deciders  = 6
	decisions = 25
)

// Order lets several decide on one task at the same time, through one handle of a
// store or several in turns, and looks whether the entries of its journal stand in the
// order of its versions: each decision that changes something is made on the version
// of the one before it, and one that changes nothing on that of the newest before it.
func Order(t *testing.T, stores ...Store) {
	t.Helper()
	k := &kit{T: t, s: stores[0]}
	ctx := context.WithoutCancel(t.Context()) // of goroutines that may outlive a failure
	id, err := k.s.NewTaskID(ctx)
	require.NoError(t, err)
	first := task.Task{ID: id, WorkItemID: "APP-1", TrackerIssueID: "i", Repo: "acme/app", Branch: "b"}
	k.commit(task.Commit{Task: &first})
	var wg sync.WaitGroup
	failed := make(chan error, deciders)
	for d := range deciders {
		wg.Go(func() {
			for n := range decisions {
				if err := decide(ctx, stores[(d+n)%len(stores)], id, (d+n)%3 == 0); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	require.NoError(t, <-failed)
	entries, err := k.s.Journal(ctx, id)
	require.NoError(t, err)
	require.Len(t, entries, deciders*decisions)
	version, moves := int64(0), 0
	for i, e := range entries {
		if string(e.Payload) == "move" {
			version++
			moves++
		}
		require.Equal(t, version, e.Seq, "row %d of the journal, a %s", i, e.Payload)
	}
	task, err := k.s.Task(ctx, id)
	require.NoError(t, err)
	require.Positive(t, moves)
	require.EqualValues(t, moves+1, task.Version, "what changes nothing makes no version")
	require.EqualValues(t, moves, task.State.Seq)
}

// decide makes a decision on a task as it is, and again when others came first.
func decide(ctx context.Context, s Store, id int64, moves bool) error {
	for {
		t, err := s.Task(ctx, id)
		if err != nil {
			return err
		}
		what := "nothing"
		if moves {
			t.State.Seq++
			what = "move"
		}
		decided := task.JournalEntry{TaskID: id, Seq: t.State.Seq, At: time.Unix(1, 0), Kind: task.KindDecision, Payload: []byte(what)}
		err = s.Commit(ctx, task.Commit{Task: &t, Unchanged: !moves, Journal: []task.JournalEntry{decided}})
		if err == nil || !errors.Is(err, task.ErrConflict) {
			return err
		}
	}
}
