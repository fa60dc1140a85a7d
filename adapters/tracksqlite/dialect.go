package tracksqlite

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/trackstore"
)

// near finds blocks by their R*Tree. An area is [level, west, north, east, south].
const near = `id in (select r.id from json_each($1) a cross join track_block_bounds r
	where r.min_level <= a.value->>0 and r.max_level >= a.value->>0 and r.min_x <= a.value->>3 and r.max_x >= a.value->>1
	and r.min_y <= a.value->>4 and r.max_y >= a.value->>2)`

func dialect() trackstore.Dialect {
	return trackstore.Dialect{
		In:      "%s in (select value from json_each($%s))",
		Touches: "id in (select id from track_bounds where max_lon >= $%d and max_lat >= $%d and min_lon <= $%d and min_lat <= $%d)",
		Near:    near, AreaColumns: []string{"min_x", "max_x", "min_y", "max_y"},
		Arg: arg,
		Areas: func(areas []trackstore.Area) any {
			all := make([][5]int32, len(areas))
			for i, a := range areas {
				all[i] = [5]int32{int32(a.Level), a.Window.MinX, a.Window.MinY, a.Window.MaxX, a.Window.MaxY}
			}
			return list(all)
		},
		AreaCells: func(a trackstore.Area) []any {
			return []any{a.Window.MinX, a.Window.MaxX, a.Window.MinY, a.Window.MaxY}
		},
		Insert: insert,
	}
}

func arg(a any) any {
	switch a := a.(type) {
	case []string:
		return list(a)
	case []int64:
		return list(a)
	case time.Time:
		if a.IsZero() {
			return int64(0)
		}
		return a.UnixMicro()
	}
	return a
}

// list is a list as json_each reads it.
func list[T any](all []T) string {
	b, err := json.Marshal(all)
	if err != nil || all == nil { // numbers and strings always encode
		return "[]"
	}
	return string(b)
}

func insert(ctx context.Context, rows *trackstore.Rows) error {
	query := "insert into " + rows.Table + " (" + strings.Join(rows.Columns, ", ") + ") values (?" +
		strings.Repeat(", ?", len(rows.Columns)-1) + ")"
	statement, err := rows.Conn.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	for i := 0; i < len(rows.Cells) && err == nil; i++ {
		_, err = statement.ExecContext(ctx, rows.Cells[i]...)
	}
	return errors.Join(err, statement.Close())
}
