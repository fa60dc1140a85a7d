package trackpostgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/signalbox-dev/signalbox/internal/trackstore"
)

func dialect(schema string) trackstore.Dialect {
	return trackstore.Dialect{
		Prefix:  pgx.Identifier{schema}.Sanitize() + ".",
		In:      "%s = any($%s)",
		Touches: "box(point(min_lon, min_lat), point(max_lon, max_lat)) && box(point($%d, $%d), point($%d, $%d))",
		Near:    "area && ($1::box[])[1]",
		NearAny: "id in (select b.id from unnest($1::box[]) w(area) join ~track_blocks b on b.area && w.area)",
		Empty:   "truncate", AreaColumns: []string{"area"}, Arg: arg, Transient: transient,
		Insert: func(ctx context.Context, rows *trackstore.Rows) error { return insert(ctx, schema, rows) },
		Areas: func(areas []trackstore.Area) any {
			boxes := make([]pgtype.Box, len(areas))
			for i, a := range areas {
				boxes[i] = box(a)
			}
			return boxes
		},
		AreaCells: func(a trackstore.Area) []any { return []any{box(a)} },
		Lost: func(err error) bool {
			var refused *pgconn.PgError
			return !errors.As(err, &refused) && !errors.Is(err, pgx.ErrTxCommitRollback)
		},
	}
}

// strip is how far the areas of a level lie east of those of the one before it.
const strip = 1 << 28

// box is where an area lies among those of all levels.
func box(a trackstore.Area) pgtype.Box {
	east, w := float64(a.Level)*strip, a.Window
	return pgtype.Box{
		P:     [2]pgtype.Vec2{{X: east + float64(w.MaxX), Y: float64(w.MaxY)}, {X: east + float64(w.MinX), Y: float64(w.MinY)}},
		Valid: true,
	}
}

func arg(a any) any {
	at, ok := a.(time.Time)
	switch {
	case !ok:
		return a
	case at.IsZero():
		return nil
	}
	return at.UTC().Truncate(time.Microsecond)
}

// insert sends rows by COPY, on the connection of the transaction.
func insert(ctx context.Context, schema string, rows *trackstore.Rows) error {
	return rows.Conn.Raw(func(c any) error {
		own, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("trackpostgres: the driver's connection is a %T", c)
		}
		_, err := own.Conn().CopyFrom(ctx, pgx.Identifier{schema, rows.Table}, rows.Columns, pgx.CopyFromRows(rows.Cells))
		return err
	})
}

func transient(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "40001", "40P01", // serialization failure, deadlock
			"55P03", "57014", // lock or statement took too long
			"57P01", "57P02", "57P03", "57P05", // shut down, crashed, starting, idle session ended
			"25P03", // idle in transaction for too long: we were paused
			"25006": // read only: the primary is a standby now
			return true
		}
		return strings.HasPrefix(pg.Code, "08") || strings.HasPrefix(pg.Code, "53") || strings.HasPrefix(pg.Code, "58")
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded)
}
