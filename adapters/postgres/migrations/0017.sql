-- Of the card's text as a run has read it, which its receipt names.
alter table ~agent_runs add column text_hash text not null default '';
