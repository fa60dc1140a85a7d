-- Times are integer microseconds since 1970 UTC, 0 for none. Everything is
-- "if not exists": opening an older file only adds.

create table if not exists counters (
  name  text primary key,
  value integer not null
) without rowid;

create table if not exists jobs (
  id           integer primary key, -- drawn by the writer, rising
  pool         text    not null,
  kind         text    not null,
  key          text    not null,
  task_id      integer not null,
  lane         text    not null,
  role         text    not null,
  holds        text    not null, -- JSON array of subjects
  payload      blob,
  priority     integer not null,
  available_at integer not null,
  max_attempts integer not null,
  dedupe_key   text    not null,
  status       text    not null, -- queued, running, done, failed, cancelled
  -- Of a queued job: ready (a claim may take it), delayed (until available_at), behind (an
  -- unfinished job of its key) or held:<subject>; '' of every other.
  place        text    not null,
  attempt      integer not null default 0,
  worker       text    not null default '',
  heartbeat_at integer not null default 0,
  lease_until  integer not null default 0,
  created_at   integer not null,
  started_at   integer not null default 0,
  finished_at  integer not null default 0,
  error        text    not null default ''
);
-- The ready queue: what a claim reads.
create index if not exists jobs_ready on jobs (pool, priority, id) where place = 'ready';
create index if not exists jobs_delayed on jobs (available_at) where place = 'delayed';
create index if not exists jobs_held on jobs (place) where place > 'held:' and place < 'held;';
create index if not exists jobs_running on jobs (lease_until, pool) where status = 'running';
create index if not exists jobs_open on jobs (key, id) where status in ('queued', 'running');
create unique index if not exists jobs_dedupe on jobs (dedupe_key) where dedupe_key <> '' and status in ('queued', 'running');
create index if not exists jobs_failed on jobs (finished_at, id) where status = 'failed';
create index if not exists jobs_task on jobs (task_id, id);
create table if not exists holds (
  subject text not null, name text not null, reason text not null, since integer not null,
  primary key (subject, name)
) without rowid;
-- How many jobs of a pool are unfinished, running ones too.
create table if not exists depth (pool text primary key, n integer not null) without rowid;

create table if not exists tasks (
  id                    integer primary key,
  work_item_id          text    not null,
  tracker_project_id    text    not null,
  tracker_issue_id      text    not null,
  repo                  text    not null,
  branch                text    not null,
  slug                  text    not null,
  title                 text    not null,
  description           text    not null,
  stage                 text    not null,
  state                 text    not null, -- JSON, the machine's
  developer_retries     integer not null,
  merge_defers          integer not null default 0,
  deploy_phase          text    not null,
  head_sha              text    not null,
  tracker_message_id    text    not null,
  brd_review_started_at integer not null,
  brd_review_ended_at   integer not null,
  approved_at           integer not null,
  approved_by           text    not null,
  cancel_requested_at   integer not null,
  cancelled_at          integer not null,
  created_at            integer not null,
  updated_at            integer not null,
  stage_entered_at      integer not null,
  ended_at              integer not null default 0, -- of a task that is done or cancelled
  version               integer not null
);
create unique index if not exists tasks_issue on tasks (tracker_project_id, tracker_issue_id) where ended_at = 0;
create unique index if not exists tasks_work_item on tasks (repo, work_item_id);
create unique index if not exists tasks_branch on tasks (repo, branch);
create index if not exists tasks_by_issue on tasks (tracker_issue_id);
create index if not exists tasks_by_item on tasks (work_item_id);
create index if not exists tasks_ended on tasks (ended_at desc, id desc) where ended_at <> 0;
create index if not exists tasks_line on tasks (repo, id) where ended_at = 0;
create index if not exists tasks_live on tasks (id) where ended_at = 0;

create table if not exists deliveries (
  id          integer primary key,
  source      text    not null,
  delivery_id text    not null,
  body_hash   text    not null,
  event       text    not null,
  received_at integer not null,
  outcome     text    not null
);
create unique index if not exists deliveries_id on deliveries (source, delivery_id) where delivery_id <> '';
create index if not exists deliveries_body on deliveries (source, body_hash);
create index if not exists deliveries_age on deliveries (source, received_at);

create table if not exists journal (
  id      integer primary key,
  task_id integer not null,
  seq     integer not null,
  at      integer not null,
  kind    text    not null,
  payload blob    not null,
  link    blob    not null default x'' -- the hash of the entry before, and its own; of entries from before the chain none
);
-- The hash of the newest entry.
create table if not exists journal_head (name text primary key, hash blob not null) without rowid;
create index if not exists journal_task on journal (task_id, id);

