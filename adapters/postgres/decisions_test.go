package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Requests for one claim that share a transaction: one of them ends it.
func TestOneEndOfMany(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	ctx := t.Context()
	db := at(t, url)
	host := connect(t, url)
	put(t, db, slicesOf(6, bare)...)
	claims := take(t, db, "p", 6)
	for _, c := range claims {
		turn := turnOf(t, host) // everybody waits, so that the requests come together
		go func() { _, _ = db.Take(context.WithoutCancel(ctx), "nothing", "w", 1, time.Hour) }()
		waits(t, url, 1)
		done := success
		calls := []func() error{
			func() error { return db.Finish(ctx, c, done) },
			func() error { return db.Finish(ctx, c, done) },
			func() error { return db.Commit(ctx, task.Commit{Claim: &c}) },
			func() error {
				return db.Commit(ctx, task.Commit{Claim: &c, Free: []queue.Hold{{Subject: "s", Name: "n"}}})
			},
		}
		errs := make([]error, len(calls))
		var wg sync.WaitGroup
		for i, call := range calls {
			wg.Go(func() { errs[i] = call() })
		}
		time.Sleep(20 * time.Millisecond) // they have been handed in, most likely
		require.NoError(t, turn.Rollback(ctx))
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else {
				require.ErrorIs(t, err, queue.ErrLost)
			}
		}
		require.Equal(t, 1, won)
	}
	agree(t, url)
}

// More workers of one store than a transaction takes move tasks from job to job, while
// another store puts and takes: each task moves once for each job, and each effect is put once.
func TestManyDecisions(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db, other := at(t, url), at(t, url)
	ctx := t.Context()
	const tasks, moves, workers = 1300, 8, 1500
	first := int64(0)
	for i := range tasks {
		id, err := db.NewTaskID(ctx)
		require.NoError(t, err)
		if i == 0 {
			first = id
		}
		k := task.Task{ID: id, WorkItemID: fmt.Sprint("w", id), TrackerIssueID: fmt.Sprint("i", id), Branch: fmt.Sprint("b", id)}
		require.NoError(t, db.Commit(ctx, task.Commit{Task: &k, Jobs: []queue.Job{{Pool: "p", Key: fmt.Sprint(id), TaskID: id}}}))
	}
	bound := bounded(t, db, 3*time.Minute)
	var mu sync.Mutex
	version := map[int64]int64{} // of each task, as its worker has left it
	ended, moved := 0, 0
	left := func() bool { mu.Lock(); defer mu.Unlock(); return ended < tasks }
	move := func(c queue.Claim) ([]queue.Claim, error) {
		id := c.Job.TaskID
		mu.Lock()
		v := version[id] + 1
		version[id] = v
		moved++
		mu.Unlock()
		k := task.Task{ID: id, WorkItemID: fmt.Sprint("w", id), TrackerIssueID: fmt.Sprint("i", id), Branch: fmt.Sprint("b", id), Version: v}
		out := task.Commit{
			Task: &k, Claim: &c, Journal: []task.JournalEntry{{TaskID: id, Seq: v, Kind: "decision", Payload: []byte("{}")}},
			Jobs: []queue.Job{{Pool: "effects", TaskID: id, DedupeKey: fmt.Sprint(id, "/", v/2)}}, // every other one is there already
		}
		if v < moves {
			out.Jobs = append(out.Jobs, queue.Job{Pool: "p", Key: fmt.Sprint(id), TaskID: id, Priority: int(v % 3)})
		} else {
			mu.Lock()
			ended++
			mu.Unlock()
		}
		if err := db.Commit(context.Background(), out); err != nil {
			return nil, err
		}
		return db.Take(context.Background(), "p", "w", 1, time.Hour)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for half := false; !half && bound.Err() == nil; time.Sleep(time.Millisecond) { // the first store is alone meanwhile
			mu.Lock()
			half = moved >= tasks*moves/2
			mu.Unlock()
		}
		for range 3 {
			_, err := other.Put(context.Background(), queue.Job{Pool: "q", DedupeKey: "other"})
			assert.NoError(t, err, "the other store")
		}
	})
	for range workers {
		wg.Go(func() {
			var claims []queue.Claim
			for left() && bound.Err() == nil {
				var err error
				if len(claims) == 0 {
					claims, err = db.Take(context.Background(), "p", "w", 1, time.Hour)
				} else {
					claims, err = move(claims[0])
				}
				if err != nil {
					t.Errorf("a worker: %v", errors.Join(err))
					return
				}
			}
		})
	}
	wg.Wait()
	for id := first; id < first+tasks; id++ {
		require.EqualValues(t, moves+1, read(t, db.Task, id).Version)
		require.Len(t, read(t, db.Journal, id), moves)
	}
	require.Len(t, read(t, db.Jobs, queue.Filter{Pool: "effects", Limit: 100_000}), tasks*(moves/2+1))
	require.Len(t, read(t, db.Jobs, queue.Filter{Pool: "p", Limit: 100_000}), tasks*moves)
	agree(t, url)
}
