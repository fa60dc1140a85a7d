-- A tilde before a name stands for the schema. Times are null for none.

-- Whoever writes holds this row until commit: one transaction after the other.
-- last is who held it before (null for a host program); ids is the last id of a job.
create table ~turn (one boolean primary key check (one), last uuid, ids bigint not null default 0) with (fillfactor = 50);
insert into ~turn values (true);

-- The number of the last transaction that each open store has committed: how a
-- store learns what became of one whose answer was lost.
create table ~writers (writer uuid primary key, seq bigint not null, at timestamptz not null) with (fillfactor = 50);

-- A job is written when it is put and when it has ended; also when it is to be
-- tried again. While it runs its row says "queued" and the attempt before.
create table ~jobs (
  id           bigint primary key,
  pool         text collate "C" not null,
  kind         text        not null,
  key          text collate "C" not null,
  task_id      bigint      not null,
  lane         text        not null,
  role         text        not null,
  holds        text[]      not null,
  payload      bytea,
  priority     bigint      not null,
  available_at timestamptz,
  max_attempts bigint      not null,
  dedupe_key   text        not null,
  status       text        not null,
  attempt      bigint      not null default 0,
  created_at   timestamptz not null,
  started_at   timestamptz,
  finished_at  timestamptz,
  error        text        not null default ''
) with (fillfactor = 50);
-- No index names what changes, so that the end of a job is an update in place.
create index jobs_task on ~jobs (task_id);

-- An unfinished job is in open_jobs, and in exactly one of: ready (its token),
-- delayed, parked (under a subject that is held), claims, or none of them while
-- it is behind another job of its key. A token may be there although a subject of
-- its job is held since: whoever takes it parks it.
create table ~open_jobs (
  key          text collate "C" not null,
  job_id       bigint      not null,
  pool         text collate "C" not null,
  priority     bigint      not null,
  available_at timestamptz,
  attempt      bigint      not null,
  holds        text[]      not null,
  dedupe_key   text collate "C" not null,
  primary key (key, job_id)
) with (fillfactor = 90);
create unique index open_jobs_dedupe on ~open_jobs (dedupe_key) where dedupe_key <> '';
create table ~ready (
  pool text collate "C" not null, priority bigint not null, job_id bigint not null, attempt bigint not null,
  checked bigint not null, -- no hold up to this number holds it
  primary key (pool, priority, job_id)
);
create table ~delayed (
  available_at timestamptz not null, job_id bigint not null, key text collate "C" not null,
  primary key (available_at, job_id)
);
create table ~parked (
  subject text collate "C" not null, job_id bigint not null, key text collate "C" not null,
  primary key (subject, job_id)
);
-- What one transaction claimed for a worker, or prolonged. A claim ends with its
-- job's row: it is held while that is queued and one attempt behind. What is left
-- of a row here means nothing then; it goes when nothing of it is held, or when its
-- time is over.
create table ~claims (
  writer uuid not null, seq bigint not null, slot bigint not null, -- which requests of which transaction: slot + n
  pool         text collate "C" not null,
  worker       text        not null,
  heartbeat_at timestamptz not null,
  lease_until  timestamptz not null,
  ids          bigint[]    not null,
  attempts     bigint[]    not null,
  started      timestamptz[] not null,
  primary key (writer, seq, slot)
);
create table ~holds (
  subject text collate "C" not null, name text collate "C" not null, reason text not null, since timestamptz not null,
  no bigint generated always as identity,
  primary key (subject, name)
);
create index holds_no on ~holds (no);
-- Unfinished jobs by pool.
create table ~depth (pool text collate "C" primary key, n bigint not null) with (fillfactor = 50);

create view ~running as
  select distinct on (c.id) c.id as job_id, b.pool, c.attempt, b.worker, c.started_at, b.heartbeat_at, b.lease_until
  from ~claims b cross join lateral unnest(b.ids, b.attempts, b.started) c(id, attempt, started_at)
    cross join lateral (select from ~jobs j where j.id = c.id and j.status = 'queued' and j.attempt = c.attempt - 1 limit 1) held -- limit: one probe each
  order by c.id, b.lease_until desc;

