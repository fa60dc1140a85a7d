-- What no answer may show: places, and tracks that were removed and are not kept again.
create table if not exists ~track_zones (
  name     text             primary key,
  lon      double precision not null,
  lat      double precision not null,
  radius_m double precision not null,
  secret   text             not null, -- the edge is drawn from it
  made_at  timestamptz
);
create table if not exists ~track_removals (
  id          bigint      generated always as identity primary key,
  dedupe_key  text        not null,
  source      text        not null,
  external_id text        not null,
  reason      text        not null,
  removed_by  text        not null,
  removed_at  timestamptz
);
