package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// Host is the store inside a transaction of the host program.
type Host struct {
	db *DB
	tx pgx.Tx
}

// WithTx lets a host program put jobs in its own transaction, on the same
// database and READ COMMITTED: they are there when it commits.
func (d *DB) WithTx(tx pgx.Tx) *Host { return &Host{d, tx} }

var errIsolation = errors.New("postgres: WithTx needs a transaction that is READ COMMITTED: any other cannot see what was put while it waited")

// Put is queue.Queue's, in the host's transaction. From here to its end nobody
// else writes to the store: put last, and commit soon. What fails, a deadlock
// too, fails the transaction and is the host's to repeat.
func (h *Host) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	if len(jobs) == 0 {
		return []int64{}, nil
	}
	t := h.db.newTx(ctx, h.tx.Conn(), newMemory())
	var level []string
	later(t, &level, pgx.RowTo[string], "select current_setting('transaction_isolation')")
	if err := t.look("select last::text, ids from ~turn for no key update"); err != nil {
		return nil, wrap(err)
	}
	if len(level) != 1 || level[0] != "read committed" {
		return nil, errIsolation
	}
	t.sole = false // a host is no writer that is remembered
	ids, err := t.put(jobs)
	if err != nil {
		return nil, wrap(err)
	}
	t.counted()
	t.exec("update ~turn set last = null, ids = $1", t.memory.ids)
	if err := t.flush(); err != nil {
		return nil, wrap(err)
	}
	for pool := range t.wake {
		if len(pool) < noteMax {
			t.exec("select pg_notify($1, $2)", h.db.schema, "host "+pool) // delivered when the host commits
		}
	}
	if err := t.flush(); err != nil {
		return nil, wrap(err)
	}
	return ids, nil
}

// newTx is a transaction on a connection.
func (d *DB) newTx(ctx context.Context, conn *pgx.Conn, m *memory) *tx {
	return &tx{
		ctx: ctx, db: d, conn: conn, now: d.now().UTC().Truncate(time.Microsecond), batch: &pgx.Batch{},
		wake: map[string]bool{}, depth: map[string]int64{}, low: map[string]token{}, unnamed: map[string]bool{}, memory: m,
	}
}
