package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
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
			if !assert.NoError(t, err, "open") {
				return
			}
			_, err = db.Put(t.Context(), bare)
			assert.NoError(t, err, "put")
			assert.NoError(t, db.Close(), "close")
		})
	}
	wg.Wait()
	require.Len(t, read(t, at(t, url).Jobs, queue.Filter{}), 8)
}

// What a newer program has added to the tables does not keep this one from
// working, so that replicas can be replaced one by one, and put back.
func TestNewerTables(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	require.NoError(t, at(t, url).Close())
	c := connect(t, url)
	rows, err := c.Query(t.Context(), "select tablename from pg_tables where schemaname = 'signalbox'")
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, tables, "jobs")
	for _, table := range tables {
		execute(t, c, "alter table signalbox."+table+" add column of_tomorrow bigint not null default 7")
	}
	execute(t, c, "insert into signalbox.migrations (version) values (9999)")
	works(t, at(t, url))
	agree(t, url)
}

// works takes a store through what a service does with it.
func works(t *testing.T, db *postgres.DB) {
	t.Helper()
	ctx := t.Context()
	id, err := db.NewTaskID(ctx)
	require.NoError(t, err)
	row := task.Task{ID: id, WorkItemID: "APP-1", TrackerProjectID: "p", TrackerIssueID: "i", Repo: "acme/app", Branch: "b", State: stage.State{Stage: stage.Analysis}}
	hold := queue.Hold{Subject: "s", Name: "n", Reason: "r"}
	require.NoError(t, db.Commit(ctx, task.Commit{
		Task: &row, Line: &task.Line{}, Hold: []queue.Hold{hold}, Jobs: []queue.Job{{Pool: "p", TaskID: id, Key: "k", DedupeKey: "d", Holds: []string{"s"}}},
		Journal: []task.JournalEntry{{TaskID: id, At: time.Now()}}, Gates: []task.GateResult{{TaskID: id, At: time.Now()}},
		Runs: []task.AgentRun{{TaskID: id, JobID: 1, Attempt: 1}},
	}))
	_, err = db.Receive(ctx, task.Delivery{Source: "s", ID: "1", BodyHash: "h", ReceivedAt: time.Now()}, queue.Job{Pool: "q", AvailableAt: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.NoError(t, db.SetDependencies(ctx, id, "db", []int64{id + 1}))
	require.NoError(t, db.Reserve(ctx, task.Reservation{JobID: 5, Attempt: 1}))
	require.NoError(t, db.Free(ctx, hold))
	claims := take(t, db, "p", 5)
	require.Len(t, claims, 1)
	require.NoError(t, db.Extend(ctx, claims[0], time.Minute))
	require.NoError(t, db.Finish(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: "p"}}}))
	lease, err := db.Leases().Acquire(ctx, "l", "me", time.Minute)
	require.NoError(t, err)
	require.NoError(t, db.Leases().Release(ctx, lease))
	require.Len(t, read(t, db.Waiting, queue.Filter{}), 2)
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
		"a bound is at least 1":             {URL: s.URL("postgres"), Bounds: map[string]int{"p": 0}},
		"the server runs with fsync=off":    {URL: s.URL("postgres")},
		"does not exist":                    {URL: s.URL("nowhere"), AllowUnsafe: true},
	} {
		_, err := postgres.Open(t.Context(), o)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
	db, err := postgres.Open(t.Context(), postgres.Options{Pool: pool, Schema: "other", AllowUnsafe: true})
	require.NoError(t, err)
	put(t, db, bare)
	require.NoError(t, db.Close())
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "select count(*) from other.jobs").Scan(&n), "the host's pool stays open")
	require.Equal(t, 1, n)
}

func TestClosed(t *testing.T) {
	t.Parallel()
	db := at(t, pgtest.Open(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := db.Put(ctx, bare)
	require.ErrorIs(t, err, context.Canceled)
	_, err = db.Jobs(ctx, queue.Filter{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, read(t, db.Jobs, queue.Filter{}), "who gave up before his turn changes nothing")
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
	db := at(t, pgtest.Open(t))
	nasty := "a\x00b\xff\\'\";--"
	job := queue.Job{
		Pool: nasty, Kind: nasty, Key: nasty, Lane: nasty, Role: nasty, Holds: []string{nasty, `{"`, "", nasty}, DedupeKey: nasty, Payload: []byte(nasty), TaskID: 7,
	}
	ids := put(t, db, job, job)
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
	k := task.Task{ID: 1, Title: nasty, Description: nasty, WorkItemID: nasty}
	require.NoError(t, db.Commit(t.Context(), task.Commit{Task: &k, Journal: []task.JournalEntry{{TaskID: 1}}}))
	got := read(t, db.Tasks, task.Filter{WorkItemID: nasty})
	require.Len(t, got, 1)
	require.Equal(t, "a\uFFFDb\uFFFD\\'\";--", got[0].Title)
}

// What one caller has wrong fails nobody else, though they share a transaction.
func TestBadNeighbour(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
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
			_, err := db.Put(t.Context(), bare)
			assert.NoError(t, err, "put")
		})
	}
	wg.Wait()
	claims := take(t, db, "p", 100)
	require.Len(t, claims, 20)
	agree(t, url)
}

// A store hears of work that another one puts.
func TestNotify(t *testing.T) {
	t.Parallel()
	url := pgtest.Open(t)
	a, b := at(t, url), at(t, url)
	hint := b.Wake("p")
	// A listener that connects hints everything, once; then only news does.
	for range 3 {
		put(t, a, bare)
		select {
		case <-hint:
		case <-time.After(20 * time.Second):
			require.Fail(t, "no hint")
		}
	}
}

// A restore that was killed once it had put the schema aside leaves no room for an empty one.
func TestSchemaThatWasPutAside(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	put(t, db, queue.Job{Pool: "p"})
	require.NoError(t, db.Close())
	const aside = "signalbox_before_20261130T000000Z"
	_, err := postgres.RenameSchema(t.Context(), url, "signalbox", aside)
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), postgres.Options{URL: url, AllowUnsafe: true})
	require.ErrorContains(t, err, aside)
}
