package tracksqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/trackstore"
)

// carryOver copies the tracks of a file that held them beside other things, once, in one
// transaction of this file: killed in the middle, nothing was copied, and the next Open begins
// anew. The other file is only read. Blocks are built again from the tracks.
func carryOver(ctx context.Context, conn *sql.Conn, o Options) error {
	info, err := os.Stat(o.From)
	if o.From == "" || errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "attach $1 as old", dsn(o.From)+"&mode=ro"); err != nil {
		return err
	}
	err = trackstore.Within(ctx, conn, func(tx *sql.Tx) error {
		n, err := copyOld(ctx, tx)
		if n > 0 && err == nil {
			o.Log.Info("copying tracks to a file of their own", "tracks", n)
		}
		return err
	})
	_, detached := conn.ExecContext(context.WithoutCancel(ctx), "detach old")
	return errors.Join(err, detached)
}

// copyOld copies what the attached file has, unless that was done, and returns how many tracks
// that are.
func copyOld(ctx context.Context, tx *sql.Tx) (n int, err error) {
	var there, done int
	if err := tx.QueryRowContext(ctx, "select count(*) from old.sqlite_schema where name in ('tracks', "+
		"'counters')").Scan(&there); err != nil || there < 2 {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, "select count(*) from track_state where name = 'carried over'").Scan(&done); err != nil || done > 0 {
		return 0, err
	}
	for _, table := range []string{"tracks", "track_geometries", "track_changes", "pipeline_runs"} {
		if err := copyTable(ctx, tx, table); err != nil {
			return 0, fmt.Errorf("table %s: %w", table, err)
		}
	}
	// Blocks version 0 has every block built.
	if _, err := tx.ExecContext(ctx, `insert or replace into track_state (name, value) select 'track', value from old.counters where `+
		`name = 'track'
		union all select 'blocks version', 0 union all select 'carried over', 1`); err != nil {
		return 0, err
	}
	return n, tx.QueryRowContext(ctx, "select count(*) from tracks").Scan(&n)
}

// copyTable copies the columns that both files have: an older program made fewer.
func copyTable(ctx context.Context, tx *sql.Tx, table string) error {
	var columns sql.NullString
	if err := tx.QueryRowContext(ctx, `select group_concat(name, ', ') from pragma_table_info($1, 'old')
		where name in (select name from pragma_table_info($1, 'main'))`, table).Scan(&columns); err != nil || !columns.Valid {
		return err
	}
	_, err := tx.ExecContext(ctx, strings.NewReplacer("TABLE", table, "COLUMNS",
		columns.String).Replace("insert into main.TABLE (COLUMNS) select COLUMNS from old.TABLE"))
	return err
}
