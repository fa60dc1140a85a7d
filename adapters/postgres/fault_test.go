package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// The connection breaks at every message in turn, before the server has it and
// after: every call succeeds, and what it does is done once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	server := pgtest.Open(t)
	w, url := pgtest.NewWire(t, server)
	db := at(t, url)
	c := connect(t, server)
	for _, deliver := range []int64{pgtest.Never, pgtest.AtOnce} {
		for n := int64(1); n <= 6; n++ {
			for step, call := range steps(t, db) {
				w.Deliver.Store(deliver)
				w.Left.Store(n)
				call()
				w.Left.Store(-1)
				var jobs, finished int
				require.NoError(t, c.QueryRow(t.Context(), "select count(*), count(finished_at) from signalbox.jobs").Scan(&jobs, &finished))
				require.Equal(t, []int{2, []int{0, 0, 2}[step]}, []int{jobs, finished}, "deliver=%v message=%d step=%d", deliver, n, step)
			}
			execute(t, c, "delete from signalbox.jobs")
		}
	}
	require.GreaterOrEqual(t, w.Cuts.Load(), int64(6), "each call is cut, before and after")
	agree(t, server)
}

// A transaction arrives at the server when the store has looked for it, not found
// it and made another: it is refused there.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	server := pgtest.Open(t)
	w, url := pgtest.NewWire(t, server)
	other, db := at(t, server), at(t, url)
	ids := put(t, other, bare, bare, bare, bare)
	work := func(call func(func() error)) {
		t.Helper()
		var claims []queue.Claim
		call(func() (err error) { claims, err = db.Take(t.Context(), "p", "w", 1, time.Hour); return err })
		require.Len(t, claims, 1)
		call(func() error { return db.Finish(t.Context(), claims[0], success) })
	}
	work(func(f func() error) { require.NoError(t, f()) }) // from now on one message is a whole transaction
	w.Deliver.Store(pgtest.Late)
	work(func(f func() error) {
		w.Left.Store(1)
		require.NoError(t, f())
		(<-w.Late)()
		require.NoError(t, db.Ping(t.Context()))
	})
	require.EqualValues(t, 2, w.Cuts.Load())
	jobs := read(t, db.Jobs, queue.Filter{Open: true})
	require.Len(t, jobs, 2)
	for i, j := range jobs {
		require.Equal(t, ids[i+2], j.ID)
		require.Equal(t, queue.Queued, j.Status, "the transaction that came late has taken a job")
	}
	agree(t, server)
}

// A server goes away, at every message in turn, for longer than a call waits: the call fails, and whether
// it has taken something is unknown. The next one finds what it has taken: no claim is left with nobody.
func TestLostClaims(t *testing.T) {
	t.Parallel()
	server := pgtest.Open(t)
	w, url := pgtest.NewWire(t, server)
	db, other := open(t, postgres.Options{URL: url, Patience: 1}), at(t, server)
	unknown := 0 // a busy machine may send a commit with other messages
	for i := int64(0); i < 4 || unknown < 2 && i < 40; i++ {
		n := i%4 + 1
		for step := range 2 {
			ids := put(t, other, bare, bare, queue.Job{Pool: "p", MaxAttempts: 1})
			held := take(t, db, "p", 1)
			require.Equal(t, ids[0], held[0].Job.ID)
			w.Deliver.Store(pgtest.AtOnce)
			w.Left.Store(n)
			var err error
			if step == 0 {
				_, err = db.Take(t.Context(), "p", "w", 2, time.Hour)
			} else {
				_, err = db.FinishTake(t.Context(), held[0], success, "p", "w", 2, time.Hour)
			}
			w.Left.Store(-1)
			var away *postgres.UnavailableError
			if errors.As(err, &away) {
				if away.Unknown {
					unknown++
				}
				again := take(t, db, "p", 2)
				require.Len(t, again, 2, "message %d, step %d", n, step)
				require.Equal(t, ids[1:], []int64{again[0].Job.ID, again[1].Job.ID})
			}
			_, err = other.Cancel(t.Context(), 0)
			require.NoError(t, err)
		}
	}
	require.GreaterOrEqual(t, unknown, 2, "a commit of each call was cut")
	agree(t, server)
}

