-- Who may come in: named tokens by their hashes, and sessions of browsers by those of their cookies.
create table ~access_tokens (
  name       text primary key,
  hash       text not null,
  role       text not null,
  repos      text not null, -- JSON; none = all
  made_at    timestamptz not null,
  expires_at timestamptz -- null = never
);
create table ~access_sessions (
  id          text primary key,
  name        text not null,
  via         text not null,
  credential  text not null,
  memberships text not null, -- JSON: groups that the identity provider has named
  address     text not null,
  began_at    timestamptz not null,
  seen_at     timestamptz not null
);

-- The journal is a chain from here on: the hash of the entry before, and its own. Entries from before have none.
alter table ~journal add column link bytea not null default '';
create table ~journal_head (name text primary key, hash bytea not null);
