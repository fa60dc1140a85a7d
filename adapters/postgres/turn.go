package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// begin takes the turn; every later statement sees what the others committed. A
// writer that has been alone takes it unseen, with its first statement, so that a
// whole transaction is one message: if somebody else has held the turn since, the
// transaction ends there and is made again. Otherwise begin looks first.
func (t *tx) begin() error {
	if t.db.writer.alone() {
		t.closed, t.sole, t.drawn = true, true, t.memory.ids
		return nil
	}
	t.batch.Queue("begin")
	return t.look(numberQuery, t.db.me, t.seq, false)
}

// open begins a transaction whose turn is taken unseen.
func (t *tx) open() {
	if t.closed {
		t.closed = false
		t.batch.Queue("begin")
		t.exec(numberQuery, t.db.me, t.seq, true)
	}
}

// end leaves behind who held the turn and the last id that was drawn, and commits.
// It reports whether there is anything to commit.
func (t *tx) end() bool {
	switch {
	case t.closed:
		return false
	case t.whole:
		return true
	}
	t.counted()
	t.tidy()
	if !t.sole || t.memory.ids != t.drawn {
		t.exec("update ~turn set last = $1, ids = $2", t.db.me, t.memory.ids)
	}
	t.batch.Queue("commit")
	return true
}

// look takes the turn by a statement, and forgets what is not known any more.
func (t *tx) look(query string, args ...any) error {
	type holder struct {
		Last *string
		IDs  int64
	}
	was, err := rows(t, pgx.RowToStructByPos[holder], query, args...)
	if err != nil {
		return err
	}
	if t.sole = len(was) == 1 && was[0].Last != nil && *was[0].Last == t.db.me; !t.sole {
		t.memory.doubt()
	}
	if len(was) == 1 {
		t.memory.ids = was[0].IDs
	}
	t.drawn = t.memory.ids
	return nil
}

// numberQuery takes the turn and leaves the number of a transaction behind. It
// fails (by a division by zero) when a higher one is there: the writer has given
// that transaction up. With $3 it fails when another writer has held the turn.
const numberQuery = `with turn as materialized (select last, ids from ~turn for no key update), mine as (
		insert into ~writers as w (writer, seq, at) select $1, $2, now() from turn
		on conflict (writer) do update set seq = excluded.seq / (excluded.seq > w.seq)::int, at = excluded.at
	)
	select last::text, case when $3::boolean and last is distinct from $1 then ~stale() else ids end from turn`

// aloneAfter is how many turns in a row without another writer are needed until
// one is taken unseen, once others have been met.
const aloneAfter = 16

// alone reports whether nobody else seems to write.
func (w *writer) alone() bool { return w.sole > w.wary }

// overtaken reports that a turn was taken unseen and should not have been.
func overtaken(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "SB001"
}

// carefulFor is for how many transactions dedupe keys are looked up after one that
// took one to be free which was not.
const carefulFor = 64

// misguessed reports that a dedupe key was taken to be free and is not.
func (t *tx) misguessed(err error) bool {
	var pg *pgconn.PgError
	return t.guessed && errors.As(err, &pg) && pg.Code == "23505" && pg.ConstraintName == "open_jobs_dedupe"
}

// look tells whether a transaction was committed, and reads its answers. Taking
// the turn waits until the server has ended it, one way or the other; one that it
// has not begun, because it is still on its way, is barred by a higher number.
func (d *DB) look(ctx context.Context, lost *tx) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptMax)
	defer cancel()
	if err := d.connect(ctx); err != nil {
		return false, err
	}
	err = pgx.BeginFunc(ctx, d.writer.conn, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, d.q("select from ~turn for no key update")); err != nil {
			return err
		}
		var last int64
		if err := t.QueryRow(ctx, d.q("select coalesce(max(seq), 0) from ~writers where writer = $1"), d.me).Scan(&last); err != nil {
			return err
		}
		if committed = last == lost.seq; committed {
			return lost.answers(ctx, t)
		}
		d.writer.seq++
		_, err := t.Exec(ctx, d.q(numberQuery), d.me, d.writer.seq, false)
		return err
	})
	if standby(err) {
		d.disconnect()
	}
	return committed, err
}
