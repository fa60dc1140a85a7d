package mbtiles_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/mbtiles"
	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/export"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// planned is a plan of generated tracks.
func planned(ctx context.Context, zoom int) (*tracksqlite.Tracks, *export.Plan, error) {
	s, err := tracksqlite.Open(ctx, tracksqlite.Options{Path: tracksqlite.Memory})
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.Upsert(ctx, sample.Tracks(50, 3)); err != nil {
		return nil, nil, err
	}
	p, err := export.NewPlan(ctx, export.Options{Store: s, Tiles: s, Sources: []string{"club", "osm", "upload"}, MaxZoom: zoom})
	return s, p, err
}

// The file has the tiles that a server has, by its own SQL.
func TestWrite(t *testing.T) {
	t.Parallel()
	s, p, err := planned(t.Context(), 10)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a?b.mbtiles")
	require.NoError(t, mbtiles.Write(t.Context(), p, path))
	require.Error(t, mbtiles.Write(t.Context(), p, path), "there is a file already")
	db, err := sql.Open("sqlite", "file:"+filepath.Dir(path)+"/a%3fb.mbtiles?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "select zoom_level, tile_column, tile_row, tile_data from tiles")
	require.NoError(t, err)
	defer rows.Close()
	e, n := tile.NewEncoder(tile.Limits{}), 0
	for rows.Next() {
		var id tile.ID
		var row int
		var data []byte
		require.NoError(t, rows.Scan(&id.Z, &id.X, &row, &data))
		id.Y = 1<<id.Z - 1 - row
		z, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		body, err := io.ReadAll(z)
		require.NoError(t, err)
		want, _, err := e.Encode(t.Context(), nil, s, id, gpstracks.Filter{})
		require.NoError(t, err)
		require.Equal(t, want, body, "%v", id)
		n++
	}
	require.NoError(t, rows.Err())
	require.Greater(t, n, 50)
	about := map[string]string{}
	metadata, err := db.QueryContext(t.Context(), "select name, value from metadata")
	require.NoError(t, err)
	defer metadata.Close()
	for metadata.Next() {
		var name, value string
		require.NoError(t, metadata.Scan(&name, &value))
		about[name] = value
	}
	require.NoError(t, metadata.Err())
	require.Equal(t, []string{"pbf", "0", "10", "overlay"}, []string{about["format"], about["minzoom"], about["maxzoom"], about["type"]})
	require.Contains(t, about["json"], `"vector_layers"`)
	require.Contains(t, about["attribution"], "Generated, in the public domain")
	require.Regexp(t, `^[\d.]+,[\d.]+,[\d.]+,[\d.]+$`, about["bounds"])
}

// Generated tracks as a file for a tile server.
func ExampleWrite() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	_, plan, err := planned(ctx, 6)
	if err == nil {
		err = mbtiles.Write(ctx, plan, filepath.Join(dir, "tracks.mbtiles"))
	}
	fmt.Println(err)
	// Output: <nil>
}
