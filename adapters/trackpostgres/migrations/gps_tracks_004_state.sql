-- Counters that every kind of database has: how often tracks were changed, their last id,
-- and for which layout the blocks are. They take the place of track_turn and track_ids.
create table if not exists ~track_state (name text primary key, value bigint not null) with (fillfactor = 50);
insert into ~track_state (name, value)
  select 'version', version from ~track_turn union all select 'blocks version', blocks_version from ~track_turn
  union all select 'track', greatest(case when is_called then last_value else 0 end, (select coalesce(max(id), 0) from ~tracks)) from ~track_ids
  on conflict do nothing;

-- What each open store has written last: it is looked up when the answer to a commit was
-- lost.
create table if not exists ~track_writers (writer text primary key, seq bigint not null, at timestamptz not null) with (fillfactor = 50);

-- How many features a tier holds is counted by an index.
create index if not exists track_blocks_count on ~track_blocks (level, tier, features);
