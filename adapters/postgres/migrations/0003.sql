create index agent_runs_finished on ~agent_runs (finished_at);

-- What attempts are taken to cost whose record is not there yet.
create table ~reservations (
  job_id    bigint      not null,
  attempt   bigint      not null,
  task_id   bigint      not null,
  repo      text        not null,
  micro_usd bigint      not null,
  at        timestamptz,
  primary key (job_id, attempt)
);