-- What entries of the journal name by its hash, compressed.
create table if not exists contents (id text primary key, body blob not null);

create table if not exists gate_results (
  id      integer primary key,
  task_id integer not null,
  stage   text    not null,
  "check" text    not null,
  verdict text    not null,
  reason  text    not null,
  sha     text    not null,
  tree    text    not null, -- JSON of the whole verdict, evidence and children
  at      integer not null
);
create index if not exists gate_results_task on gate_results (task_id, id);

create table if not exists agent_runs (
  id                          integer primary key,
  task_id                     integer not null,
  job_id                      integer not null,
  attempt                     integer not null,
  run                         integer not null,
  stage                       text    not null,
  role                        text    not null,
  model                       text    not null,
  input_tokens                integer not null,
  output_tokens               integer not null,
  cache_read_input_tokens     integer not null,
  cache_creation_input_tokens integer not null,
  cost_micro_usd              integer not null,
  status                      text    not null,
  exit_code                   integer not null,
  started_at                  integer not null,
  finished_at                 integer not null,
  log_path                    text    not null,
  result_summary              text    not null,
  agent                       text    not null default '',
  vendor                      text    not null default '',
  session_id                  text    not null default '',
  trouble                     text    not null default '',
  prompt_hash                 text    not null default '',
  measured                    text    not null default 'null', -- JSON: what the tool has said, where the usage was measured
  refused                     text    not null default 'null', -- JSON: hosts that it was not let to
  text_hash                   text    not null default '',
  unique (job_id, attempt)
);
create index if not exists agent_runs_task on agent_runs (task_id, id);
create index if not exists agent_runs_finished on agent_runs (finished_at);

-- What attempts are taken to cost whose record is not there yet.
create table if not exists reservations (
  job_id    integer not null,
  attempt   integer not null,
  task_id   integer not null,
  repo      text    not null,
  micro_usd integer not null,
  at        integer not null,
  primary key (job_id, attempt)
) without rowid;

create table if not exists leases (
  name text primary key, holder text not null, epoch integer not null, expires integer not null
) without rowid;

create table if not exists job_deps (
  task_id            integer not null,
  depends_on_task_id integer not null,
  source             text    not null,
  created_at         integer not null,
  primary key (task_id, depends_on_task_id)
) without rowid;
-- Agents that no task may use for now; model '' = with any.
create table if not exists agent_pauses (
  agent text not null, model text not null, kind text not null, reason text not null,
  since integer not null, until integer not null, -- 0 = that is not known, and tasks try it from next_try on
  next_try integer not null, task_id integer not null, version integer not null,
  primary key (agent, model)
) without rowid;
create table if not exists reconcile_cursors (
  name text primary key, cursor text not null, at integer not null
) without rowid;
create table if not exists monitors (
  task_id integer primary key, payload text not null, until integer not null
);
-- Who may come in: named tokens by their hashes, and sessions of browsers by those of their cookies.
create table if not exists access_tokens (
  name text primary key, hash text not null, role text not null, repos text not null, -- JSON; none = all
  made_at integer not null, expires_at integer not null
) without rowid;
create table if not exists access_sessions (
  id text primary key, name text not null, via text not null, credential text not null,
  memberships text not null, -- JSON: groups that the identity provider has named
  address text not null, began_at integer not null, seen_at integer not null
) without rowid;
-- What is so until it is taken back.
create table if not exists facts (
  kind text not null, of_what text not null, task_id integer not null, text text not null, since integer not null,
  primary key (kind, of_what, task_id)
) without rowid;
-- Earlier programs kept such rows among the holds, where they held nothing.
insert or ignore into facts (kind, of_what, task_id, text, since)
  select case name when 'wip_works' then 'place' else name end,
    case when name = 'wip_works' then substr(subject, 11, length(subject) - 30)
      when name = 'wait_comment' then substr(subject, 6)
      else substr(subject, length(name) + 2) end,
    case when name = 'wip_works' then cast(substr(subject, length(subject) - 18) as bigint)
      when name = 'wait_comment' then cast(substr(subject, 6) as bigint)
      else 0 end,
    reason, since
  from holds where name in ('wip_works', 'wait_comment', 'budget_told', 'webhooks_told', 'brake_told', 'stranded_told', 'access');
delete from holds where name in
  ('wip_works', 'wip_waits', 'wait_comment', 'budget_told', 'webhooks_told', 'brake_told', 'stranded_told', 'access');
