package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/internal/sqlstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// ErrFilled means that a table which is to be filled has rows already.
var ErrFilled = errors.New("postgres: the schema is not empty")

// goOn has what numbers rows and tasks go on behind the last of them.
const goOn = `do $$ declare c record; begin
	for c in select format('%I.%I', table_schema, table_name) as t from information_schema.columns
		where '~' = '"' || table_schema || '".' and is_identity = 'YES' and column_name = 'id'
	loop execute format('select setval(pg_get_serial_sequence(%L, ''id''), max(id)) from %s having max(id) > 0', c.t, c.t); end loop;
	perform setval('~task_ids', max(n)) from
		(select max(id) as n from ~tasks union all select max(task_id) from ~journal) x having max(n) > 0;
end $$`

const (
	// ofFile and ofSchema are the tables and columns that there are. Here sequences count, and tracks have
	// left the file of the tasks.
	ofFile = "select json_group_array(name) from (" +
		"select name from sqlite_schema where type = 'table' and name not like 'sqlite%' and name not like 'track%' " +
		"and name not in ('counters', 'pipeline_runs', 'schema_migrations') order by name)"
	ofSchema = `select coalesce(array_agg(column_name::text), '{}'), coalesce(array_agg(udt_name::text), '{}')
		from information_schema.columns where table_schema = $1 and table_name = $2`

	// inFile counts columns and rows. merge_defers is of a program of before, and empty.
	inFile = "select (select count(*) from pragma_table_info('%[1]s') where name <> 'merge_defers'), count(*) from \"%[1]s\""
)

// Fill fills the schema, in one transaction, with what an SQLite file of this program keeps that
// nobody writes: all of its tables that are here too, and those that besides names of other files. It returns how many
// rows each has. begun are tables with rows from their making on. check judges the journal as it is here then. Tables that are
// laid out in another way, and a number of rows that is not the file's, are errors; an error leaves all as it was.
func (d *DB) Fill(
	ctx context.Context, from *sql.DB, besides map[string]*sql.DB, check func(task.Chain) error, begun ...string,
) (counts map[string]int64, err error) {
	c, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return nil, wrap(err)
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	counts = map[string]int64{}
	return counts, pgx.BeginFunc(ctx, c, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, d.q(lockTurn)); err != nil {
			return err
		}
		var names []byte
		var list []string // in an order in which cards come before what refers to them
		err := from.QueryRowContext(ctx, ofFile).Scan(&names)
		if err = errors.Join(err, json.Unmarshal(names, &list)); err != nil {
			return err
		}
		for _, name := range append(list, slices.Collect(maps.Keys(besides))...) {
			if counts[name], err = d.fill(ctx, t, cmp.Or(besides[name], from), name, slices.Contains(begun, name)); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
		}
		if _, err := t.Exec(ctx, d.q(goOn)); err != nil {
			return err
		}
		seen := sqlstore.New(ctx, sqlstore.Options{Driver: within{dialect{d}, t}, Now: d.now, Log: d.log})
		defer seen.Close()
		return check(seen)
	})
}

// fill fills one table.
func (d *DB) fill(ctx context.Context, t pgx.Tx, from *sql.DB, name string, begun bool) (count int64, err error) {
	to := pgx.Identifier{d.schema, name}
	var columns, kinds []string
	var there int
	var filled int64
	err = t.QueryRow(ctx, ofSchema, d.schema, name).Scan(&columns, &kinds)
	err = errors.Join(err, from.QueryRowContext(ctx, fmt.Sprintf(inFile, name)).Scan(&there, &count))
	switch {
	case err != nil:
	case there != len(columns) && (count > 0 || len(columns) > 0):
		err = fmt.Errorf("it has %d columns in the file and %d in the schema %s: use one build for both", there, len(columns), d.schema)
	case len(columns) == 0: // of SQLite alone, and empty
		return 0, nil
	case begun:
		_, err = t.Exec(ctx, "delete from "+to.Sanitize())
	default:
		if err = t.QueryRow(ctx, "select count(*) from "+to.Sanitize()).Scan(&filled); filled > 0 {
			err = ErrFilled
		}
	}
	if err != nil {
		return 0, err
	}
	rows, err := from.QueryContext(ctx, `select "`+strings.Join(columns, `", "`)+`" from "`+name+`"`)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	filled, err = t.CopyFrom(ctx, to, columns, pgx.CopyFromFunc(func() ([]any, error) { return carry(rows, kinds) }))
	if err = errors.Join(err, rows.Err()); err == nil && filled != count {
		err = fmt.Errorf("%d rows were read, and %d are there now", count, filled)
	}
	return count, err
}

// carry reads the next row as columns of these kinds hold it; none is the end.
func carry(rows *sql.Rows, kinds []string) ([]any, error) {
	if !rows.Next() {
		return nil, rows.Err()
	}
	row, into := make([]any, len(kinds)), make([]any, len(kinds))
	for i := range row {
		into[i] = &row[i]
	}
	err := rows.Scan(into...)
	for i, kind := range kinds {
		switch v := row[i].(type) {
		case int64:
			if kind == "timestamptz" || kind == "date" {
				row[i] = when(map[bool]time.Time{true: time.UnixMicro(v)}[v != 0])
			}
		case []byte:
			row[i] = append([]byte{}, v...) // one that is empty is not null
		case string:
			row[i] = sqlstore.Clean(v) // SQLite takes what is no text here
			if kind == "_text" {
				list := []string{}
				err = errors.Join(err, json.Unmarshal([]byte(v), &list))
				row[i] = list
			}
		}
	}
	return row, err
}

// within reads in a transaction.
type within struct {
	dialect
	tx pgx.Tx
}

func (w within) Read(ctx context.Context, _ bool, f func(sqlstore.Conn) error) error {
	return f(w.db.on(ctx, w.tx))
}
