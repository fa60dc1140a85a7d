-- What is so until it is taken back. Such rows stood among the holds, and held nothing.
create table ~facts (
  kind    text not null,
  of_what text not null,
  task_id bigint not null, -- 0 = none
  text    text not null,
  since   timestamptz not null,
  primary key (kind, of_what, task_id)
);
insert into ~facts (kind, of_what, task_id, text, since)
  select case name when 'wip_works' then 'place' else name end,
    case when name = 'wip_works' then substr(subject, 11, length(subject) - 30)
      when name = 'wait_comment' then substr(subject, 6)
      else substr(subject, length(name) + 2) end,
    case when name = 'wip_works' then cast(substr(subject, length(subject) - 18) as bigint)
      when name = 'wait_comment' then cast(substr(subject, 6) as bigint)
      else 0 end,
    reason, since
  from ~holds where name in ('wip_works', 'wait_comment', 'budget_told', 'webhooks_told', 'brake_told', 'stranded_told', 'access');
delete from ~holds where name in
  ('wip_works', 'wip_waits', 'wait_comment', 'budget_told', 'webhooks_told', 'brake_told', 'stranded_told', 'access');
