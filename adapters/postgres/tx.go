package postgres

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
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
	wake  map[string]bool // pools that may have become claimable

	closed  bool // not begun: the turn is taken with the first statement
	whole   bool // one statement is all of it
	memory  *memory
	sole    bool             // nobody else has held the turn since this writer's last
	drawn   int64            // the last id of a job when the transaction began
	unsure  bool             // where new tokens lie
	holding bool             // something was held here
	unnamed map[string]bool  // dedupe keys of ends
	guessed bool             // dedupe keys were taken to be free
	low     map[string]token // by pool: the first token that may be made here
	depth   map[string]int64 // by pool: unfinished jobs that were added
	slots   []*request       // who gets the n-th claim
	told    []func()         // what the answers have told, to be taken over
	groups  []*group
	ends    []ending // claims that end for good with the next step
}

// make begins and does everything but the commit.
func (t *tx) make(batch []*request) error {
	if err := t.begin(); err != nil {
		return err
	}
	return t.all(batch)
}

// all does the requests, those of a kind as one.
func (t *tx) all(batch []*request) error {
	live := batch[:0:0]
	for _, r := range batch {
		if r.err, r.claims = r.ctx.Err(), nil; r.err == nil {
			live = append(live, r)
		}
	}
	then, err := t.endAll(live)
	if err != nil {
		return err
	}
	committed, err := t.commitAll(live)
	if err != nil {
		return err
	}
	if len(then) == 0 {
		then = committed
	} else {
		then = append(then, committed...)
	}
	if err := t.eachAlone(live); err != nil {
		return err
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

// eachAlone does the requests that have statements of their own. They find the
// claims that end here ended.
func (t *tx) eachAlone(live []*request) error {
	for _, r := range live {
		if r.alone == nil {
			continue
		}
		t.open()
		t.step(&group{}, false)
		err := r.alone(t)
		if t.broken(err) {
			return err
		}
		r.err = err
	}
	return nil
}

// broken reports an error that the whole transaction has, not one request.
func (t *tx) broken(err error) bool {
	return err != nil && (t.conn.IsClosed() || t.conn.PgConn().TxStatus() != 'T')
}

// deltas are the changes of the counters that were not stored yet.
func (t *tx) deltas() (pools []string, added []int64) {
	pools, added = []string{}, []int64{}
	for pool, n := range t.depth {
		if n != 0 {
			pools, added = append(pools, pool), append(added, n)
		}
	}
	clear(t.depth)
	return pools, added
}

// counted brings the counters up to date.
func (t *tx) counted() {
	if pools, added := t.deltas(); len(pools) > 0 {
		t.exec("insert into ~depth (pool, n) select * from unnest($1::text[], $2::bigint[])"+addDepth, pools, added)
	}
}

const addDepth = " on conflict (pool) do update set n = depth.n + excluded.n"

// count counts unfinished jobs.
func (t *tx) count(pool string, n int64) { t.depth[pool] += n }

// freed hints a pool whose bound may have kept somebody waiting.
func (t *tx) freed(pool string) {
	if _, bounded := t.db.bounds[pool]; bounded {
		t.wake[pool] = true
	}
}

// exec collects a statement.
func (t *tx) exec(query string, args ...any) *pgx.QueuedQuery {
	t.open()
	return t.batch.Queue(t.db.q(query), clean(args)...)
}

// flush sends what was collected, and reads the answers.
func (t *tx) flush() error {
	if t.batch.Len() == 0 {
		return nil
	}
	err := t.send().Close()
	t.takeOver()
	return err
}

// tell notes what an answer has told, until memory can be changed: answers are read
// while the next transaction is made.
func (t *tx) tell(f func()) { t.told = append(t.told, f) }

// takeOver changes memory as the answers have told.
func (t *tx) takeOver() {
	for _, f := range t.told {
		f()
	}
	t.told = nil
}

// send sends what was collected. The answers are there when they are closed.
func (t *tx) send() pgx.BatchResults {
	batch := t.batch
	t.batch = &pgx.Batch{}
	return t.conn.SendBatch(t.ctx, batch)
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
	u := stamp(t)
	return &u
}

// stamp is a time as it is read back.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
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
