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
	"open_jobs are the unfinished jobs": `select id from ~jobs full join ~open_jobs on id = job_id
		where (status in ('queued', 'running')) is distinct from (job_id is not null)`,
	"running are the running jobs": `select id from ~jobs full join ~running on id = job_id
		where (status = 'running') is distinct from (job_id is not null)`,
	"keyed are the unfinished jobs with a key": `select id from ~jobs j full join ~keyed k on j.id = k.job_id and j.key = k.key
		where (status in ('queued', 'running') and j.key <> '') is distinct from (job_id is not null)`,
	"dedupe are the unfinished jobs with a dedupe key": `select id from ~jobs j full join ~dedupe d on j.id = d.job_id and j.dedupe_key = d.key
		where (status in ('queued', 'running') and j.dedupe_key <> '') is distinct from (job_id is not null)`,
	"a subject is listed for every unfinished job that names it": `select j.id from
		(select distinct id, unnest(holds) as subject from ~jobs where status in ('queued', 'running')) j
		full join ~job_subjects s on s.job_id = j.id and s.subject = j.subject where j.id is null or s.job_id is null`,
	"one job of a key runs": `select min(id) from ~jobs where status = 'running' and key <> '' group by key having count(*) > 1`,
	"no earlier job of a running one's key is unfinished": `select r.id from ~jobs r join ~jobs e on e.key = r.key and e.id < r.id
		where r.status = 'running' and r.key <> '' and e.status in ('queued', 'running')`,
	"ready are the claimable jobs": `select id from ~ready full join (
			select id from ~jobs j left join ~delayed d on d.job_id = j.id where status = 'queued' and d.job_id is null
			and not exists (select 1 from ~keyed k where j.key <> '' and k.key = j.key and k.job_id < j.id)
			and not exists (select 1 from ~holds h where h.subject = any(j.holds))
		) claimable on id = job_id where id is null or job_id is null`,
	"depth counts the unfinished jobs": `select coalesce(d.n, j.n) from (select * from ~depth where status in ('queued', 'running') and n <> 0) d
		full join (select pool, status, count(*) as n from ~jobs where status in ('queued', 'running') group by 1, 2) j
		on d.pool = j.pool and d.status = j.status where d.n is distinct from j.n`,
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
