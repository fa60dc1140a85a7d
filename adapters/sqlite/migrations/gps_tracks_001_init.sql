-- The track layer. Times are integer microseconds since 1970 UTC, 0 for none.

-- What is read of a track without its line. Geometries are apart, so that a row
-- which only was seen again is written without its line.
create table if not exists tracks (
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
  run_id        integer not null
);
create index if not exists tracks_order on tracks (metres desc, id, min_lon, max_lon, min_lat, max_lat, activity, source);
create table if not exists track_geometries (
  track_id integer primary key,
  geometry blob not null -- as gpstracks.AppendLines writes it
);
create virtual table if not exists track_bounds using rtree (id, min_lon, max_lon, min_lat, max_lat);

-- Tracks made ready for tiles: each level of each track, or each piece of a long one,
-- is in one block. Blocks of a low tier are young and spread wide; those of a tier
-- that is full are put together anew in the next.
create table if not exists track_blocks (
  id       integer primary key,
  level    integer not null,
  tier     integer not null,
  place    integer not null, -- along the Hilbert curve, of its first feature
  features integer not null,
  data     blob    not null
);
create index if not exists track_blocks_tier on track_blocks (level, tier, place, features);
create virtual table if not exists track_block_bounds using rtree_i32 (id, min_level, max_level, min_x, max_x, min_y, max_y);

-- Where maps look different, for servers that did not make the change.
create table if not exists track_changes (
  id      integer primary key autoincrement,
  min_lon real not null,
  min_lat real not null,
  max_lon real not null,
  max_lat real not null
);

create table if not exists pipeline_runs (
  id          integer primary key,
  source      text    not null,
  region      text    not null,
  dry_run     integer not null,
  started_at  integer not null,
  finished_at integer not null,
  status      text    not null,
  requests    integer not null,
  fetched     integer not null,
  inserted    integer not null,
  updated     integer not null,
  duplicates  integer not null,
  rejected    integer not null,
  bytes       integer not null,
  error       text    not null,
  cursor      text    not null
);
create index if not exists pipeline_runs_source on pipeline_runs (source, id);
