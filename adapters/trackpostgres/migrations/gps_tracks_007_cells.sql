-- The cells along a track, as gpstracks.AppendCells writes them, and the marks that find tracks with
-- the same ones. null: the track is of an earlier version, and gets them at the next start.
alter table ~tracks add column if not exists cells bytea;
create index if not exists tracks_without_cells on ~tracks (id) where cells is null;
create table if not exists ~track_marks (
  mark     bigint not null,
  track_id bigint not null,
  primary key (mark, track_id)
);
alter table ~track_removals add column if not exists cells bytea;
alter table ~track_removals add column if not exists recorded_on date;
alter table ~track_removals add column if not exists length_m double precision not null default 0;
-- A key decides alone from now on: only here the reference was a number that the source gave.
insert into ~track_removals (dedupe_key, source, external_id, reason, removed_by, removed_at)
  select '', source, external_id, reason, removed_by, removed_at from ~track_removals
  where dedupe_key <> '' and source = 'osm' and external_id <> '';
