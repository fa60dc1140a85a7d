package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	driver "modernc.org/sqlite"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
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

// A disk that is full is met by a statement as well as by a commit: either way it may have room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	small := &driver.Driver{}
	small.RegisterConnectionHook(func(c driver.ExecQuerierContext, _ string) error {
		_, err := c.ExecContext(t.Context(), "pragma max_page_count = 200", nil)
		return err
	})
	sql.Register("small disk", small)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: place(t), Driver: "small disk"})
	require.NoError(t, err)
	defer db.Close()
	for err == nil {
		_, err = db.Put(t.Context(), queue.Job{Pool: "p", Payload: make([]byte, 100_000)})
	}
	require.ErrorContains(t, err, "database or disk is full")
	require.True(t, fault.Retryable(err), "%v", err)
	require.NoError(t, db.Ping(t.Context()))
}
