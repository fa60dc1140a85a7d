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
