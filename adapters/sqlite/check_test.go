package sqlite_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
)

// rules are questions whose answer is "none" when the small tables agree with the
// jobs. They are asked in one snapshot.
var rules = map[string]string{
	"a job is unfinished or has ended": `select id from jobs left join open_jobs o on o.job_id = id left join ended e on e.job_id = id
		where (o.job_id is null) is (e.job_id is null)`,
	"what is unfinished or has ended is a job": `select job_id from (select job_id from open_jobs union all select job_id from ended) where job_id not in (select id from jobs)`,
	"an unfinished job has its key":            "select id from jobs join open_jobs o on o.job_id = id where o.key <> jobs.key",
	"how a job ended is known": `select job_id from ended where status not in ('done', 'failed', 'cancelled') or finished_at = 0
		or attempt > 0 and started_at = 0`,
	"dedupe are the unfinished jobs with a dedupe key": `select coalesce(o.job_id, d.job_id) from
		(select job_id, dedupe_key from open_jobs join jobs on id = job_id where dedupe_key <> '') o
		full join dedupe d on d.job_id = o.job_id and d.key = o.dedupe_key where o.job_id is null or d.job_id is null`,
	"the first job of a key is in one place, every other one in none": `with place as (
			select job_id from ready union all select job_id from delayed union all select job_id from parked union all select job_id from running
		), places as (select job_id, count(*) as n from place group by job_id
		), first as (select job_id from open_jobs o where key = '' or not exists (select 1 from open_jobs b where b.key <> '' and b.key = o.key and b.job_id < o.job_id))
		select coalesce(f.job_id, p.job_id) from first f full join places p on p.job_id = f.job_id where f.job_id is null or coalesce(p.n, 0) <> 1`,
	"a token is its job's":                     "select job_id from ready r left join jobs j on j.id = r.job_id where j.pool is not r.pool or j.priority is not r.priority",
	"a timer is its job's":                     "select job_id from delayed d left join jobs j on j.id = d.job_id where j.available_at is not d.available_at",
	"a running job is in its pool":             "select job_id from running r left join jobs j on j.id = r.job_id where j.pool is not r.pool",
	"a job is parked where it is held":         "select job_id from parked p where not exists (select 1 from holds h where h.subject = p.subject)",
	"a job is parked under a subject it names": "select job_id from parked p join jobs j on j.id = p.job_id where p.subject not in (select value from json_each(j.holds))",
	"depth counts the unfinished jobs": `select coalesce(d.n, o.n) from (select * from depth where n <> 0) d
		full join (select pool, count(*) as n from open_jobs join jobs on id = job_id group by pool) o on o.pool = d.pool where d.n is not o.n`,
}

// agree asks the rules.
func agree(t *testing.T, path string) {
	t.Helper()
	ctx := context.Background() // the test may have ended
	raw, err := sql.Open("sqlite", dsn(path))
	require.NoError(t, err)
	defer raw.Close()
	snap, err := raw.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { _ = snap.Rollback() }()
	for rule, query := range rules {
		rows, err := snap.QueryContext(ctx, query)
		require.NoError(t, err, rule)
		for rows.Next() {
			var id sql.NullInt64
			require.NoError(t, rows.Scan(&id))
			t.Errorf("%s: not so for %d", rule, id.Int64)
		}
		require.NoError(t, rows.Err(), rule)
		require.NoError(t, rows.Close())
	}
}
