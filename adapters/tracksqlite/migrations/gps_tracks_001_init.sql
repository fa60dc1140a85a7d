-- The track layer. Times are integer microseconds since 1970 UTC, 0 for none.

create table tracks (
  id            integer primary key,
  source        text    not null,
  external_id   text    not null,
  name          text    not null,
  activity      text    not null,
  url           text    not null,
  attribution   text    not null,
  min_lon       real    not null,
  min_lat       real    not null,
  max_lon       real    not null,
  max_lat       real    not null,
  length_m      real    not null,
  metres        integer not null, -- length_m as lists are ordered by it
  recorded_on   integer not null,
  dedupe_key    text    not null unique,
  points        integer not null,
  first_seen_at integer not null,
  last_seen_at  integer not null,
  run_id        integer not null,
  geometry      blob -- as gpstracks.AppendLines writes it; null: it is long, and in track_geometries
);
create index tracks_order on tracks (metres desc, id, min_lon, max_lon, min_lat, max_lat, activity, source);
create table track_geometries (
  track_id integer primary key,
  geometry blob not null
);
create virtual table track_bounds using rtree (id, min_lon, max_lon, min_lat, max_lat);
create trigger tracks_come after insert on tracks begin
  insert into track_bounds values (new.id, new.min_lon, new.max_lon, new.min_lat, new.max_lat);
end;
create trigger tracks_go after delete on tracks begin
  delete from track_bounds where id = old.id;
end;

-- Tracks made ready for tiles: each level of each track, or each piece of a long one,
-- is in one block. Blocks of a low tier are young and spread wide; those of a tier
-- that is full are put together anew in one above it.
create table track_blocks (
  id       integer primary key,
  level    integer not null,
  tier     integer not null,
  place    integer not null, -- along the Hilbert curve, of its first feature
  features integer not null,
  min_x    integer not null,
  max_x    integer not null,
  min_y    integer not null,
  max_y    integer not null,
  data     blob    not null
);
create index track_blocks_tier on track_blocks (level, tier, place, features);
create virtual table track_block_bounds using rtree_i32 (id, min_level, max_level, min_x, max_x, min_y, max_y);
create trigger track_blocks_come after insert on track_blocks begin
  insert into track_block_bounds values (new.id, new.level, new.level, new.min_x, new.max_x, new.min_y, new.max_y);
end;
create trigger track_blocks_go after delete on track_blocks begin
  delete from track_block_bounds where id = old.id;
end;

-- Tracks that are in no block, after a change of the layout of blocks, by ranges of ids.
create table track_unbuilt (
  first_id integer primary key,
  last_id  integer not null,
  points   integer not null
);

-- How often tracks were changed, their last id, and for which layout the blocks are.
create table track_state (
  name  text primary key,
  value integer not null
) without rowid;
insert into track_state values ('version', 0), ('track', 0), ('blocks version', 0);

-- Where maps look different, for servers that did not make the change.
create table track_changes (
  id      integer primary key autoincrement,
  min_lon real not null,
  min_lat real not null,
  max_lon real not null,
  max_lat real not null
);

create table pipeline_runs (
  id           integer primary key,
  source       text    not null,
  region       text    not null,
  dry_run      integer not null,
  started_at   integer not null,
  finished_at  integer not null,
  status       text    not null,
  requests     integer not null,
  fetched      integer not null,
  inserted     integer not null,
  updated      integer not null,
  duplicates   integer not null,
  rejected     integer not null,
  bytes        integer not null,
  error        text    not null,
  cursor       text    not null,
  rejected_for text, -- numbers of tracks by reason, as {"reason": number}; null: none
  changed_for  text
);
create index pipeline_runs_source on pipeline_runs (source, id);
