-- Cancelled tasks are found by the names that they had: those are the beginnings of
-- what they have now, byte by byte.
create index tasks_tombs on ~tasks (tracker_issue_id collate "C");
create index tasks_item_tombs on ~tasks (work_item_id collate "C");
