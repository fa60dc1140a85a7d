package sqlstoretest

import "strings"

// Rules are queries that return no row while the tables of a store agree with each other.
// none is how a time that is not there is stored, and holds the subjects of a row as rows.
func Rules(prefix, none, holds string) map[string]string {
	is := "= " + none
	if none == "null" {
		is = "is null"
	}
	rules := map[string]string{
		"a status is one of five": `select id from ~jobs
			where status not in ('queued', 'running', 'done', 'failed', 'cancelled')`,
		"a queued job has a place, and no other has": "select id from ~jobs where (place <> '') <> (status = 'queued')",
		"a running job has a lease, and no other has": `select id from ~jobs where (status = 'running') <> (not (lease_until @none))
			or (status = 'running') <> (not (heartbeat_at @none))`,
		"a running job has a worker's attempt": `select id from ~jobs
			where status = 'running' and (attempt < 1 or started_at @none)`,
		"a job that has ended says when": `select id from ~jobs
			where (status in ('done', 'failed', 'cancelled')) <> (not (finished_at @none))`,
		"one job of a key runs": `select min(id) from ~jobs
			where status = 'running' and key <> '' group by key having count(*) > 1`,
		"the first job of a key is not behind, others are": `select id from ~jobs j
			where status in ('queued', 'running') and key <> '' and (place = 'behind') <> exists
			(select 1 from ~jobs k where k.key = j.key and k.id < j.id and k.status in ('queued', 'running'))`,
		"a job without a key is behind none": "select id from ~jobs where key = '' and place = 'behind'",
		"a delayed job has its time":         "select id from ~jobs where place = 'delayed' and available_at @none",
		"a job is held by a subject that it names": `select id from ~jobs
			where place > 'held:' and place < 'held;' and substr(place, 6) not in (select @holds)`,
		"a subject that holds a job is held": `select id from ~jobs
			where place > 'held:' and place < 'held;' and not exists (select 1 from ~holds h where h.subject = substr(place, 6))`,
		"a dedupe key is one unfinished job's": `select min(id) from ~jobs
			where status in ('queued', 'running') and dedupe_key <> '' group by dedupe_key having count(*) > 1`,
		"depth counts the unfinished jobs": `select n from ~depth d
			where n <> (select count(*) from ~jobs j where j.pool = d.pool and status in ('queued', 'running'))`,
		"every pool with an unfinished job is in depth": `select id from ~jobs
			where status in ('queued', 'running') and pool not in (select pool from ~depth)`,
		"a task has ended when its stage says so": `select id from ~tasks
			where (stage in ('done', 'cancelled')) <> (not (ended_at @none))`,
		"what is reserved has no record": `select r.job_id from ~reservations r
			join ~agent_runs a on a.job_id = r.job_id and a.attempt = r.attempt`,
	}
	for name, query := range rules {
		rules[name] = strings.NewReplacer("~", prefix, "@none", is, "@holds", holds).Replace(query)
	}
	return rules
}
