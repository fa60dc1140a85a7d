-- What a task waits for: tasks of its repository that must be finished first.
create table ~job_deps (
  task_id            bigint      not null,
  depends_on_task_id bigint      not null,
  source             text        not null,
  created_at         timestamptz not null,
  primary key (task_id, depends_on_task_id)
);
