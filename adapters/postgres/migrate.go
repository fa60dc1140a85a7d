package postgres

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migration is one step of the schema. What was published is never changed.
type migration struct {
	version int
	text    string
}

func steps() ([]migration, error) {
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var out []migration
	for _, e := range entries {
		n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".sql"))
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(path.Join("migrations", e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, migration{n, string(text)})
	}
	slices.SortFunc(out, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	return out, nil
}

// prepare judges the server and brings the tables up to date.
func (d *DB) prepare(ctx context.Context, unsafe bool) error {
	conn, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // what counts was committed
	if !unsafe {
		if err := safe(ctx, conn); err != nil {
			return err
		}
	}
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: "begin; " + unpaused}, func(t pgx.Tx) error { return d.migrate(ctx, t) })
}

// safe refuses a server that may forget what it has committed.
func safe(ctx context.Context, conn *pgx.Conn) error {
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		var value string
		if err := conn.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return err
		}
		if value == "off" {
			return fmt.Errorf("postgres: the server runs with %s=off and may forget what it has committed: "+
				"switch it on, or set Options.AllowUnsafe for a test", name)
		}
	}
	return nil
}

// migrate applies the steps that are missing. The lock keeps processes that start together from doing so twice; an older program
// leaves the steps of a newer one alone.
func (d *DB) migrate(ctx context.Context, t pgx.Tx) error {
	if _, err := t.Exec(ctx, "select pg_advisory_xact_lock(hashtextextended($1, 0))", "signalbox migrations of "+d.schema); err != nil {
		return err
	}
	version, err := d.version(ctx, t)
	if err != nil {
		return err
	}
	all, err := steps()
	if err != nil {
		return err
	}
	if version > 0 {
		var found int // a table of before tables had a layout has no such column
		err := t.QueryRow(ctx, d.q("select coalesce((to_jsonb(turn) ->> 'layout')::integer, 0) from ~turn")).Scan(&found)
		if err = errors.Join(err, Readable(d.schema, found)); err != nil {
			return err
		}
	}
	all = slices.DeleteFunc(all, func(m migration) bool { return m.version <= version })
	if version > 0 && len(all) > 0 { // writers of the older program wait meanwhile
		if _, err := t.Exec(ctx, d.q("select from ~turn for no key update")); err != nil {
			return err
		}
	}
	for _, m := range all {
		if err := d.step(ctx, t, m); err != nil {
			return fmt.Errorf("migration %d: %w", m.version, err)
		}
	}
	// A store that has not written for a month is gone.
	_, err = t.Exec(ctx, d.q("delete from ~writers where at < now() - interval '30 days'"))
	return err
}

// version is the last step that was applied; 0 for an empty database.
func (d *DB) version(ctx context.Context, t pgx.Tx) (n int, err error) {
	var there bool
	if err := t.QueryRow(ctx, "select to_regclass($1) is not null", d.prefix+"migrations").Scan(&there); err != nil {
		return 0, err
	}
	if there {
		err := t.QueryRow(ctx, d.q("select coalesce(max(version), 0) from ~migrations")).Scan(&n)
		return n, err
	}
	var schema bool // a role that may not make schemas can be given one
	var aside string
	const query = "select coalesce(bool_or(nspname = $1::text), false), coalesce(max(nspname::text) filter (where " +
		"starts_with(nspname::text, $1::text || '_before_')), '') from pg_namespace"
	if err := t.QueryRow(ctx, query, d.schema).Scan(&schema, &aside); err != nil {
		return 0, err
	}
	if aside != "" { // one that was killed there: an empty schema would be taken for all that there was
		return 0, fmt.Errorf("postgres: schema %s has no tables, and a restore has put those before it aside: "+
			"restore again, rename schema %s back, or drop it to begin anew", d.schema, aside)
	}
	if !schema {
		if _, err := t.Exec(ctx, "create schema "+pgx.Identifier{d.schema}.Sanitize()); err != nil {
			return 0, err
		}
	}
	_, err = t.Exec(ctx, d.q("create table ~migrations (version integer primary key, at timestamptz not null default now())"))
	return 0, err
}

// layout is of the tables that this program reads. A later step that only adds leaves it.
const layout = 9

// Readable refuses the layout of a schema's tables, or of a dump of them, that only a newer program reads.
func Readable(schema string, found int) error {
	if found <= layout {
		return nil
	}
	return fmt.Errorf("postgres: the tables of schema %s have layout %d and this program reads %d: "+
		"use the newer program that made them, or another schema", schema, found, layout)
}

func (d *DB) step(ctx context.Context, t pgx.Tx, m migration) error {
	_, err := t.Conn().PgConn().Exec(ctx, d.q(m.text)).ReadAll()
	_, noted := t.Exec(ctx, d.q("insert into ~migrations (version) values ($1)"), m.version)
	if err != nil { // what follows a refused statement only says so
		return err
	}
	return errors.Join(noted)
}
