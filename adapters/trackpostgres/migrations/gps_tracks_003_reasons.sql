-- Numbers of tracks by reason, as {"reason": number}; null: none.
alter table ~pipeline_runs add column if not exists rejected_for jsonb; -- together rejected
alter table ~pipeline_runs add column if not exists changed_for jsonb;
