-- Blocks are built after the tracks are kept, many at a time.

-- Lines of a few points lie in the row of their track; null: they are in
-- track_geometries.
alter table ~tracks add column if not exists geometry bytea;

-- Tracks that are in no block yet, by ranges of ids that do not overlap. Some ids of
-- a range may be of no track. changed counts what happened to tracks of the range
-- since it was written.
create table if not exists ~track_unbuilt (
  first_id bigint primary key,
  last_id  bigint not null,
  points   bigint not null,
  changed  bigint not null default 0
);

-- version counts the changes of tracks: what was read of them before the turn is
-- still true if it is the same.
alter table ~track_turn add column if not exists version bigint not null default 0;

-- All rows of a page may be seen again in one call, and each is written beside itself.
alter table ~tracks set (fillfactor = 50);
