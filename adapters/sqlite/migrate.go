package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed schema.sql
var schema string

//go:embed layout3.sql
var fromLayout2 string

//go:embed layout4.sql
var fromLayout3 string

// layoutVersion is of the tables in schema.sql, kept as the file's user_version. It
// rises when an older program would read the tables wrongly.
const layoutVersion = 4

// oldestLayout is the first that this program carries over.
const oldestLayout = 2

// querier answers a query: the writer's connection, or a file that is only looked at.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// layout reads which layout the file has and refuses one that this program cannot read;
// 0 is an empty file.
func layout(ctx context.Context, file querier) (version int, err error) {
	var tables int
	if err := file.QueryRowContext(ctx, "pragma user_version").Scan(&version); err != nil {
		return 0, err
	}
	if err := file.QueryRowContext(ctx, "select count(*) from sqlite_schema where name = 'jobs'").Scan(&tables); err != nil {
		return 0, err
	}
	switch {
	case version > layoutVersion:
		return 0, fmt.Errorf("the file has layout %d and this program reads %d: "+
			"use the newer program that made it, or another file", version, layoutVersion)
	case version < oldestLayout && tables+version > 0:
		return 0, fmt.Errorf("the file has layout %d and this program reads %d: "+
			"use the older program that made it, or another file", version, layoutVersion)
	}
	return version, nil
}

// alone refuses a file of an older layout while another process has it open: that one would read the new tables wrongly.
func alone(ctx context.Context, path string) error {
	version, err := layoutOf(ctx, path)
	if err != nil || version == 0 || version == layoutVersion {
		return err
	}
	return Unused(ctx, path)
}

// migrate brings the tables up to date, inside a transaction of the writer.
func (d *DB) migrate(ctx context.Context) error {
	version, err := layout(ctx, d.conn)
	if err != nil {
		return err
	}
	script := schema
	if outdated, err := d.has(ctx, "select count(*) from sqlite_schema where name = 'tasks_issue' and sql not like '% where %'"); err != nil {
		return err
	} else if outdated { // it has kept a card to one task for ever
		script = "drop index tasks_issue; " + script
	}
	if version == 2 || version == 3 {
		script = fromLayout3 + script
	}
	if version == 2 {
		before, after, _ := strings.Cut(fromLayout2, "-- the new tables are made here\n")
		script = before + script + after
	}
	script += fmt.Sprintf("; pragma user_version = %d", layoutVersion)
	if _, err = d.conn.ExecContext(ctx, script); err != nil {
		return err
	}
	for _, c := range added() {
		if err := d.add(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// column is one that a file of this layout may lack: it was made before the column was.
type column struct{ table, name, kind string }

func added() []column {
	return []column{
		{"journal", "link", "blob not null default x''"}, // of the chain
		{"agent_runs", "measured", "text not null default 'null'"},
		{"agent_runs", "refused", "text not null default 'null'"},
		{"agent_runs", "text_hash", "text not null default ''"},
	}
}

func (d *DB) add(ctx context.Context, c column) error {
	there, err := d.has(ctx, "select count(*) from pragma_table_info(?) where name = ?", c.table, c.name)
	if err != nil || there {
		return err
	}
	_, err = d.conn.ExecContext(ctx, fmt.Sprintf("alter table %s add column %s %s", c.table, c.name, c.kind))
	return err
}

func (d *DB) has(ctx context.Context, query string, args ...any) (there bool, err error) {
	err = d.conn.QueryRowContext(ctx, query, args...).Scan(&there)
	return there, err
}
