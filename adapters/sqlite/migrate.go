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
