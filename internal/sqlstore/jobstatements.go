package sqlstore

const jobColumns = `id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key,
	status, attempt, worker, heartbeat_at, lease_until, created_at, started_at, finished_at, error`

// The statements of the queue. The conditions of partial indexes are repeated as they are
// written there, or PostgreSQL's planner would not take them to apply.
const (
	isOpen = "status in ('queued', 'running')"
	isHeld = "place > 'held:' and place < 'held;'"

	// claimedJobs reads what ending or prolonging a claim is decided on, and the next job of
	// its key. It does not name the status: PostgreSQL's planner would read the index of all that runs.
	claimedJobs = `select j.id, j.status, j.pool, j.key, j.priority, j.dedupe_key, j.attempt, j.max_attempts,
		j.available_at, j.worker, j.started_at,
		coalesce(n.id, 0::bigint), coalesce(n.pool, ''), coalesce(n.priority, 0::bigint)
		from ~jobs j left join ~jobs n on n.id =
			(select k.id from ~jobs k where k.key = j.key and k.key <> '' and k.id > j.id and k.` + isOpen + ` order by k.id limit 1)
		where j.id = any($1)`

	// endJobs writes jobs that were running or queued as they are now.
	endJobs = `update ~jobs as j set status = u.status, place = u.place, max_attempts = u.most, available_at = u.at,
		finished_at = u.ended, error = u.error, worker = '', heartbeat_at = $1, lease_until = $1
		from unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::timestamptz[],
			$8::text[]) u(id, status, place, most, at, ended, error)
		where j.id = u.id`

	// openJobs lets jobs into the ready queue that have come to be the first of their keys.
	openJobs = `update ~jobs set place = case when available_at > $1 then 'delayed' else 'ready' end
		where id = any($2) and place = 'behind' returning pool`

	// putJobs adds jobs. One that an unfinished job of its key is before does not stand in the ready queue.
	putJobs = `insert into ~jobs (id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at,
			max_attempts, dedupe_key, status, place, created_at)
		select u.id, u.pool, u.kind, u.key, u.task, u.lane, u.role, u.holds::text[], u.payload, u.priority, u.at,
			u.most, u.dedupe, 'queued',
			case when u.key <> '' and (u.behind or (select true from ~jobs k where k.key = u.key and k.` + isOpen + ` limit 1))
				then 'behind'
				when u.at > $1 then 'delayed' else 'ready' end, $1
		from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[],
			$10::bytea[], $11::bigint[], $12::timestamptz[], $13::bigint[], $14::text[], $15::boolean[]) u(id, pool, kind, key,
			task, lane, role, holds, payload, priority, at, most, dedupe, behind)`

	// dedupedJobs finds the unfinished jobs that have a dedupe key.
	dedupedJobs = `select dedupe_key, id from ~jobs where dedupe_key = any($1) and dedupe_key <> '' and ` + isOpen

	// dueJobs lets jobs whose time has come into the ready queue.
	dueJobs = `update ~jobs as j set place = 'ready'
		from (select id from ~jobs where place = 'delayed' and available_at <= $1 order by available_at limit $2) d
		where j.id = d.id returning pool`

	// placeJobs moves jobs to another place.
	placeJobs = `update ~jobs as j set place = u.place from unnest($1::bigint[], $2::text[]) u(id, place) where j.id = u.id`

	// readyJobs reads the head of a pool's ready queue, each job with a subject that holds it.
	readyJobs = `select ` + jobColumns + `, coalesce((select h.subject from ~holds h where h.subject = any(j.holds) limit 1), '')
		from ~jobs j where pool = $1 and place = 'ready' order by priority, id limit $2`

	// claimJobs makes claims of jobs that were read in this transaction.
	claimJobs = `update ~jobs as j set status = 'running', place = '', attempt = j.attempt + 1, worker = u.worker,
		started_at = $1, heartbeat_at = $1, lease_until = u.until
		from unnest($2::bigint[], $3::text[], $4::timestamptz[]) u(id, worker, until) where j.id = u.id`

	// extendJobs prolongs claims.
	extendJobs = `update ~jobs as j set heartbeat_at = $1, lease_until = u.until
		from unnest($2::bigint[], $3::timestamptz[]) u(id, until) where j.id = u.id`

	// countRunning counts the claims of a pool that has a bound.
	countRunning = `select count(*) from ~jobs where status = 'running' and pool = $1`

	// addDepth counts unfinished jobs, so that Depth need not.
	addDepth = `insert into ~depth (pool, n) select u.pool, u.n from unnest($1::text[], $2::bigint[]) u(pool, n) where true
		on conflict (pool) do update set n = depth.n + excluded.n`
)
