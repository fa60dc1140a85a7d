package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// rules are questions whose answer is "none" when the small tables agree with
// the jobs. They are asked in one snapshot.
var rules = map[string]string{
	"open_jobs are the unfinished jobs": `select id from ~job_states j full join ~open_jobs o on o.key = j.key and o.job_id = id
		where (j.status in ('queued', 'running')) is distinct from (o.job_id is not null)`,
	"open_jobs say what the jobs say": `select id from ~job_states j join ~open_jobs o on o.job_id = id where j.status = 'queued' and
		(o.pool, o.priority, o.available_at, o.attempt, o.holds) is distinct from (j.pool, j.priority, j.available_at, j.attempt, j.holds)`,
	"open_jobs know the dedupe keys": `select id from ~jobs j join ~open_jobs o on o.job_id = id where o.dedupe_key <> j.dedupe_key`,
	"one job of a key runs":          `select min(id) from ~job_states where status = 'running' and key <> '' group by key having count(*) > 1`,
	"no earlier job of a running one's key is unfinished": `select r.id from ~job_states r join ~job_states e on e.key = r.key and e.id < r.id
		where r.status = 'running' and r.key <> '' and e.status in ('queued', 'running')`,
	"a job that is first of its key is in one place, any other in none": `select o.job_id from ~open_jobs o
		left join (select job_id from ~ready union all select job_id from ~delayed union all select job_id from ~parked union all select job_id from ~running) p
			on p.job_id = o.job_id
		group by o.key, o.job_id having count(p.job_id) <>
			case when o.key <> '' and exists (select from ~open_jobs e where e.key = o.key and e.job_id < o.job_id) then 0 else 1 end`,
	"places are of unfinished jobs": `select p.job_id from (select job_id from ~ready union all select job_id from ~delayed union all select job_id from ~parked) p
		left join ~open_jobs o on o.job_id = p.job_id where o.job_id is null`,
	"parked jobs are held": `select job_id from ~parked p join ~jobs on id = job_id
		where not subject = any(holds) or not exists (select from ~holds h where h.subject = p.subject)`,
	"a token that was looked at is not held": `select job_id from ~ready join ~jobs on id = job_id
		where exists (select from ~holds h where h.subject = any(holds) and h.no <= checked)`,
	"tokens are as their jobs": `select r.job_id from ~ready r join ~open_jobs o on o.job_id = r.job_id
		where (r.pool, r.priority, r.attempt) is distinct from (o.pool, o.priority, o.attempt)`,
	"depth counts the unfinished jobs": `select coalesce(d.n, j.n) from (select * from ~depth where n <> 0) d
		full join (select pool, count(*) as n from ~job_states where status in ('queued', 'running') group by 1) j on d.pool = j.pool where d.n is distinct from j.n`,
}

// agree asks the rules.
func agree(t *testing.T, url string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer c.Close(t.Context())
	snap, err := c.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	for rule, query := range rules {
		rows, err := snap.Query(t.Context(), strings.ReplaceAll(query, "~", "signalbox."))
		require.NoError(t, err, rule)
		broken, err := pgx.CollectRows(rows, pgx.RowTo[*int64])
		require.NoError(t, err, rule)
		require.Empty(t, broken, rule)
	}
}
