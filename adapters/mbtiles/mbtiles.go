// Package mbtiles writes tiles of tracks to an MBTiles file: SQLite 3, with rows from the south as its
// specification has them. Equal tiles are kept once, behind the view "tiles".
package mbtiles

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/signalbox-dev/signalbox/gpstracks/export"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

const schema = `
create table metadata (name text primary key, value text);
create table images (tile_id blob primary key, tile_data blob not null);
create table map (zoom_level integer, tile_column integer, tile_row integer, tile_id blob not null, primary key (zoom_level, ` +
	`tile_column, tile_row)) without rowid;
create view tiles as select zoom_level, tile_column, tile_row, tile_data from map join images using (tile_id);
pragma application_id = 0x4d504258;`

// Write writes the tiles of a plan to a new file at path.
func Write(ctx context.Context, p *export.Plan, path string) (err error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).
		String()+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := write(ctx, p, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func write(ctx context.Context, p *export.Plan, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	texts, err := describe(p)
	if err != nil {
		return err
	}
	for name, value := range texts {
		if _, err := tx.ExecContext(ctx, "insert into metadata values ($1, $2)", name, value); err != nil {
			return err
		}
	}
	return p.Each(ctx, func(t tile.ID, body []byte) error {
		sum := sha256.Sum256(body)
		if _, err := tx.ExecContext(ctx, "insert into images values ($1, $2) on conflict do nothing", sum[:16], body); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "insert into map values ($1, $2, $3, $4)", t.Z, t.X, 1<<t.Z-1-t.Y, sum[:16])
		return err
	})
}

// describe are the rows of metadata: vector_layers are in the one named json.
func describe(p *export.Plan) (map[string]string, error) {
	out := map[string]string{}
	for name, value := range p.Describe() {
		switch v := value.(type) {
		case string:
			out[name] = v
		case []float64:
			parts := make([]string, len(v))
			for i, n := range v {
				parts[i] = fmt.Sprint(n)
			}
			out[name] = strings.Join(parts, ",")
		case int:
			out[name] = fmt.Sprint(v)
		default:
			text, err := json.Marshal(map[string]any{name: v})
			if err != nil {
				return nil, err
			}
			out["json"] = string(text)
		}
	}
	return out, nil
}
