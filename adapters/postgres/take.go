package postgres

import (
	"cmp"
	"context"
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
// given slots, and the n-th job of a pool goes to the n-th slot.
func (t *tx) takeAll(batch []*request) {
	byPool := map[string][]*taking{}
	owners := map[string][]*request{}
	for _, r := range batch {
		if r.take == nil {
			continue
		}
		pool := text(r.take.pool)
		for range min(r.take.n, takeMax) {
			byPool[pool], owners[pool] = append(byPool[pool], r.take), append(owners[pool], r)
		}
	}
	if len(byPool) == 0 {
		return
	}
	t.promote()
	for pool, wanted := range byPool {
		offset := len(t.slots)
		t.slots = append(t.slots, owners[pool]...)
		t.takeFrom(pool, wanted, offset)
	}
}

// takeFrom takes the first tokens of a pool: nobody else is at it.
func (t *tx) takeFrom(pool string, wanted []*taking, offset int) {
	workers, leases := make([]string, len(wanted)), make([]*time.Time, len(wanted))
	for i, k := range wanted {
		workers[i], leases[i] = k.worker, when(t.now.Add(k.ttl))
	}
	t.exec(`with first as materialized (
			select priority, job_id, row_number() over (order by priority, job_id) as n
			from (select priority, job_id from ~ready where pool = $1 order by priority, job_id limit greatest(0, least($2::bigint,
				$9::bigint - coalesce((select n from ~depth where pool = $1 and status = 'running'), 0)))) q
		), taken as (
			delete from ~ready r using first f where r.pool = $1 and r.priority = f.priority and r.job_id = f.job_id returning f.job_id, f.n
		), claimed as (
			update ~jobs j set status = 'running', attempt = attempt + 1, worker = ($3::text[])[t.n], started_at = $4, heartbeat_at = $4,
				lease_until = ($5::timestamptz[])[t.n] from taken t where j.id = t.job_id returning j.*, $8::bigint + t.n as slot
		), ran as (
			insert into ~running (job_id, lease_until, writer, seq, slot) select id, lease_until, $6, $7, slot from claimed
		), counted as (
			insert into ~depth (pool, status, n) select $1, s.status, s.sign * c.n
				from (select count(*) as n from claimed) c cross join (values ('queued', -1), ('running', 1)) s(status, sign) where c.n > 0`+addDepth+`
		)
		select `+jobColumns+`, slot from claimed`,
		pool, int64(len(wanted)), workers, t.now, leases, t.db.me, t.seq, int64(offset), t.room(pool)).Query(t.claimed)
}

// room is how many jobs of a pool may run, less what is not counted yet; nil for
// a pool without a bound.
func (t *tx) room(pool string) *int64 {
	bound, bounded := t.db.bounds[pool]
	if !bounded {
		return nil
	}
	n := int64(bound) - t.depth[queue.Depth{Pool: pool, Status: queue.Running}]
	return &n
}

// promote places jobs whose time has come.
func (t *tx) promote() {
	t.placeFrom(`due as (delete from ~delayed d
		using (select available_at, job_id from ~delayed where available_at <= $1 order by available_at, job_id limit $2) f
		where d.available_at = f.available_at and d.job_id = f.job_id returning d.job_id as id),`, "select id from due", t.now, int64(dueMax))
}

// slotted is a claimed job and the slot that it goes to, counted from 1.
type slotted struct {
	job  queue.Job
	slot int64
}

func scanSlotted(row pgx.CollectableRow) (s slotted, err error) {
	s.job, err = scanJobAnd(row, &s.slot)
	return s, err
}

// claimed hands jobs to those who asked for them.
func (t *tx) claimed(rows pgx.Rows) error {
	jobs, err := pgx.CollectRows(rows, scanSlotted)
	slices.SortFunc(jobs, func(a, b slotted) int { return cmp.Compare(a.slot, b.slot) })
	for _, s := range jobs {
		r := t.slots[s.slot-1]
		r.claims = append(r.claims, queue.Claim{Job: s.job})
	}
	return err
}

// answers reads again what a transaction said whose answer was lost.
func (t *tx) answers(ctx context.Context, snap pgx.Tx) error {
	for _, r := range t.slots {
		r.claims = nil
	}
	rows, err := snap.Query(ctx, t.db.q("select "+jobColumns+`, slot from ~jobs join
		(select job_id, slot from ~running where writer = $1 and seq = $2) r on r.job_id = id`), t.db.me, t.seq)
	if err != nil {
		return err
	}
	if err := t.claimed(rows); err != nil {
		return err
	}
	return t.endings(ctx, snap)
}
