-- What no answer may show: places, and tracks that were removed and are not kept again.
create table track_zones (
  name     text    primary key,
  lon      real    not null,
  lat      real    not null,
  radius_m real    not null,
  secret   text    not null, -- the edge is drawn from it
  made_at  integer not null
) without rowid;
create table track_removals (
  id          integer primary key autoincrement,
  dedupe_key  text    not null,
  source      text    not null,
  external_id text    not null,
  reason      text    not null,
  removed_by  text    not null,
  removed_at  integer not null
);