// steps put, take and finish two jobs.
func steps(t *testing.T, db *postgres.DB) []func() {
	var claims []queue.Claim
	return []func(){
		func() {
			ids := put(t, db, queue.Job{Pool: "p", Key: "a"}, bare)
			require.Len(t, ids, 2)
		},
		func() {
			claims = take(t, db, "p", 5)
			require.Len(t, claims, 2, "a claim whose answer was lost is handed out")
			require.Equal(t, 1, claims[0].Job.Attempt)
		},
		func() {
			var wg sync.WaitGroup
			for _, c := range claims {
				wg.Go(func() {
					assert.NoError(t, db.Finish(t.Context(), c, success), "finish")
				})
			}
			wg.Wait()
		},
	}
}

// Every connection is ended again and again by the server: nobody notices.
func TestTerminated(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db := open(t, postgres.Options{URL: url, Patience: time.Minute})
	const jobs = 300
	ctx, cancel := context.WithCancel(bounded(t, db, 3*time.Minute))
	var wg, killer sync.WaitGroup
	var put, done atomic.Int64
	killer.Go(func() { terminate(ctx, t, url, func() int64 { return put.Load() + done.Load() }) })
	for w := range 4 {
		wg.Go(func() {
			for i := range jobs / 4 {
				_, err := db.Put(t.Context(), queue.Job{Pool: "p", Kind: fmt.Sprint(w, i), Key: fmt.Sprint(i % 5)})
				assert.NoError(t, err, "put")
				put.Add(1)
			}
		})
		wg.Go(func() {
			for done.Load() < jobs && ctx.Err() == nil {
				claims, err := db.Take(t.Context(), "p", "w", 3, time.Hour)
				if !assert.NoError(t, err, "take") {
					return
				}
				for _, c := range claims {
					assert.NoError(t, db.Finish(t.Context(), c, success), "finish")
					done.Add(1)
				}
				_, err = db.Depth(t.Context())
				assert.NoError(t, err, "depth")
			}
		})
	}
	wg.Wait()
	cancel()
	killer.Wait()
	require.Len(t, read(t, db.Jobs, queue.Filter{}), jobs)
	agree(t, url)
}

// terminate ends every other connection to the database until ctx ends, time and again, each time when
// something more was done: on a busy machine a connection may take longer than one is left.
func terminate(ctx context.Context, t *testing.T, url string, progress func() int64) {
	c, err := pgx.Connect(ctx, url)
	if !assert.NoError(t, err, "connect") {
		return
	}
	defer c.Close(context.WithoutCancel(ctx))
	for before := int64(-1); ctx.Err() == nil; {
		if now := progress(); now != before {
			before = now
		} else if _, err := c.Exec(ctx, "select pg_sleep(0.01)"); err == nil {
			continue
		}
		// The server itself sets the pace: no clock of ours is involved.
		_, err := c.Exec(ctx, "select pg_sleep(0.03), pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
		if err != nil && ctx.Err() == nil {
			t.Errorf("terminate: %v", err)
			return
		}
	}
}

// A server that stays away: calls end with an error that says so.
func TestAway(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	db := open(t, postgres.Options{URL: s.URL("postgres"), Patience: 50 * time.Millisecond})
	ids := put(t, db, bare)
	require.NoError(t, s.Kill())
	_, err := db.Put(t.Context(), bare)
	var away *postgres.UnavailableError
	require.True(t, errors.As(err, &away), "%v", err)
	require.True(t, away.Retryable())
	require.False(t, away.Unknown, "it was never sent")
	_, err = db.Jobs(t.Context(), queue.Filter{})
	require.True(t, errors.As(err, &away), "%v", err)
	_, err = postgres.Open(t.Context(), postgres.Options{URL: s.URL("postgres"), Patience: time.Millisecond})
	require.True(t, errors.As(err, &away), "%v", err)
	require.NoError(t, s.Restart())
	require.NoError(t, db.Ping(t.Context()))
	jobs := read(t, db.Jobs, queue.Filter{})
	require.Len(t, jobs, 1)
	require.Equal(t, ids[0], jobs[0].ID)
}

// A server that takes no writes any more is left for the one that does.
func TestStandby(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db := open(t, postgres.Options{URL: url, Patience: 50 * time.Millisecond})
	require.NoError(t, db.Ping(t.Context()))
	c := connect(t, url)
	demote := `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`
	promote := strings.ReplaceAll(demote, "= on", "= off")
	execute(t, c, demote)
	execute(t, c, "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
	var away *postgres.UnavailableError
	require.True(t, errors.As(db.Ping(t.Context()), &away))
	require.Contains(t, away.Error(), "read-only")
	execute(t, c, promote)
	require.NoError(t, db.Ping(t.Context()))
}
