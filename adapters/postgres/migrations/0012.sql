-- What a tool has said of its usage, as JSON, where that was measured.
alter table ~agent_runs add column measured text not null default 'null';
-- Hosts that a run was not let to, as JSON.
alter table ~agent_runs add column refused text not null default 'null';
