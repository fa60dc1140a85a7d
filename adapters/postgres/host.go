package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/internal/sqlstore"
	"github.com/signalbox-dev/signalbox/queue"
)

// Host is the store inside a transaction of the host program.
type Host struct {
	db *DB
	tx pgx.Tx
}

// WithTx lets a host program put jobs in its own transaction, on the same database.
func (d *DB) WithTx(tx pgx.Tx) *Host { return &Host{d, tx} }

// Put leaves jobs in the host's transaction: they are nowhere when it rolls back. A
// moment after it commits an open store of the schema moves them into the queue, in
// this order, where they get their ids, and where those are left out whose dedupe key
// an unfinished job has. Nobody waits for the host, however long its transaction
// takes. Jobs of several transactions are in no order that is promised.
func (h *Host) Put(ctx context.Context, jobs ...queue.Job) error {
	if len(jobs) == 0 {
		return nil
	}
	bodies := make([][]byte, len(jobs))
	for i, j := range jobs {
		if n := max(len(j.Pool), len(j.Key), len(j.DedupeKey)); n > indexMax {
			return fmt.Errorf("postgres: job %d: its pool, key or dedupe key has %d bytes, want at most %d", i, n, indexMax)
		}
		body, err := json.Marshal(j)
		if err != nil {
			return fmt.Errorf("postgres: job %d: %w", i, err)
		}
		bodies[i] = body
	}
	insert := h.db.q("insert into ~inbox (job) select b from unnest($1::bytea[]) with ordinality u(b, n) order by n")
	if _, err := h.tx.Exec(ctx, insert, bodies); err != nil {
		return wrap(err)
	}
	_, err := h.tx.Exec(ctx, "select pg_notify($1, $2)", h.db.schema, "host "+inboxHint) // delivered when the host commits
	return wrap(err)
}

// indexMax bounds what the indexes of jobs have, in bytes: PostgreSQL takes 2704, and cleaning may make three of one. The queue would
// refuse it when the host's transaction has ended, and all jobs behind it would wait.
const indexMax = 800

const (
	inboxHint = "/inbox"        // in the place of a pool's name
	inboxPoll = 5 * time.Second // without a hint
	inboxMax  = 500             // jobs that are moved in one transaction
)

// moving moves what hosts have committed into the queue, until the store is closed.
func (d *DB) moving(ctx context.Context) {
	wake := d.Wake(inboxHint)
	for ctx.Err() == nil {
		moved, err := d.move(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.Warn("jobs of host programs could not be moved into the queue", "err", err)
		}
		if moved == inboxMax {
			continue
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-time.After(inboxPoll):
		}
	}
}

// move moves the first jobs and returns how many there were. The turn is taken only
// when there are some.
func (d *DB) move(ctx context.Context) (moved int, err error) {
	var some bool
	if err := d.pool.QueryRow(ctx, d.q("select exists (select from ~inbox)")).Scan(&some); err != nil || !some {
		return 0, wrap(err)
	}
	err = d.Alone(ctx, func(t *sqlstore.Tx) error {
		var ids []int64
		var jobs []queue.Job
		t.Queue(func(rows sqlstore.Rows) error {
			for rows.Next() {
				var id int64
				var body []byte
				if err := rows.Scan(&id, &body); err != nil {
					return err
				}
				var j queue.Job
				if err := json.Unmarshal(body, &j); err != nil {
					return fmt.Errorf("row %d of inbox: %w", id, err)
				}
				ids, jobs = append(ids, id), append(jobs, j)
			}
			return nil
		}, "select id, job from ~inbox order by id limit $1", int64(inboxMax))
		if err := t.Flush(); err != nil || len(ids) == 0 {
			return err
		}
		if _, err := t.Put(jobs); err != nil {
			return err
		}
		t.Queue(nil, "delete from ~inbox where id = any($1)", ids)
		moved = len(ids)
		return nil
	})
	return moved, err
}