create view ~job_states as
  select id, j.pool, kind, key, task_id, lane, role, holds, payload, priority, available_at, max_attempts, dedupe_key,
    case when r.job_id is null then status else 'running' end as status, coalesce(r.attempt, j.attempt) as attempt, coalesce(r.worker, '') as worker,
    r.heartbeat_at, r.lease_until, created_at, coalesce(r.started_at, j.started_at) as started_at, finished_at, error
  from ~jobs j left join ~running r on r.job_id = j.id;

-- Rows of these come and go with every job.
alter table ~ready     set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
alter table ~claims    set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
alter table ~open_jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table ~delayed   set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table ~parked    set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- stale ends a transaction whose writer relied on what it remembers although
-- another had held the turn since.
create function ~stale() returns bigint language plpgsql as
  $$ begin raise exception using errcode = 'SB001', message = 'another writer has held the turn'; end $$;

create sequence ~task_ids;
create table ~tasks (
  id                    bigint primary key,
  work_item_id          text not null,
  tracker_project_id    text not null,
  tracker_issue_id      text not null,
  repo                  text not null,
  branch                text not null,
  slug                  text not null,
  title                 text not null,
  description           text not null,
  stage                 text not null,
  state                 text not null, -- JSON, the machine's
  developer_retries     bigint not null,
  deploy_phase          text not null,
  head_sha              text not null,
  tracker_message_id    text not null,
  brd_review_started_at timestamptz,
  brd_review_ended_at   timestamptz,
  approved_at           timestamptz,
  approved_by           text not null,
  cancel_requested_at   timestamptz,
  cancelled_at          timestamptz,
  created_at            timestamptz,
  updated_at            timestamptz,
  stage_entered_at      timestamptz,
  ended_at              timestamptz, -- of a task that is done or cancelled; no index names what else changes
  version               bigint not null
) with (fillfactor = 50);
create unique index tasks_issue on ~tasks (tracker_project_id, tracker_issue_id);
create unique index tasks_work_item on ~tasks (repo, work_item_id);
create unique index tasks_branch on ~tasks (repo, branch);
create index tasks_by_issue on ~tasks (tracker_issue_id);
create index tasks_live on ~tasks (id) where ended_at is null;
create index tasks_ended on ~tasks (ended_at desc, id desc) where ended_at is not null;

create table ~deliveries (
  id          bigint generated always as identity primary key,
  source      text not null,
  delivery_id text not null,
  body_hash   text not null,
  event       text not null,
  received_at timestamptz not null,
  outcome     text not null
);
create unique index deliveries_id on ~deliveries (source, delivery_id) where delivery_id <> '';
create index deliveries_body on ~deliveries (source, body_hash);
create index deliveries_age on ~deliveries (source, received_at);

create table ~journal (
  id      bigint generated always as identity primary key,
  task_id bigint not null,
  seq     bigint not null,
  at      timestamptz,
  kind    text not null,
  payload bytea not null
);
create index journal_task on ~journal (task_id, id);

create table ~gate_results (
  id      bigint generated always as identity primary key,
  task_id bigint not null,
  stage   text not null,
  "check" text not null,
  verdict text not null,
  reason  text not null,
  sha     text not null,
  tree    text not null, -- JSON of the whole verdict, evidence and children
  at      timestamptz
);
create index gate_results_task on ~gate_results (task_id, id);

create table ~agent_runs (
  id                          bigint generated always as identity primary key,
  task_id                     bigint not null,
  job_id                      bigint not null,
  attempt                     bigint not null,
  run                         bigint not null,
  stage                       text not null,
  role                        text not null,
  model                       text not null,
  input_tokens                bigint not null,
  output_tokens               bigint not null,
  cache_read_input_tokens     bigint not null,
  cache_creation_input_tokens bigint not null,
  cost_micro_usd              bigint not null,
  status                      text not null,
  exit_code                   bigint not null,
  started_at                  timestamptz,
  finished_at                 timestamptz,
  log_path                    text not null,
  result_summary              text not null,
  unique (job_id, attempt)
);
create index agent_runs_task on ~agent_runs (task_id, id);

create table ~leases (name text collate "C" primary key, holder text not null, epoch bigint not null, expires timestamptz);
