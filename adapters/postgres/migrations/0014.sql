-- A card has one unfinished task, and as many that have ended as it likes.
drop index ~tasks_issue;
create unique index tasks_issue on ~tasks (tracker_project_id, tracker_issue_id) where ended_at is null;
