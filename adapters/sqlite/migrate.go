package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
)

// migrations are named <domain>_<NNN>_<name>.sql and applied in the order of
// their names, each once. They only add.
//
//go:embed migrations/*.sql
var migrations embed.FS

// layoutVersion is of the tables in schema.sql, kept as the file's user_version. It
// rises when an older program would read the tables wrongly.
const layoutVersion = 2

// layout refuses a file whose tables this program cannot read.
func (d *DB) layout(ctx context.Context) error {
	var version, tables int
	if err := d.conn.QueryRowContext(ctx, "pragma user_version").Scan(&version); err != nil {
		return err
	}
	if err := d.conn.QueryRowContext(ctx, "select count(*) from sqlite_schema where name = 'jobs'").Scan(&tables); err != nil {
		return err
	}
	switch {
	case tables == 0 && version == 0:
		_, err := d.conn.ExecContext(ctx, fmt.Sprint("pragma user_version = ", layoutVersion))
		return err
	case version > layoutVersion:
		return fmt.Errorf("the file has layout %d and this program reads %d: use the newer program that made it, or another file", version, layoutVersion)
	case version < layoutVersion:
		return fmt.Errorf("the file has layout %d and this program reads %d: use the older program that made it, or another file", version, layoutVersion)
	}
	return nil
}

// migrate brings the schema up to date, inside a transaction of the writer.
func (d *DB) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	if _, err := d.conn.ExecContext(ctx, "create table if not exists schema_migrations (name text primary key, applied_at integer not null) without rowid"); err != nil {
		return err
	}
	for _, name := range names {
		body, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		var applied int
		if err := d.conn.QueryRowContext(ctx, "select count(*) from schema_migrations where name = ?", name).Scan(&applied); err != nil {
			return err
		}
		if applied > 0 {
			continue
		}
		if _, err := d.conn.ExecContext(ctx, string(body)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := d.conn.ExecContext(ctx, "insert into schema_migrations (name, applied_at) values (?, ?)", name, micros(d.now())); err != nil {
			return err
		}
	}
	return nil
}
