alter table ~agent_runs
  add column agent       text not null default '',
  add column vendor      text not null default '',
  add column session_id  text not null default '',
  add column trouble     text not null default '',
  add column prompt_hash text not null default '';

-- Agents that no task may use for now; model '' = with any.
create table ~agent_pauses (
  agent    text not null,
  model    text not null,
  kind     text not null,
  reason   text not null,
  since    timestamptz not null,
  until    timestamptz, -- null = that is not known, and tasks try it from next_try on
  next_try timestamptz,
  task_id  bigint not null,
  version  bigint not null,
  primary key (agent, model)
);
