package postgres

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// dueMax bounds how many delayed jobs one transaction looks at.
const dueMax = 1000

// token is a row of ready.
type token struct{ priority, id int64 }

func scanToken(row pgx.CollectableRow) (k token, err error) { return k, row.Scan(&k.priority, &k.id) }

// takeAll claims for every request, in the order in which they came.
func (t *tx) takeAll(batch []*request) error {
	wanted := map[string]int64{}
	for _, r := range batch {
		if r.claims = nil; r.take != nil && r.take.n > 0 {
			wanted[text(r.take.pool)] += int64(r.take.n)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	t.promote()
	tokens, err := t.tokens(wanted)
	if err != nil {
		return err
	}
	t.claim(batch, tokens)
	return nil
}

// tokens takes the first tokens of each pool: nobody else is at it.
func (t *tx) tokens(wanted map[string]int64) (map[string][]token, error) {
	taken := map[string]*[]token{}
	for pool, n := range wanted {
		taken[pool] = new([]token)
		later(t, taken[pool], scanToken, `with first as (select priority, job_id from ~ready where pool = $1 order by priority, job_id limit $2)
			delete from ~ready r using first f where r.pool = $1 and r.priority = f.priority and r.job_id = f.job_id
			returning r.priority, r.job_id`, pool, n)
	}
	err := t.flush()
	out := map[string][]token{}
	for pool, list := range taken {
		slices.SortFunc(*list, func(a, b token) int { return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.id, b.id)) })
		out[pool] = *list
	}
	return out, err
}

// claim deals the tokens out.
func (t *tx) claim(batch []*request, tokens map[string][]token) {
	var ids []int64
	var workers []string
	var leases []*time.Time
	for _, r := range batch {
		if r.take == nil {
			continue
		}
		pool := text(r.take.pool)
		n := min(r.take.n, len(tokens[pool]))
		for _, k := range tokens[pool][:n] {
			ids, workers, leases = append(ids, k.id), append(workers, r.take.worker), append(leases, when(t.now.Add(r.take.ttl)))
			t.owner[k.id] = r
		}
		tokens[pool] = tokens[pool][n:]
		t.count(pool, queue.Queued, -int64(n))
		t.count(pool, queue.Running, int64(n))
	}
	if len(ids) == 0 {
		return
	}
	t.exec(`update ~jobs j set status = 'running', attempt = attempt + 1, worker = u.w, started_at = $1, heartbeat_at = $1, lease_until = u.l
		from unnest($2::bigint[], $3::text[], $4::timestamptz[]) u(i, w, l) where j.id = u.i returning `+jobColumns, t.now, ids, workers, leases).
		Query(t.claimed)
	t.exec("insert into ~running (job_id, lease_until) select * from unnest($1::bigint[], $2::timestamptz[])", ids, leases)
}

// claimed hands the jobs to those who asked for them.
func (t *tx) claimed(rows pgx.Rows) error {
	jobs, err := pgx.CollectRows(rows, scanJob)
	slices.SortFunc(jobs, func(a, b queue.Job) int { return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID)) })
	for _, r := range t.owner {
		r.claims = nil
	}
	for _, j := range jobs {
		r := t.owner[j.ID]
		r.claims = append(r.claims, queue.Claim{Job: j})
	}
	return err
}
