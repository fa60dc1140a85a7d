-- Who stands before and behind a task in its repository is a question at each beginning
-- and end.
create index tasks_line on ~tasks (repo, id) where ended_at is null;
