-- Blocks are built after the tracks are kept, many at a time.

-- Lines of a few points lie in the row of their track; null: they are in
-- track_geometries.
alter table tracks add column geometry blob;

-- Tracks that are in no block yet, by ranges of ids that do not overlap. Some ids of
-- a range may be of no track. changed counts what happened to tracks of the range
-- since it was written.
create table if not exists track_unbuilt (
  first_id integer primary key,
  last_id  integer not null,
  points   integer not null,
  changed  integer not null default 0
);
