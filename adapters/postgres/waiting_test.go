package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
	"github.com/signalbox-dev/signalbox/queue"
)

// What is asked of one task reads its own jobs and holds, whatever else is unfinished
// and held.
func TestQuestionsOfATaskReadItsOwn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := Open(ctx, Options{URL: pgtest.Open(t), AllowUnsafe: true})
	require.NoError(t, err)
	defer db.Close()
	const others = 1000
	var holds []queue.Hold
	var jobs []queue.Job
	for i := range int64(others) {
		subject := fmt.Sprint("other/", i)
		holds = append(holds, queue.Hold{Subject: subject, Name: "gate", Reason: "another"})
		jobs = append(jobs, queue.Job{Pool: "p", TaskID: 10 + i, Key: subject, Holds: []string{"free/" + subject, subject}})
	}
	require.NoError(t, db.Hold(ctx, append(holds, queue.Hold{Subject: "t/mine", Name: "gate", Reason: "this"})...))
	_, err = db.Put(ctx, append(jobs, queue.Job{Pool: "p", TaskID: 1, Key: "mine", Holds: []string{"t/free", "t/mine"}})...)
	require.NoError(t, err)
	_, err = db.pool.Exec(ctx, "analyze")
	require.NoError(t, err)
	for name, ask := range map[string]func(pgx.Tx) error{
		"waiting": func(tx pgx.Tx) error {
			waits, err := db.waiting(ctx, tx, queue.Filter{TaskID: 1})
			require.Len(t, waits, 1)
			require.Len(t, waits[0].Reasons, 1)
			require.Equal(t, "this (gate)", waits[0].Reasons[0].Text)
			return err
		},
		"the unfinished of a key": func(tx pgx.Tx) error {
			where, args := filter(queue.Filter{Key: "mine", Open: true})
			found, err := collect(ctx, db, tx, scanJob, "select "+jobColumns+" from ~job_states j where "+where+" order by id limit $1", args...)
			require.Len(t, found, 1)
			return err
		},
		"the subject that is held": func(tx pgx.Tx) error {
			var subject string
			err := tx.QueryRow(ctx, db.q("select "+heldSubject+" from (select $3::text[] as holds where $1::bigint = 0) n"), 0, 1, []string{"t/free", "t/mine"}).Scan(&subject)
			require.Equal(t, "t/mine", subject)
			return err
		},
	} {
		tx, err := db.pool.Begin(ctx)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(ctx) }() // before the store is closed
		require.NoError(t, ask(tx), name)
		var read int64
		require.NoError(t, tx.QueryRow(ctx, `select (select sum(seq_tup_read) from pg_stat_xact_user_tables)
			+ (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_stat_user_indexes)`).Scan(&read))
		require.Less(t, read, int64(100), "rows and entries of indexes read: %s", name)
	}
}
