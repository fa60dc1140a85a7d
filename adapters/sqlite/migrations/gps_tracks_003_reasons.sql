-- Numbers of tracks by reason, as {"reason": number}; null: none.
alter table pipeline_runs add column rejected_for text; -- together rejected
alter table pipeline_runs add column changed_for text;
