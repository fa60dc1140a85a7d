package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/internal/sqlstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// counting is the dialect on one connection, which counts the messages of a transaction, and
// the rows and the entries of indexes that the server reads.
type counting struct {
	dialect
	on   *pgx.Conn
	sent int
	read int64
}

// sending counts messages.
type sending struct {
	pgx.Tx
	sent *int
}

func (s sending) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	*s.sent++
	return s.Tx.SendBatch(ctx, b)
}

func (c *counting) Write(f func(sqlstore.Conn) error) error {
	return c.count(context.Background(), f)
}

func (c *counting) Read(ctx context.Context, _ bool, f func(sqlstore.Conn) error) error {
	return c.count(ctx, f)
}

func (c *counting) count(ctx context.Context, f func(sqlstore.Conn) error) error {
	return pgx.BeginFunc(ctx, c.on, func(t pgx.Tx) error {
		c.sent = 0
		to := &conn{ctx: ctx, db: c.db, to: sending{t, &c.sent}, batch: &pgx.Batch{}}
		if err := errors.Join(f(to), to.Flush()); err != nil {
			return err
		}
		return t.QueryRow(ctx, `select coalesce((select sum(seq_tup_read) from pg_stat_xact_user_tables), 0)
			+ coalesce((select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_stat_user_indexes), 0)`).Scan(&c.read)
	})
}

// planned has the server plan the statements while the tables are empty: it keeps its plans
// while they grow.
func planned(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	ctx := t.Context()
	_, err := s.Put(ctx, queue.Job{Pool: "p", Key: "a", DedupeKey: "d", TaskID: 5}, queue.Job{Pool: "p", Key: "a"}, queue.Job{Pool: "p", TaskID: 5})
	require.NoError(t, err)
	claims, err := s.Take(ctx, "p", "w", 1, time.Hour)
	require.NoError(t, err)
	require.NoError(t, s.Extend(ctx, claims[0], time.Hour))
	claims, err = s.FinishTake(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Hour)
	require.NoError(t, err)
	require.NoError(t, s.Commit(ctx, task.Commit{Claim: &claims[0], Task: &task.Task{ID: 5}, Line: &task.Line{}}))
	_, err = s.Reap(ctx)
	require.NoError(t, err)
	_, err = s.Receive(ctx, task.Delivery{Source: "s", ID: "0", BodyHash: "0", ReceivedAt: time.Now()}, queue.Job{Pool: "q"})
	require.NoError(t, err)
	_, err = s.Cancel(ctx, 5)
	require.NoError(t, err)
	require.NoError(t, s.Free(ctx, queue.Hold{Subject: "s", Name: "n"}))
}

