-- A tilde before a name stands for the schema. Times are null for none.

-- Whoever writes holds this row until commit: one transaction after the other.
create table ~turn (one boolean primary key check (one));
insert into ~turn values (true);

-- The number of the last transaction that each open store has committed: how a
-- store learns what became of one whose answer was lost.
create table ~writers (writer uuid primary key, seq bigint not null, at timestamptz not null) with (fillfactor = 50);

create sequence ~job_ids;
create table ~jobs (
  id           bigint primary key,
  pool         text collate "C" not null,
  kind         text        not null,
  key          text        not null,
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
  worker       text        not null default '',
  heartbeat_at timestamptz,
  lease_until  timestamptz,
  created_at   timestamptz not null,
  started_at   timestamptz,
  finished_at  timestamptz,
  error        text        not null default ''
) with (fillfactor = 80);
-- No index names what changes, so that a claim and a finish are updates in place.
create index jobs_task on ~jobs (task_id);

-- An unfinished job is in open_jobs, and in exactly one of: ready (its token),
-- delayed, running, or none of them while it is behind another job of its key
-- or one of its subjects is held.
create table ~open_jobs (job_id bigint primary key, pool text collate "C" not null, task_id bigint not null);
create index open_jobs_task on ~open_jobs (task_id);
create table ~ready (
  pool text collate "C" not null, priority bigint not null, job_id bigint not null,
  primary key (pool, priority, job_id)
);
create table ~delayed (
  available_at timestamptz not null, job_id bigint not null,
  primary key (available_at, job_id)
);
create table ~running (
  job_id bigint primary key, lease_until timestamptz not null,
  writer uuid not null, seq bigint not null, slot bigint not null -- which request of which transaction claimed it
) with (fillfactor = 70);
create table ~keyed (
  key text collate "C" not null, job_id bigint not null,
  primary key (key, job_id)
);
create table ~job_subjects (
  subject text collate "C" not null, job_id bigint not null,
  primary key (subject, job_id)
);
create table ~dedupe (key text collate "C" primary key, job_id bigint not null);
create table ~holds (
  subject text collate "C" not null, name text collate "C" not null, reason text not null, since timestamptz not null,
  primary key (subject, name)
);
create table ~depth (
  pool text collate "C" not null, status text collate "C" not null, n bigint not null,
  primary key (pool, status)
) with (fillfactor = 50);

-- Rows of these come and go with every job.
alter table ~ready     set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
alter table ~running   set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
alter table ~open_jobs set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table ~keyed     set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
alter table ~delayed   set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

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
  version               bigint not null
);
create unique index tasks_issue on ~tasks (tracker_project_id, tracker_issue_id);
create unique index tasks_work_item on ~tasks (repo, work_item_id);
create unique index tasks_branch on ~tasks (repo, branch);
create index tasks_by_issue on ~tasks (tracker_issue_id);
create index tasks_live on ~tasks (id) where stage not in ('done', 'cancelled');

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
