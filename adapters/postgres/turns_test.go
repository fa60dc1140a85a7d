package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

// Whatever one store of a schema does, the next call of another sees it.
func TestStoresInTurns(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	seed := uint64(0)
	var last []*postgres.DB // a property opens hundreds, one after the other
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue {
		t.Helper()
		for _, db := range last {
			require.NoError(t, db.Close())
		}
		seed++
		o := postgres.Options{URL: url, Schema: "turns", Now: now}
		last = []*postgres.DB{open(t, o), open(t, o)}
		empty(t, url, o.Schema)
		return queuetest.InTurns(seed, last[0], last[1])
	})
}

// Somebody puts a job while a store waits for its turn: the store sees it. So does one that
// ends a claim that was cancelled meanwhile.
func TestTurn(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	host := connect(t, url)
	other := at(t, url)
	for range 3 {
		tx := turnOf(t, host)
		put := make(chan []int64, 1)
		go func() {
			ids, err := other.Put(context.WithoutCancel(t.Context()), queue.Job{Pool: "p", TaskID: 3}, queue.Job{Pool: "q"})
			assert.NoError(t, err, "put")
			put <- ids
		}()
		waits(t, url, 1)
		taken := make(chan []queue.Claim, 1)
		go func() {
			claims, err := db.Take(context.WithoutCancel(t.Context()), "p", "w", 1, time.Hour)
			assert.NoError(t, err, "take")
			taken <- claims
		}()
		waits(t, url, 2)
		require.NoError(t, tx.Commit(t.Context()))
		ids, claims := <-put, <-taken
		require.Len(t, claims, 1)
		require.Equal(t, ids[0], claims[0].Job.ID)

		cancelled, err := other.Cancel(t.Context(), 3)
		require.NoError(t, err)
		require.Len(t, cancelled, 1)
		next, err := db.FinishTake(t.Context(), claims[0], queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{bare}}, "q", "w", 1, time.Hour)
		require.ErrorIs(t, err, queue.ErrLost)
		require.Len(t, next, 1)
		require.NoError(t, db.Finish(t.Context(), next[0], success))
	}
	agree(t, url)
}

// A store waits for its turn for longer than a lease and a claim live: both are granted for all their time from then on.
func TestTimeOfTheTurn(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	var waited atomic.Int64
	begin := time.Now()
	db := open(t, postgres.Options{URL: url, Now: func() time.Time { return begin.Add(time.Duration(waited.Load())) }})
	put(t, db, bare)
	host := connect(t, url)
	for name, call := range map[string]func(ctx context.Context) (until time.Time, err error){
		"lease": func(ctx context.Context) (time.Time, error) {
			l, err := db.Leases().Acquire(ctx, "main", "me", time.Minute)
			return l.Expires, err
		},
		"claim": func(ctx context.Context) (time.Time, error) {
			claims, err := db.Take(ctx, "p", "w", 1, time.Minute)
			return append(claims, queue.Claim{})[0].Job.LeaseUntil, err
		},
	} {
		tx := turnOf(t, host)
		until := make(chan time.Time, 1)
		go func() {
			at, err := call(context.WithoutCancel(t.Context()))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			until <- at
		}()
		waits(t, url, 1)
		now := begin.Add(time.Duration(waited.Add(int64(time.Hour))))
		require.NoError(t, tx.Commit(t.Context()))
		require.WithinDuration(t, now.Add(time.Minute), <-until, time.Second, name)
	}
}

