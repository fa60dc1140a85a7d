-- The cells along a track, as gpstracks.AppendCells writes them, and the marks that find tracks with
-- the same ones. null: the track is of an earlier version, and gets them at the next start.
alter table tracks add column cells blob;
create index tracks_without_cells on tracks (id) where cells is null;
create table track_marks (
  mark     integer not null,
  track_id integer not null,
  primary key (mark, track_id)
) without rowid;
alter table track_removals add column cells blob;
alter table track_removals add column recorded_on integer not null default 0;
alter table track_removals add column length_m real not null default 0;
-- A key decides alone from now on: only here the reference was a number that the source gave.
insert into track_removals (dedupe_key, source, external_id, reason, removed_by, removed_at)
  select '', source, external_id, reason, removed_by, removed_at from track_removals
  where dedupe_key <> '' and source = 'osm' and external_id <> '';
