-- relay is the whole transaction of a worker who is alone: it ends a job, if there is one
-- to end, and takes the next, as the program's statement does for many (see step.go) when
-- nothing is held. chained says that a job may come next of the key. Beginning that large
-- statement is much of the work for one job; these are small. It answers in the same
-- columns; a job that is not remembered is told of.
create function ~relay(
  me uuid, no bigint, now_ timestamptz,
  ended bigint, ended_attempt bigint, ended_key text, ended_status text, ended_error text, ended_started timestamptz, ended_pool text,
  taken text, from_priority bigint, from_job bigint, by_worker text, until timestamptz, known_from bigint, known_to bigint, chained boolean,
  out what integer, out pool text, out priority bigint, out job_id bigint, out slot bigint, out attempt bigint, out stood boolean, out at timestamptz,
  out kind text, out key text, out task_id bigint, out lane text, out role text, out holds text[], out payload bytea, out available_at timestamptz,
  out max_attempts bigint, out dedupe_key text, out created_at timestamptz, out error text
) returns setof record language plpgsql as $$
#variable_conflict use_column
declare
  before uuid;
  follows record; -- the job that comes next of the key
  placed bigint;  -- it, when it was given a token
  t record;       -- the token that is taken
begin
  select last into before from ~turn for no key update;
  update ~writers set seq = no, at = now() where writer = me and seq < no;
  if not found or before is distinct from me then
    perform ~stale();
  end if;
  if ended is not null then
    update ~jobs set status = ended_status, attempt = ended_attempt, started_at = ended_started, finished_at = now_, error = ended_error
      where id = ended and attempt = ended_attempt - 1 and status = 'queued';
    if not found then
      perform ~stale();
    end if;
    delete from ~open_jobs where key = ended_key and job_id = ended;
    update ~depth set n = n - 1 where pool = ended_pool;
  end if;
  if chained then
    select o.job_id, o.pool, o.priority, o.available_at, o.attempt into follows from ~open_jobs o where o.key = ended_key and o.job_id > ended order by o.job_id limit 1;
    if follows.available_at > now_ then
      insert into ~delayed (available_at, job_id, key) values (follows.available_at, follows.job_id, ended_key);
      what := 3; priority := 0; job_id := 0; slot := 0; attempt := 0; stood := false; at := follows.available_at;
      return next;
      at := null;
    elsif follows.job_id is not null then
      insert into ~ready (pool, priority, job_id, attempt, checked) values (follows.pool, follows.priority, follows.job_id, follows.attempt, 0);
      placed := follows.job_id;
      if follows.pool = taken and (follows.priority, follows.job_id) < (from_priority, from_job) then
        from_priority := follows.priority; from_job := follows.job_id;
      end if;
    end if;
  end if;
  delete from ~ready r where r.ctid = (
      select f.ctid from ~ready f where f.pool = taken and (f.priority, f.job_id) >= (from_priority, from_job) order by f.priority, f.job_id limit 1)
    returning r.priority, r.job_id, r.attempt into t;
  if placed is not null and placed is distinct from t.job_id then
    what := 2; pool := follows.pool; priority := follows.priority; job_id := placed; slot := 0; attempt := 0; stood := false;
    return next;
    pool := null;
  end if;
  if t.job_id is null then
    return;
  end if;
  insert into ~claims (writer, seq, slot, pool, worker, heartbeat_at, lease_until, ids, attempts, started)
    values (me, no, 0, taken, by_worker, now_, until, array[t.job_id], array[t.attempt + 1], array[now_]);
  what := 0; priority := t.priority; job_id := t.job_id; slot := 1; attempt := t.attempt; stood := true;
  if t.job_id < known_from or t.job_id > known_to then
    select j.kind, j.key, j.task_id, j.lane, j.role, j.holds, j.payload, j.available_at, j.max_attempts, j.dedupe_key, j.created_at, j.error
      into kind, key, task_id, lane, role, holds, payload, available_at, max_attempts, dedupe_key, created_at, error
      from ~jobs j where j.id = t.job_id;
  end if;
  return next;
end $$;
