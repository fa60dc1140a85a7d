create index tasks_ended on ~tasks (updated_at desc nulls last, id desc) where stage in ('done', 'cancelled');
