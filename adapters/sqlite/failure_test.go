package sqlite_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// refuse makes the file refuse jobs of the kind "bad".
func (y *yard) refuse() {
	y.Helper()
	execute(y, y.raw, "create trigger refuse before insert on jobs when new.kind = 'bad' begin select raise(abort, 'refused'); end")
}

// A request that fails leaves the others of its transaction alone, and nothing of
// itself behind.
func TestOneFails(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	ctx := t.Context()
	y.refuse()
	y.put(same(20, queue.Job{Pool: "p"})...)
	claims := take(t, y.db, "p", 20)
	busy, err := y.raw.Conn(ctx)
	require.NoError(t, err)
	defer busy.Close()
	_, err = busy.ExecContext(ctx, "begin immediate") // so that all that follows gathers
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i, c := range claims {
		kind := "good"
		if i%5 == 0 {
			kind = "bad"
		}
		check := func(err error) {
			if bad := kind == "bad"; bad != (err != nil) {
				t.Errorf("%s: %v", kind, err)
			}
		}
		wg.Go(func() {
			_, err := y.db.Put(ctx, queue.Job{Pool: "put", Kind: "before"}, queue.Job{Pool: "put", Kind: kind, DedupeKey: fmt.Sprint(i)})
			check(err)
		})
		wg.Go(func() {
			check(y.db.Commit(ctx, task.Commit{Jobs: []queue.Job{{Pool: "commit", Kind: "before"}, {Pool: "commit", Kind: kind}}}))
		})
		wg.Go(func() {
			_, err := y.db.FinishTake(ctx, c, queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: "then", Kind: kind}}}, "none", "w", 1, time.Minute)
			check(err)
		})
		wg.Go(func() {
			if err := y.db.Extend(ctx, queue.Claim{Job: queue.Job{ID: 9999, Attempt: i}}, time.Minute); !errors.Is(err, queue.ErrLost) {
				t.Errorf("extend: %v", err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond) // they gather, or come one by one: it must not matter
	_, err = busy.ExecContext(ctx, "commit")
	require.NoError(t, err)
	wg.Wait()
	depth, err := y.db.Depth(ctx)
	require.NoError(t, err)
	require.Equal(t, []queue.Depth{
		{Pool: "commit", Status: queue.Queued, Count: 32}, {Pool: "p", Status: queue.Running, Count: 4}, {Pool: "put", Status: queue.Queued, Count: 32}, {Pool: "then", Status: queue.Queued, Count: 16},
	}, depth)
}

// What was undone is not remembered: neither of a transaction nor of one request's
// share.
func TestUndoneIsForgotten(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, fail := range map[string]func(*yard, queue.Claim, ...queue.Job) error{
		"put": func(y *yard, _ queue.Claim, jobs ...queue.Job) error {
			_, err := y.db.Put(ctx, jobs...)
			return err
		},
		"finish": func(y *yard, c queue.Claim, jobs ...queue.Job) error {
			return y.db.Finish(ctx, c, queue.Outcome{Kind: queue.OutcomeDone, Then: jobs})
		},
		"commit": func(y *yard, c queue.Claim, jobs ...queue.Job) error {
			return y.db.Commit(ctx, task.Commit{Claim: &c, Jobs: jobs})
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.refuse()
			first := y.put(queue.Job{Pool: "p", Key: "a", DedupeKey: "a"}, queue.Job{Pool: "p", Key: "a"})
			claims := take(t, y.db, "p", 9)
			require.Len(t, claims, 1)
			after := time.Now().Add(time.Hour)
			require.ErrorContains(t, fail(y, claims[0], queue.Job{Pool: "p", Key: "b", Holds: []string{"s"}}, queue.Job{Pool: "p", AvailableAt: after}, queue.Job{Pool: "p", Kind: "bad"}), "refused")
			agree(t, y.path)
			require.Empty(t, y.take(9), "the claim is held")
			second := y.put(queue.Job{Pool: "p", Key: "b"}, queue.Job{Pool: "p", DedupeKey: "a"})
			require.Equal(t, first[0], second[1])
			require.Equal(t, second[:1], y.take(9), "no job is before it")
			next, err := y.db.FinishTake(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 9, time.Minute)
			require.NoError(t, err)
			require.Len(t, next, 1)
			require.Equal(t, first[1], next[0].Job.ID)
		})
	}
}
