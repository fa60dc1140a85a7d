-- When tracks were recorded, how they go up and down, and what decided their activity. Columns
-- have defaults: a program of the layout before this one goes on writing.
alter table ~tracks add column if not exists activity_from text not null default '';
alter table ~tracks add column if not exists started_at timestamptz; -- null: not known
alter table ~tracks add column if not exists ended_at timestamptz;
alter table ~tracks add column if not exists moving_s bigint not null default 0;
alter table ~tracks add column if not exists ascent_m double precision; -- null, as the next four: no elevation is known
alter table ~tracks add column if not exists descent_m double precision;
alter table ~tracks add column if not exists min_ele_m double precision;
alter table ~tracks add column if not exists max_ele_m double precision;
alter table ~tracks add column if not exists profile bytea; -- as gpstracks.AppendProfile writes it
