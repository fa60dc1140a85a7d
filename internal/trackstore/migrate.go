package trackstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Within runs f in a transaction.
func Within(ctx context.Context, conn *sql.Conn, f func(*sql.Tx) error) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Migrate applies files, named <domain>_<NNN>_<name>.sql, in the order of their names, each
// once; simple is what lets the driver take several statements at once. Files only add: an
// older program leaves those of a newer one alone.
func Migrate(ctx context.Context, tx *sql.Tx, files fs.FS, prefix string, simple ...any) error {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return err
	}
	for _, file := range names {
		body, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		name, applied := strings.TrimSuffix(path.Base(file), ".sql"), 0
		if err := tx.QueryRowContext(ctx, "select count(*) from "+prefix+"schema_migrations where name = $1",
			name).Scan(&applied); err != nil {
			return err
		}
		if applied > 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, strings.ReplaceAll(string(body), "~", prefix), simple...); err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
		if _, err := tx.ExecContext(ctx, "insert into "+prefix+"schema_migrations (name) values ($1)", name); err != nil {
			return err
		}
	}
	return nil
}
