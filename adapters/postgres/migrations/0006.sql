-- The jobs that failed. An index on the status of jobs would keep the end of every
-- job from being an update in place.
create table ~failed_jobs (
  job_id      bigint primary key,
  finished_at timestamptz not null
);
create index failed_jobs_end on ~failed_jobs (finished_at, job_id);

create function ~note_failed() returns trigger language plpgsql as
  $$ begin
    if tg_op = 'UPDATE' and new.status = 'failed' then
      insert into ~failed_jobs (job_id, finished_at) values (new.id, new.finished_at)
        on conflict (job_id) do update set finished_at = excluded.finished_at;
    else
      delete from ~failed_jobs where job_id = old.id;
    end if;
    return null;
  end $$;
create trigger jobs_failed after update of status on ~jobs
  for each row when (new.status = 'failed' or old.status = 'failed') execute function ~note_failed();
create trigger jobs_removed after delete on ~jobs
  for each row when (old.status = 'failed') execute function ~note_failed();

insert into ~failed_jobs (job_id, finished_at) select id, coalesce(finished_at, created_at) from ~jobs where status = 'failed';
