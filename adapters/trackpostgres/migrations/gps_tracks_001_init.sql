-- The track layer, with nothing but the core of PostgreSQL: boxes and GiST.

-- What is read of a track without its line. Geometries are apart, so that a row
-- which only was seen again is written without its line; the room that pages
-- keep lets it be written again beside itself, without a look at the indexes.
create table if not exists ~tracks (
  id            bigint primary key,
  source        text   not null,
  external_id   text   not null,
  name          text   not null,
  activity      text   not null,
  url           text   not null,
  attribution   text   not null,
  min_lon       double precision not null,
  min_lat       double precision not null,
  max_lon       double precision not null,
  max_lat       double precision not null,
  length_m      double precision not null,
  metres        bigint not null, -- length_m as lists are ordered by it
  recorded_on   date,
  dedupe_key    text collate "C" not null unique,
  points        bigint not null,
  first_seen_at timestamptz,
  last_seen_at  timestamptz,
  run_id        bigint not null
) with (fillfactor = 70);
create index if not exists tracks_order on ~tracks (metres desc, id);
create index if not exists tracks_area on ~tracks using gist (box(point(min_lon, min_lat), point(max_lon, max_lat)));
create sequence if not exists ~track_ids;

create table if not exists ~track_geometries (
  track_id bigint primary key,
  geometry bytea not null -- as gpstracks.AppendLines writes it
);
alter table ~track_geometries alter geometry set storage external; -- it is packed already

-- Tracks made ready for tiles: each level of each track, or each piece of a long one,
-- is in one block. A block fits in a page, and lies in it: nothing is read twice. Blocks
-- of a low tier are young and spread wide; those of a tier that is full are put
-- together anew in the next. An area lies beside those of other levels: its x is
-- moved by 2^28 units for each level.
create sequence if not exists ~track_block_ids;
create table if not exists ~track_blocks (
  id       bigint primary key default nextval('~track_block_ids'),
  level    integer not null,
  tier     integer not null,
  place    bigint  not null, -- along the Hilbert curve, of its first feature
  features integer not null,
  area     box     not null,
  data     bytea   not null
);
alter table ~track_blocks alter data set storage external;
alter table ~track_blocks set (toast_tuple_target = 8160); -- the greatest that there is
create index if not exists track_blocks_tier on ~track_blocks (level, tier, place, id);
create index if not exists track_blocks_area on ~track_blocks using gist (area);

-- How many features a tier holds.
create table if not exists ~track_tiers (
  level    integer not null,
  tier     integer not null,
  features bigint  not null,
  primary key (level, tier)
) with (fillfactor = 50);

-- Whoever changes tracks locks the row first: those who do take turns. It says for
-- which layout the blocks are; 0 for none yet.
create table if not exists ~track_turn (
  one            boolean primary key check (one),
  blocks_version bigint not null
);
insert into ~track_turn (one, blocks_version) values (true, 0) on conflict do nothing;

-- Where maps look different, for servers that did not make the change.
create table if not exists ~track_changes (
  id      bigint generated always as identity primary key,
  min_lon double precision not null,
  min_lat double precision not null,
  max_lon double precision not null,
  max_lat double precision not null
);

create table if not exists ~pipeline_runs (
  id          bigint generated always as identity primary key,
  source      text    not null,
  region      text    not null,
  dry_run     boolean not null,
  started_at  timestamptz,
  finished_at timestamptz,
  status      text    not null,
  requests    bigint  not null,
  fetched     bigint  not null,
  inserted    bigint  not null,
  updated     bigint  not null,
  duplicates  bigint  not null,
  rejected    bigint  not null,
  bytes       bigint  not null,
  error       text    not null,
  cursor      text    not null
);
create index if not exists pipeline_runs_source on ~pipeline_runs (source, id);
