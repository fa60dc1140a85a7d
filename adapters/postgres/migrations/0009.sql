-- One row says all of a job: what was in open_jobs, ready, delayed, parked, claims and
-- failed_jobs. Programs of before cannot write to these tables any more.
alter table ~jobs rename to jobs_8;
alter table ~jobs_8 rename constraint jobs_pkey to jobs_8_pkey;
drop index ~jobs_task;
drop trigger jobs_failed on ~jobs_8;
drop trigger jobs_removed on ~jobs_8;
create table ~jobs (
  id           bigint primary key, -- drawn under the turn, rising
  pool         text collate "C" not null,
  kind         text        not null,
  key          text collate "C" not null,
  task_id      bigint      not null,
  lane         text        not null,
  role         text        not null,
  holds        text[]      not null, -- subjects
  payload      bytea,
  priority     bigint      not null,
  available_at timestamptz,
  max_attempts bigint      not null,
  dedupe_key   text collate "C" not null,
  status       text collate "C" not null, -- queued, running, done, failed, cancelled
  -- Of a queued job: ready (a claim may take it), delayed (until available_at), behind (an
  -- unfinished job of its key) or held:<subject>; '' of every other.
  place        text collate "C" not null,
  attempt      bigint      not null default 0,
  worker       text        not null default '',
  heartbeat_at timestamptz,
  lease_until  timestamptz,
  created_at   timestamptz not null,
  started_at   timestamptz,
  finished_at  timestamptz,
  error        text        not null default ''
) with (fillfactor = 70);
insert into ~jobs
  select j.id, j.pool, j.kind, j.key, j.task_id, j.lane, j.role, j.holds, j.payload, j.priority, j.available_at, j.max_attempts, j.dedupe_key, j.status,
    case when j.status <> 'queued' then '' when r.job_id is not null then 'ready' when d.job_id is not null then 'delayed'
      when p.job_id is not null then 'held:' || p.subject else 'behind' end,
    j.attempt, j.worker, j.heartbeat_at, j.lease_until, j.created_at, j.started_at, j.finished_at, j.error
  from ~job_states j left join ~ready r on r.job_id = j.id left join ~delayed d on d.job_id = j.id
    left join (select job_id, min(subject) as subject from ~parked group by job_id) p on p.job_id = j.id;
-- The ready queue: what a claim reads.
create index jobs_ready on ~jobs (pool, priority, id) where place = 'ready';
create index jobs_delayed on ~jobs (available_at) where place = 'delayed';
create index jobs_held on ~jobs (place) where place > 'held:' and place < 'held;';
create index jobs_running on ~jobs (lease_until, pool) where status = 'running';
create index jobs_open on ~jobs (key, id) where status in ('queued', 'running');
create unique index jobs_dedupe on ~jobs (dedupe_key) where dedupe_key <> '' and status in ('queued', 'running');
create index jobs_failed on ~jobs (finished_at, id) where status = 'failed';
create index jobs_task on ~jobs (task_id, id);
-- A job's row changes twice: what is dead of it goes soon, or claims would read past it.
alter table ~jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

drop view ~job_states;
drop view ~running;
drop table ~jobs_8, ~open_jobs, ~ready, ~delayed, ~parked, ~claims, ~failed_jobs;
drop function ~note_failed;
drop function ~relay;
drop function ~stale;
alter table ~holds drop column no;
-- layout rises when an older program would read the tables wrongly; ids is the last id of a
-- job that was drawn before this step.
alter table ~turn drop column last, add column layout integer not null default 9;
