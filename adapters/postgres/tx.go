package postgres

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// tx is a transaction of the writer. Statements that only change something are
// collected and sent together with the next one that asks: a round trip costs
// more than most statements.
type tx struct {
	ctx   context.Context
	db    *DB
	conn  *pgx.Conn
	now   time.Time
	seq   int64 // its number among those of this writer
	batch *pgx.Batch
	wake  map[string]bool       // pools that may have become claimable
	depth map[queue.Depth]int64 // by pool and status: what was added
	slots []*request            // who gets the n-th claim
	ends  []ending              // claims that end here, if they are held
}

// begin takes the turn. Every later statement sees what the others committed.
func (t *tx) begin() {
	t.exec("begin")
	t.exec(numberQuery, t.db.me, t.seq)
}

// numberQuery takes the turn and leaves the number of a transaction behind. It
// fails (by a division by zero) when a higher one is there: the writer has given
// that transaction up.
const numberQuery = `with turn as materialized (select one from ~turn for no key update)
	insert into ~writers as w (writer, seq, at) select $1, $2, now() from turn
	on conflict (writer) do update set seq = excluded.seq / (excluded.seq > w.seq)::int, at = excluded.at`

// all does the requests, those of a kind as one.
func (t *tx) all(batch []*request) error {
	live := batch[:0:0]
	for _, r := range batch {
		if r.err, r.claims = r.ctx.Err(), nil; r.err == nil {
			live = append(live, r)
		}
	}
	if err := t.extendAll(live); err != nil {
		return err
	}
	then, err := t.finishAll(t.endAll(live))
	if err != nil {
		return err
	}
	for _, r := range live {
		if r.alone != nil {
			if err := r.alone(t); t.broken(err) {
				return err
			} else {
				r.err = err
			}
		}
	}
	received, err := t.receiveAll(live)
	if err != nil {
		return err
	}
	if err := t.putEach(append(then, received...), live); err != nil {
		return err
	}
	t.takeAll(live)
	return nil
}

// broken reports an error that the whole transaction has, not one request.
func (t *tx) broken(err error) bool {
	return err != nil && (t.conn.IsClosed() || t.conn.PgConn().TxStatus() != 'T')
}

// counted brings the counters up to date.
func (t *tx) counted() {
	var pools, statuses []string
	var added []int64
	for k, n := range t.depth {
		if n != 0 {
			pools, statuses, added = append(pools, k.Pool), append(statuses, string(k.Status)), append(added, n)
		}
	}
	if len(pools) > 0 {
		t.exec("insert into ~depth (pool, status, n) select * from unnest($1::text[], $2::text[], $3::bigint[])"+addDepth, pools, statuses, added)
	}
}

const addDepth = " on conflict (pool, status) do update set n = depth.n + excluded.n"

func (t *tx) count(pool string, s queue.Status, n int64) {
	t.depth[queue.Depth{Pool: pool, Status: s}] += n
	if s == queue.Running && n < 0 {
		t.freed(pool)
	}
}

// freed hints a pool whose bound may have kept somebody waiting.
func (t *tx) freed(pool string) {
	if _, bounded := t.db.bounds[pool]; bounded {
		t.wake[pool] = true
	}
}

// exec collects a statement.
func (t *tx) exec(query string, args ...any) *pgx.QueuedQuery {
	return t.batch.Queue(t.db.q(query), clean(args)...)
}

// flush sends what was collected.
func (t *tx) flush() error {
	if t.batch.Len() == 0 {
		return nil
	}
	batch := t.batch
	t.batch = &pgx.Batch{}
	return t.conn.SendBatch(t.ctx, batch).Close()
}

// later collects a statement whose rows arrive with the next flush.
func later[T any](t *tx, out *[]T, scan pgx.RowToFunc[T], query string, args ...any) {
	t.exec(query, args...).Query(func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, scan)
		return err
	})
}

// rows asks now.
func rows[T any](t *tx, scan pgx.RowToFunc[T], query string, args ...any) (out []T, err error) {
	later(t, &out, scan, query, args...)
	return out, t.flush()
}

// clean makes texts that PostgreSQL can hold: it knows no NUL and only UTF-8.
func clean(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = text(v)
		case []string:
			args[i] = texts(v)
		}
	}
	return args
}

func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func texts(list []string) []string {
	out := make([]string, len(list)) // never nil: that would be null
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

// when is a time as it is stored: null for none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Microsecond)
	return &u
}

// times reads stored times into their places.
func times(stored []*time.Time, to ...*time.Time) {
	for i, t := range to {
		if *t = (time.Time{}); stored[i] != nil {
			*t = stored[i].UTC()
		}
	}
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // our own types always encode
		return "null"
	}
	return string(b)
}
