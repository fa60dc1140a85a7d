package sqlite_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

func dsn(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// pair is two handles on one file, as two processes have them. Each call goes to
// the other one: what a handle remembers is never true for long.
type pair struct {
	dbs  [2]*sqlite.DB
	turn atomic.Int64
	stay atomic.Bool
}

func openPair(t *testing.T, now func() time.Time) *pair {
	t.Helper()
	p, path := &pair{}, filepath.Join(t.TempDir(), "x.db")
	for i := range p.dbs {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Now: now})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		p.dbs[i] = db
	}
	t.Cleanup(func() { agree(t, path) })
	return p
}

func (p *pair) next() *sqlite.DB {
	if p.stay.Load() {
		return p.dbs[0]
	}
	return p.dbs[p.turn.Add(1)%2]
}

func (p *pair) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	return p.next().Put(ctx, jobs...)
}

func (p *pair) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	return p.next().Take(ctx, pool, worker, n, ttl)
}

func (p *pair) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return p.next().Extend(ctx, c, ttl)
}

func (p *pair) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return p.next().Finish(ctx, c, o)
}

func (p *pair) FinishTake(ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	return p.next().FinishTake(ctx, c, o, pool, worker, n, ttl)
}

func (p *pair) Cancel(ctx context.Context, taskID int64, pools ...string) ([]queue.Job, error) {
	return p.next().Cancel(ctx, taskID, pools...)
}

func (p *pair) Reap(ctx context.Context) ([]queue.Job, error) { return p.next().Reap(ctx) }
func (p *pair) Hold(ctx context.Context, holds ...queue.Hold) error {
	return p.next().Hold(ctx, holds...)
}
func (p *pair) Free(ctx context.Context, holds ...queue.Hold) error {
	return p.next().Free(ctx, holds...)
}

func (p *pair) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	return p.next().Waiting(ctx, f)
}

func (p *pair) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	return p.next().Jobs(ctx, f)
}

func (p *pair) Holds(ctx context.Context) ([]queue.Hold, error)  { return p.next().Holds(ctx) }
func (p *pair) Depth(ctx context.Context) ([]queue.Depth, error) { return p.next().Depth(ctx) }

// Wake is of one handle: hints do not cross processes, so the test stays with it.
func (p *pair) Wake(pool string) <-chan struct{} {
	p.stay.Store(true)
	return p.dbs[0].Wake(pool)
}

// Two processes that work on one file in turns are like one.
func TestQueueConformanceOfTwo(t *testing.T) {
	queuetest.Run(t, func(t *testing.T, now func() time.Time) queuetest.Queue { return openPair(t, now) })
}

// Two handles take from one file at the same time.
func TestTwoHandles(t *testing.T) {
	t.Parallel()
	p := openPair(t, nil)
	batch := make([]queue.Job, 200)
	for i := range batch {
		batch[i] = queue.Job{Pool: "p"}
	}
	_, err := p.Put(t.Context(), batch...)
	require.NoError(t, err)
	var mu sync.Mutex
	seen := map[int64]int{}
	var wg sync.WaitGroup
	for _, db := range p.dbs {
		wg.Go(func() {
			for {
				claims, err := db.Take(t.Context(), "p", "w", 3, time.Minute)
				if err != nil || len(claims) == 0 {
					return
				}
				mu.Lock()
				for _, c := range claims {
					seen[c.Job.ID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, len(batch))
	for id, n := range seen {
		require.Equal(t, 1, n, "job %d", id)
	}
}

// A file of another layout is refused with what to do.
func TestLayout(t *testing.T) {
	t.Parallel()
	for layout, want := range map[string]string{
		"pragma user_version = 99":                                 "use the newer program",
		"create table jobs (id integer primary key)":               "use the older program",
		"create table other (id integer); pragma user_version = 1": "use the older program",
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		raw, err := sql.Open("sqlite", dsn(path))
		require.NoError(t, err)
		_, err = raw.ExecContext(t.Context(), layout)
		require.NoError(t, err)
		require.NoError(t, raw.Close())
		_, err = sqlite.Open(t.Context(), sqlite.Options{Path: path})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}
