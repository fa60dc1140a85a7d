create table if not exists board_cards (
	id text primary key,
	project text not null,
	number bigint not null,
	form text not null,           -- what has made it: once
	title text not null,
	description text not null,
	col text not null,
	state bigint not null,        -- 0 live, 1 archived, 2 deleted
	version bigint not null,      -- of title and description
	entries bigint not null,      -- of its log
	made_by text not null,
	made_at bigint not null,      -- microseconds since 1970, as all times here
	moved_at bigint not null,
	unique (project, number),
	unique (project, form)
);
create index if not exists board_cards_moved on board_cards (project, state, moved_at);

create table if not exists board_comments (
	id text primary key,
	project text not null,
	card text not null references board_cards (id),
	form text not null,
	author text not null,
	body text not null,
	small text not null,          -- links and small print, as JSON
	at bigint not null,
	unique (project, form)
);
create index if not exists board_comments_card on board_comments (card, at);
create index if not exists board_comments_author on board_comments (author);

create table if not exists board_relations (
	card text not null references board_cards (id),
	blocked_by text not null references board_cards (id),
	primary key (card, blocked_by)
);
create index if not exists board_relations_other on board_relations (blocked_by);

create table if not exists board_labels (
	card text primary key references board_cards (id),
	labels text not null          -- names, with a comma between them
);

create table if not exists board_ranks (
	card text primary key references board_cards (id),
	rank bigint not null          -- the smallest is first in its column
);

create table if not exists board_files (
	id text primary key,
	card text not null references board_cards (id),
	name text not null,
	type text not null,
	size bigint not null,
	body bytea not null,
	made_by text not null,
	proof text not null,
	at bigint not null
);
create index if not exists board_files_card on board_files (card, at);

create table if not exists board_moves (
	card text not null references board_cards (id),
	n bigint not null,
	kind text not null,
	from_col text not null,
	to_col text not null,
	actor text not null,
	proof text not null,
	before_it text not null,
	at bigint not null,
	primary key (card, n)
);
create index if not exists board_moves_actor on board_moves (actor);

create table if not exists board_revision (
	id bigint primary key,
	n bigint not null
);
insert into board_revision (id, n) values (1, 0) on conflict do nothing;
