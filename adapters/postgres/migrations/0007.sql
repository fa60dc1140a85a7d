-- Jobs that host programs have put in transactions of their own. They are moved into
-- the queue in the order of their ids once they are committed.
create table ~inbox (
  id  bigint generated always as identity primary key,
  job bytea not null -- as JSON
);