// waits returns when so many wait for a row.
func waits(t *testing.T, url string, want int) {
	t.Helper()
	c := connect(t, url)
	require.Eventually(t, func() bool {
		var n int
		err := c.QueryRow(t.Context(), "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n >= want
	}, 20*time.Second, 5*time.Millisecond)
}

// A claim that was prolonged outlives its store, until its lease has passed.
func TestClaimOfAnotherLife(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	now := time.Now()
	o := postgres.Options{URL: url, Now: func() time.Time { return now }}
	db := open(t, o)
	ctx := t.Context()
	put(t, db, bare)
	claims, err := db.Take(ctx, "p", "w", 1, time.Minute)
	require.NoError(t, err)
	now = now.Add(30 * time.Second)
	require.NoError(t, db.Extend(ctx, claims[0], time.Minute))
	require.NoError(t, db.Close())
	db = open(t, o)
	for _, want := range []int{0, 1} {
		now = now.Add(45 * time.Second)
		reaped, err := db.Reap(ctx)
		require.NoError(t, err)
		require.Len(t, reaped, want)
	}
	require.ErrorIs(t, db.Finish(ctx, claims[0], success), queue.ErrLost, "the claim was given back")
	agree(t, url)
}

// Many workers of one store, more than fit into a transaction, while another store puts,
// holds and frees: every job is done once, in the order of its key.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	t.Run("the other store is busy", func(t *testing.T) { t.Parallel(); manyWorkers(t, pgtest.Open(t), 4000, 40, 300, nil) })
	t.Run("the other store is quiet", func(t *testing.T) { t.Parallel(); manyWorkers(t, pgtest.Open(t), 6000, 1, 1500, nil) })
}

// The connection breaks again and again at any message of a transaction: whatever the server
// did of it is found out, and each job is done once.
func TestConnectionLostUnderLoad(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	w, wired := pgtest.NewWire(t, url)
	db := at(t, wired)
	jobs := 20_000
	if testing.Short() {
		jobs = 6000
	}
	manyWorkers(t, url, jobs, 1, 1500, &meddled{db, jobs / 28, func(i int) {
		w.Deliver.Store(int64(i / 5 % 2)) // never, and at once
		w.Left.Store(int64(1 + i%5))
	}})
	require.Greater(t, w.Cuts.Load(), int64(1), "a message is of all who wait: on a slow machine there are few")
}

// meddled is a store that something is done to whenever so many jobs are done.
type meddled struct {
	db     *postgres.DB
	every  int
	meddle func(i int)
}

// manyWorkers works jobs off through a store, while another one puts, holds and frees.
func manyWorkers(t *testing.T, url string, jobs, more, workers int, m *meddled) {
	t.Helper()
	if m == nil {
		m = &meddled{at(t, url), jobs, func(int) {}}
	}
	db, other := m.db, at(t, url)
	batch := make([]queue.Job, jobs)
	for i := range batch {
		batch[i] = queue.Job{Pool: "p", Key: fmt.Sprint("k", i%900), Holds: []string{fmt.Sprint("s", i%7)}, Priority: i % 3}
	}
	put(t, db, batch...)
	ctx := bounded(t, other, 3*time.Minute)
	var mu sync.Mutex
	last, done := map[string]int64{}, map[int64]int{}
	reached := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(done) >= n
	}
	finished := func() bool { return reached(jobs+more) || ctx.Err() != nil }
	note := func(c queue.Claim) {
		mu.Lock()
		defer mu.Unlock()
		if done[c.Job.ID]++; c.Job.Key != "" && last[c.Job.Key] > c.Job.ID {
			t.Errorf("job %d of %s after %d", c.Job.ID, c.Job.Key, last[c.Job.Key])
		}
		last[c.Job.Key] = c.Job.ID
		if len(done)%m.every == 0 {
			m.meddle(len(done) / m.every)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range more {
			for !reached((i+1)*jobs/(more+1)) && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			hold := queue.Hold{Subject: fmt.Sprint("s", i%7), Name: "n"}
			_, err := other.Put(context.Background(), bare)
			assert.NoError(t, errors.Join(err, other.Hold(context.Background(), hold), other.Free(context.Background(), hold)), "the other store")
		}
	})
	for range workers {
		wg.Go(func() {
			var claims []queue.Claim
			for !finished() {
				var err error
				if len(claims) == 0 {
					claims, err = db.Take(context.Background(), "p", "w", 1, time.Hour)
				} else {
					note(claims[0])
					claims, err = db.FinishTake(context.Background(), claims[0], success, "p", "w", 1, time.Hour)
				}
				if !assert.NoError(t, err, "a worker") {
					return
				}
			}
			for _, c := range claims {
				t.Errorf("job %d was handed out again", c.Job.ID)
			}
		})
	}
	wg.Wait()
	for id, n := range done {
		require.Equal(t, 1, n, "job %d", id)
	}
	agree(t, url)
}
