package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// Processes that start together make the tables once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := postgres.Open(t.Context(), postgres.Options{URL: url, AllowUnsafe: true})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if _, err := db.Put(t.Context(), queue.Job{Pool: "p"}); err != nil {
				t.Errorf("put: %v", err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	wg.Wait()
	jobs, err := open(t, postgres.Options{URL: url}).Jobs(t.Context(), queue.Filter{})
	require.NoError(t, err)
	require.Len(t, jobs, 8)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, pgtest.Options{})
	pool, err := pgxpool.New(t.Context(), s.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for want, o := range map[string]postgres.Options{
		"Options.URL is missing":            {},
		"both set":                          {URL: s.URL("postgres"), Pool: pool},
		"Options.Schema is \"Upper; drop\"": {URL: s.URL("postgres"), Schema: "Upper; drop"},
		"Options.URL is not a database URL": {URL: "postgres://u:secret@host:notaport/db"},
		"the server runs with fsync=off":    {URL: s.URL("postgres")},
		"does not exist":                    {URL: s.URL("nowhere"), AllowUnsafe: true},
	} {
		_, err := postgres.Open(t.Context(), o)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	db, err := postgres.Open(t.Context(), postgres.Options{Pool: pool, Schema: "other", AllowUnsafe: true})
	require.NoError(t, err)
	_, err = db.Put(t.Context(), queue.Job{Pool: "p"})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from other.jobs").Scan(&n), "the host's pool stays open")
	require.Equal(t, 1, n)
}

func TestDurableServerIsTaken(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), postgres.Options{URL: pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")})
	require.NoError(t, err)
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close())
}

func TestClosed(t *testing.T) {
	t.Parallel()
	db := open(t, postgres.Options{URL: pgtest.Open(t)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := db.Put(ctx, queue.Job{Pool: "p"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = db.Jobs(ctx, queue.Filter{})
	require.ErrorIs(t, err, context.Canceled)
	jobs, err := db.Jobs(t.Context(), queue.Filter{})
	require.NoError(t, err)
	require.Empty(t, jobs, "who gave up before his turn changes nothing")
	require.NoError(t, db.Close())
	require.NoError(t, db.Close(), "closing again is a success")
	require.ErrorIs(t, db.Ping(t.Context()), postgres.ErrClosed)
	_, err = db.Jobs(t.Context(), queue.Filter{})
	require.ErrorIs(t, err, postgres.ErrClosed)
	_, err = db.NewTaskID(t.Context())
	require.ErrorIs(t, err, postgres.ErrClosed)
}

// Texts that PostgreSQL cannot hold are made such that it can.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	db := open(t, postgres.Options{URL: pgtest.Open(t)})
	nasty := "a\x00b\xff\\'\";--"
	job := queue.Job{
		Pool: nasty, Kind: nasty, Key: nasty, Lane: nasty, Role: nasty, Holds: []string{nasty, `{"`, "", nasty}, DedupeKey: nasty, Payload: []byte(nasty), TaskID: 7,
	}
	ids, err := db.Put(t.Context(), job, job)
	require.NoError(t, err)
	require.Equal(t, ids[0], ids[1])
	require.NoError(t, db.Hold(t.Context(), queue.Hold{Subject: nasty, Name: nasty, Reason: nasty}))
	claims, err := db.Take(t.Context(), nasty, nasty, 1, time.Minute)
	require.NoError(t, err)
	require.Empty(t, claims)
	require.NoError(t, db.Free(t.Context(), queue.Hold{Subject: nasty, Name: nasty}))
	claims, err = db.Take(t.Context(), nasty, nasty, 1, time.Minute)
	require.NoError(t, err)
	require.Len(t, claims, 1)
	require.True(t, bytes.Equal(job.Payload, claims[0].Job.Payload), "bytes stay bytes")
	require.NoError(t, db.Finish(t.Context(), claims[0], queue.Outcome{Kind: queue.OutcomeDone, Error: nasty, Then: []queue.Job{job}}))
	k := orchestrator.Task{ID: 1, Title: nasty, Description: nasty, WorkItemID: nasty}
	require.NoError(t, db.Commit(t.Context(), orchestrator.Commit{Task: &k, Journal: []orchestrator.JournalEntry{{TaskID: 1}}}))
	got, err := db.Tasks(t.Context(), orchestrator.TaskFilter{WorkItemID: nasty})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "a\uFFFDb\uFFFD\\'\";--", got[0].Title)
}

// What one caller has wrong fails nobody else, though they share a transaction.
func TestBadNeighbour(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	db := open(t, postgres.Options{URL: url})
	long := make([]byte, 20_000) // more than an index takes
	_, err := rand.Read(long)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := db.Put(t.Context(), queue.Job{Pool: "p", Key: string(long)}); err == nil {
				t.Error("a key of 20 kB was taken")
			}
		})
		wg.Go(func() {
			if _, err := db.Put(t.Context(), queue.Job{Pool: "p"}); err != nil {
				t.Errorf("put: %v", err)
			}
		})
	}
	wg.Wait()
	claims, err := db.Take(t.Context(), "p", "w", 100, time.Minute)
	require.NoError(t, err)
	require.Len(t, claims, 20)
	agree(t, url)
}

// A store hears of work that another one puts.
func TestNotify(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	a, b := open(t, postgres.Options{URL: url}), open(t, postgres.Options{URL: url})
	hint := b.Wake("p")
	// A listener that connects hints everything, once; then only news does.
	for heard := 0; heard < 3; heard++ {
		_, err := a.Put(t.Context(), queue.Job{Pool: "p"})
		require.NoError(t, err)
		select {
		case <-hint:
		case <-time.After(20 * time.Second):
			require.Fail(t, "no hint")
		}
	}
}
