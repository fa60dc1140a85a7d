-- What entries of the journal name by its hash, compressed.
create table ~contents (
  id   text primary key,
  body bytea not null
);
