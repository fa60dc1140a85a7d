package trackpostgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/signalbox-dev/signalbox/internal/pgerror"
	"github.com/signalbox-dev/signalbox/internal/trackstore"
)

func dialect(schema string) trackstore.Dialect {
	return trackstore.Dialect{
		Prefix:      pgx.Identifier{schema}.Sanitize() + ".",
		In:          "%s = any($%s)",
		Touches:     "box(point(min_lon, min_lat), point(max_lon, max_lat)) && box(point($%d, $%d), point($%d, $%d))",
		Near:        "area && any($1::box[])",
		Planned:     []any{pgx.QueryExecModeCacheStatement},
		AreaColumns: []string{"area"}, Arg: arg, Transient: pgerror.Transient,
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

// strip is the distance of the areas of a level east of those of the one before it.
const strip = 1 << 28

// box places an area among those of all levels.
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
