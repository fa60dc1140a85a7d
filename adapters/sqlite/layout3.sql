-- From layout 2: what was in eight tables is in the row of a job.
alter table jobs rename to jobs_2;
drop index jobs_task;
alter table tasks add column ended_at integer not null default 0;
update tasks set ended_at = max(updated_at, 1) where stage in ('done', 'cancelled');
drop index if exists tasks_ended;
drop index if exists tasks_line;
drop index if exists tasks_live;
drop index if exists agent_runs_end;
-- the new tables are made here
;
insert into jobs (id, pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key,
    status, place, attempt, worker, heartbeat_at, lease_until, created_at, started_at, finished_at, error)
  select j.id, j.pool, j.kind, j.key, j.task_id, j.lane, j.role, j.holds, j.payload, j.priority, j.available_at, j.max_attempts, j.dedupe_key,
    coalesce(e.status, iif(r.job_id is null, 'queued', 'running')),
    case when coalesce(e.job_id, r.job_id) is not null then '' when y.job_id is not null then 'ready'
      when d.job_id is not null then 'delayed' when p.job_id is not null then 'held:' || p.subject else 'behind' end,
    coalesce(e.attempt, r.attempt, j.attempt), coalesce(r.worker, ''), coalesce(r.heartbeat_at, 0), coalesce(r.lease_until, 0), j.created_at,
    coalesce(e.started_at, r.started_at, j.started_at), coalesce(e.finished_at, 0), coalesce(e.error, j.error)
  from jobs_2 j left join running r on r.job_id = j.id left join ended e on e.job_id = j.id
    left join ready y on y.pool = j.pool and y.priority = j.priority and y.job_id = j.id
    left join delayed d on d.available_at = j.available_at and d.job_id = j.id
    left join (select job_id, min(subject) as subject from parked group by job_id) p on p.job_id = j.id;
drop table jobs_2;
drop table ended;
drop table open_jobs;
drop table dedupe;
drop table ready;
drop table delayed;
drop table parked;
drop table running;
