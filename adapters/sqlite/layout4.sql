-- From layout 3: what ran is in the record of a run.
alter table agent_runs add column agent text not null default '';
alter table agent_runs add column vendor text not null default '';
alter table agent_runs add column session_id text not null default '';
alter table agent_runs add column trouble text not null default '';
alter table agent_runs add column prompt_hash text not null default '';
drop table if exists repo_freezes;
