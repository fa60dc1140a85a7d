package postgres_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// A bound is kept by all stores together, and whoever waits for it hears when
// there is room, in whatever way a job ends.
func TestBound(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	now := time.Now()
	o := postgres.Options{URL: url, Bounds: map[string]int{"p": 3}, Now: func() time.Time { return now }}
	a, b := open(t, o), open(t, o)
	ctx := t.Context()
	put(t, a, slicesOf(10, queue.Job{Pool: "p", TaskID: 7})...)
	put(t, a, slicesOf(10, queue.Job{Pool: "free"})...)
	take := func(db *postgres.DB, pool string, n int) []queue.Claim {
		t.Helper()
		claims, err := db.Take(ctx, pool, "w", n, time.Minute)
		require.NoError(t, err)
		return claims
	}
	require.Len(t, take(a, "free", 9), 9)
	first := take(a, "p", 2)
	require.Len(t, first, 2)
	require.Len(t, take(b, "p", 5), 1)
	require.Empty(t, take(a, "p", 1))

	room := b.Wake("p")
	for drained := false; !drained; { // of what was put
		select {
		case <-room:
		case <-time.After(200 * time.Millisecond):
			drained = true
		}
	}
	for _, o := range []queue.Outcome{{Kind: queue.OutcomeDone}, {Kind: queue.OutcomeRetry, At: now.Add(time.Hour)}} {
		require.NoError(t, a.Finish(ctx, first[0], o))
		select {
		case <-room:
		case <-time.After(20 * time.Second):
			require.Fail(t, "no hint of the room")
		}
		first = first[1:]
		require.Len(t, take(b, "p", 5), 1)
	}
	cancelled, err := a.Cancel(t.Context(), 7)
	require.NoError(t, err)
	require.Len(t, cancelled, 9)
	put(t, a, slicesOf(4, bare)...)
	require.Len(t, take(b, "p", 5), 3)
	now = now.Add(2 * time.Minute)
	reaped, err := a.Reap(ctx)
	require.NoError(t, err)
	require.Len(t, reaped, 12)
	require.Len(t, take(a, "p", 5), 3)
	agree(t, url)
}

// Many workers of several stores never exceed a bound, and all is done.
func TestBoundUnderLoad(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	const bound, jobs = 4, 400
	var dbs []*postgres.DB
	for range 3 {
		dbs = append(dbs, open(t, postgres.Options{URL: url, Bounds: map[string]int{"p": bound}}))
	}
	put(t, dbs[0], slicesOf(jobs, bare)...)
	ctx := bounded(t, dbs[0], 2*time.Minute)
	var running, most, done atomic.Int64
	var wg sync.WaitGroup
	for w := range 12 {
		wg.Go(func() {
			db := dbs[w%len(dbs)]
			for done.Load() < jobs && ctx.Err() == nil {
				claims, err := db.Take(t.Context(), "p", "w", 2, time.Minute)
				if !assert.NoError(t, err, "take") {
					return
				}
				for now := running.Add(int64(len(claims))); ; {
					if was := most.Load(); now <= was || most.CompareAndSwap(was, now) {
						break
					}
				}
				for _, c := range claims {
					running.Add(-1) // before: whoever is next may begin before we hear of it
					assert.NoError(t, db.Finish(t.Context(), c, success), "finish")
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(bound))
	require.EqualValues(t, jobs, done.Load())
	agree(t, url)
}

func slicesOf(n int, j queue.Job) []queue.Job {
	out := make([]queue.Job, n)
	for i := range out {
		out[i] = j
	}
	return out
}
