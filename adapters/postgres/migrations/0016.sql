-- A planner that takes the tasks of a repository for evenly spread walks the ids of all of them for its first one. No other index
-- has ids in this form, and in this order.
drop index ~tasks_line;
create index tasks_line on ~tasks (repo, (id + 0)) where ended_at is null;
