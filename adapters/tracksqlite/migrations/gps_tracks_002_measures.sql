-- When tracks were recorded, how they go up and down, and what decided their activity. Columns
-- have defaults: a program of the layout before this one goes on writing.
alter table tracks add column activity_from text not null default '';
alter table tracks add column started_at integer not null default 0;
alter table tracks add column ended_at integer not null default 0;
alter table tracks add column moving_s integer not null default 0;
alter table tracks add column ascent_m real; -- null, as the next four: no elevation is known
alter table tracks add column descent_m real;
alter table tracks add column min_ele_m real;
alter table tracks add column max_ele_m real;
alter table tracks add column profile blob; -- as gpstracks.AppendProfile writes it
