package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

const (
	dueMax  = 1000 // how many delayed jobs one transaction looks at
	takeMax = 5000 // how many claims one Take is given
)

// takeAll claims for every request, in the order in which they came: each is
// given slots. What ends in this transaction ends with the first group.
func (t *tx) takeAll(batch []*request) {
	type of struct {
		pool, worker string
		ttl          time.Duration
	}
	var order []of
	takers := map[of][]*request{}
	for _, r := range batch {
		if r.take == nil || r.take.n == 0 || r.err != nil && !errors.Is(r.err, queue.ErrLost) {
			continue
		}
		k := of{text(r.take.pool), text(r.take.worker), r.take.ttl}
		if takers[k] == nil {
			order = append(order, k)
		}
		takers[k] = append(takers[k], r)
	}
	if len(order) == 0 {
		t.step(&group{}, true)
		return
	}
	t.promote()
	for i, k := range order {
		g := &group{pool: k.pool, worker: k.worker, ttl: k.ttl, first: len(t.slots)}
		for _, r := range takers[k] {
			for range min(r.take.n, takeMax) {
				t.slots = append(t.slots, r)
			}
		}
		g.n = len(t.slots) - g.first
		t.groups = append(t.groups, g)
		t.step(g, i == len(order)-1)
	}
}

// again returns the requests that got too few because tokens turned out to be
// held: there may be more behind them.
func (t *tx) again() (out []*request) {
	for _, g := range t.groups {
		if g.parked == 0 {
			continue
		}
		for _, r := range slices.Compact(slices.Clone(t.slots[g.first : g.first+g.n])) {
			if left := min(r.take.n, takeMax) - len(r.claims); left > 0 {
				r.take.n, r.finish, r.commit, r.alone, r.had, r.lost = left, nil, nil, nil, append(r.had, r.claims...), cmp.Or(r.lost, r.err)
				out = append(out, r)
			}
		}
	}
	return out
}

// bound is how many jobs of a pool may run besides those that end; n for a pool
// without a bound.
func (d *DB) bound(pool string, n int, ending int64) (room int64, bound bool) {
	if most, bound := d.bounds[pool]; bound {
		return int64(most) + ending, true
	}
	return int64(n), false
}

// promote places jobs whose time has come, if there may be any.
func (t *tx) promote() {
	m := t.memory
	if m.dueSet && m.due.After(t.now) {
		return
	}
	t.placeFrom(`due as (delete from ~delayed d
		using (select available_at, job_id from ~delayed where available_at <= $1 order by available_at, job_id limit $3) f
		where d.available_at = f.available_at and d.job_id = f.job_id returning d.key, d.job_id),`, "select key, job_id from due", int64(dueMax))
	t.exec("select min(available_at) from ~delayed").QueryRow(func(row pgx.Row) error {
		var next *time.Time
		if err := row.Scan(&next); err != nil {
			return err
		}
		t.tell(func() {
			m.dueSet = true
			if m.due = t.now.Add(24 * time.Hour); next != nil && next.Before(m.due) {
				m.due = *next
			}
		})
		return nil
	})
}

// askHeld asks for the newest hold, if it is not known.
func (t *tx) askHeld() {
	if t.memory.hold != unknown {
		return
	}
	t.exec("select coalesce(max(no), 0) from ~holds").QueryRow(func(row pgx.Row) error {
		var newest int64
		if err := row.Scan(&newest); err != nil {
			return err
		}
		t.tell(func() {
			if !t.holding {
				t.memory.hold = newest
			}
		})
		return nil
	})
}

// slotted is a claimed job and the slot that it goes to, counted from 1.
type slotted struct {
	job  queue.Job
	slot int64
}

// answers reads again what a transaction said whose answer was lost.
func (t *tx) answers(ctx context.Context, snap pgx.Tx) error {
	for _, r := range t.slots {
		r.claims = nil
	}
	rows, err := snap.Query(ctx, t.db.q("select "+jobColumns+`, slot from ~job_states join
		(select c.id as job_id, b.slot + c.n as slot from ~claims b cross join lateral unnest(b.ids) with ordinality c(id, n) where b.writer = $1 and b.seq = $2) r
		on r.job_id = id`), t.db.me, t.seq)
	if err != nil {
		return err
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s slotted, err error) {
		s.job, err = scanJobAnd(row, &s.slot)
		return s, err
	})
	slices.SortFunc(jobs, func(a, b slotted) int { return cmp.Compare(a.slot, b.slot) })
	for _, s := range jobs {
		r := t.slots[s.slot-1]
		r.claims = append(r.claims, queue.Claim{Job: s.job})
		t.memory.claim(s.job)
	}
	return err
}