// inside opens a store in a database of its own.
func inside(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.Context(), Options{URL: pgtest.Open(t), AllowUnsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// What is done with one task or one job reads its own rows, whatever else is unfinished,
// held or has ended.
func TestCallsReadTheirOwn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := inside(t)
	on, err := pgx.ConnectConfig(ctx, db.config)
	require.NoError(t, err)
	defer on.Close(context.WithoutCancel(ctx))
	_, err = on.PgConn().Exec(ctx, session).ReadAll()
	require.NoError(t, err)
	c := &counting{dialect: dialect{db}, on: on}
	s := sqlstore.New(ctx, sqlstore.Options{Driver: c, Now: time.Now, Log: db.log, LastJob: lastJob, NewTaskID: newTaskID})
	defer s.Close()
	planned(t, s)
	const others = 1000
	var holds []queue.Hold
	var jobs []queue.Job
	for i := range int64(others) {
		subject := fmt.Sprint("other/", i)
		holds = append(holds, queue.Hold{Subject: subject, Name: "gate", Reason: "another"})
		jobs = append(jobs, queue.Job{Pool: "p", TaskID: 10 + i, Key: subject, Holds: []string{"free/" + subject, subject}},
			queue.Job{Pool: "p", AvailableAt: time.Now().Add(time.Hour)}, queue.Job{Pool: "p", TaskID: 10 + i, Key: subject}, queue.Job{Pool: "ended"}, queue.Job{Pool: "running"})
		k := task.Task{ID: 10 + i, Repo: fmt.Sprint("r", i%3), WorkItemID: fmt.Sprint(i), TrackerIssueID: fmt.Sprint(i), Branch: fmt.Sprint(i)}
		if i%5 == 0 {
			require.NoError(t, db.Commit(ctx, task.Commit{Task: &k}))
		}
	}
	require.NoError(t, db.Hold(ctx, append(holds, queue.Hold{Subject: "t/mine", Name: "gate", Reason: "this"})...))
	_, err = db.Put(ctx, append(jobs, queue.Job{Pool: "p", TaskID: 1, Key: "mine", Holds: []string{"t/free", "t/mine"}})...)
	require.NoError(t, err)
	ended, err := db.Take(ctx, "ended", "w", others, time.Hour)
	require.NoError(t, err)
	for _, c := range ended {
		require.NoError(t, db.Finish(ctx, c, queue.Outcome{Kind: queue.OutcomeDone}))
	}
	_, err = db.Take(ctx, "running", "w", others, time.Hour)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the held ones are set aside, and their entries of the index are known to be dead
		none, err := s.Take(ctx, "p", "w", 1, time.Hour)
		require.NoError(t, err)
		require.Empty(t, none)
		return c.read < 100
	}, 20*time.Second, 20*time.Millisecond)
	_, err = on.Exec(ctx, "analyze")
	require.NoError(t, err)
	var claims []queue.Claim
	relay := func() (err error) {
		claims, err = s.FinishTake(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone}, "p", "w", 1, time.Hour)
		require.Len(t, claims, 1)
		return err
	}
	row := task.Task{ID: 1, WorkItemID: "mine", TrackerIssueID: "mine", Branch: "mine"}
	for _, step := range []struct {
		name string
		sent int // messages; the last one commits
		call func() error
	}{
		{"waiting", 2, func() error {
			waits, err := s.Waiting(ctx, queue.Filter{TaskID: 1})
			require.Len(t, waits, 1)
			require.Len(t, waits[0].Reasons, 1)
			require.Equal(t, "this (gate)", waits[0].Reasons[0].Text)
			return err
		}},
		{"the unfinished of a key", 1, func() error {
			found, err := s.Jobs(ctx, queue.Filter{Key: "mine", Open: true})
			require.Len(t, found, 1)
			return err
		}},
		{"a put", 2, func() error {
			_, err := s.Put(ctx, queue.Job{Pool: "p", Key: "a", DedupeKey: "d", Holds: []string{"x"}}, queue.Job{Pool: "p", Key: "a"}, queue.Job{Pool: "p"})
			return err
		}},
		{"a claim", 2, func() (err error) { claims, err = s.Take(ctx, "p", "w", 1, time.Hour); return err }},
		{"a heartbeat", 2, func() error { return s.Extend(ctx, claims[0], time.Hour) }},
		{"a relay to what it lets in", 3, relay},
		{"a relay", 2, relay},
		{"a commit", 2, func() error {
			return s.Commit(ctx, task.Commit{Claim: &claims[0], Task: &row, Line: &task.Line{Behind: 5}})
		}},
		{"the newest task of a card", 1, func() error {
			found, err := s.Tasks(ctx, task.Filter{TrackerIssueID: "mine", Cancelled: true, BeforeID: math.MaxInt64, Limit: 1})
			require.Len(t, found, 1)
			return err
		}},
		{"tasks of a repository", 1, func() error {
			_, err := s.Tasks(ctx, task.Filter{Repo: "mine", Live: true, BeforeID: math.MaxInt64, Limit: 1})
			return err
		}},
		{"a reaper", 1, func() error { _, err := s.Reap(ctx); return err }},
		{"a delivery", 2, func() error {
			_, err := s.Receive(ctx, task.Delivery{Source: "s", ID: "1", BodyHash: "h", ReceivedAt: time.Now()}, queue.Job{Pool: "q"})
			return err
		}},
		{"the failed", 1, func() error { _, err := s.Jobs(ctx, queue.Filter{Failed: true}); return err }},
		{"a cancellation", 4, func() error { _, err := s.Cancel(ctx, 1); return err }},
		{"an end of a hold", 1, func() error { return s.Free(ctx, queue.Hold{Subject: "t/mine", Name: "gate"}) }},
	} {
		require.NoError(t, step.call(), step.name)
		require.Less(t, c.read, int64(100), "rows and entries of indexes read: %s", step.name)
		require.Equal(t, step.sent, c.sent, "messages: %s", step.name)
	}
}

// A transaction whose answers cannot be read is undone, and its caller hears of it.
func TestAnswerThatCannotBeRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := inside(t)
	for _, unread := range []func(sqlstore.Rows) error{
		func(sqlstore.Rows) error { return errors.New("nobody can read this") },
		func(sqlstore.Rows) error { panic("nobody can read this") },
	} {
		times := 0
		require.ErrorContains(t, db.Alone(ctx, func(t *sqlstore.Tx) error {
			times++
			_, err := t.Put([]queue.Job{{Pool: "p"}})
			t.Queue(unread, "select 1")
			return err
		}), "nobody can read this")
		require.Equal(t, 1, times)
	}
	err := db.Alone(ctx, func(t *sqlstore.Tx) error {
		_, err := t.Put([]queue.Job{{Pool: "p"}})
		t.Queue(nil, "select $1::bigint", struct{}{})
		return err
	})
	var away *UnavailableError
	require.Error(t, err, "what cannot be sent is not tried again and again")
	require.False(t, errors.As(err, &away), "%v", err)
	jobs, err := db.Jobs(ctx, queue.Filter{})
	require.NoError(t, err)
	require.Empty(t, jobs)
}
