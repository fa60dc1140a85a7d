package export_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/export"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// stored are generated tracks, and some that are hard to cover: across the antimeridian, with a
// step across an ocean, in one place, at the pole.
func stored(t *testing.T, n int) *tracksqlite.Tracks {
	t.Helper()
	s := storetest.Memory(t)
	tracks := sample.Tracks(n, 5)
	for i, lines := range []orb.MultiLineString{
		{{{179.9, 60}, {-179.9, 60.1}}}, {{{-70, 40}, {-5, 50}}}, {{{7, 46}, {7.000001, 46}}}, {{{10, 84.9}, {12, 89}}},
	} {
		k, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Name: fmt.Sprintf("hard %d", i), Attribution: "© mappers", Lines: lines})
		require.NoError(t, err)
		tracks = append(tracks, k)
	}
	_, err := s.Upsert(t.Context(), tracks)
	require.NoError(t, err)
	return s
}

func options(s *tracksqlite.Tracks) export.Options {
	return export.Options{Store: s, Tiles: s, Sources: []string{"club", "osm", "upload"}, MaxZoom: 8}
}

// served returns a tile as a server has it.
func served(t *testing.T, e *tile.Encoder, s *tracksqlite.Tracks, id tile.ID) []byte {
	t.Helper()
	body, _, err := e.Encode(t.Context(), nil, s, id, gpstracks.Filter{})
	require.NoError(t, err)
	return body
}

// The tiles of a plan are all that are not empty, each once.
func TestEveryTile(t *testing.T) {
	t.Parallel()
	s := stored(t, 60)
	o := options(s)
	o.MaxZoom = 7
	if testing.Short() {
		o.MaxZoom = 5
	}
	p, err := export.NewPlan(t.Context(), o)
	require.NoError(t, err)
	got := map[tile.ID]bool{}
	require.NoError(t, p.Each(t.Context(), func(id tile.ID, _ []byte) error {
		require.False(t, got[id])
		got[id] = true
		return nil
	}))
	e, n := tile.NewEncoder(tile.Limits{}), 0
	for z := range o.MaxZoom + 1 {
		for x := range 1 << z {
			for y := range 1 << z {
				id := tile.ID{Z: z, X: x, Y: y}
				there := len(served(t, e, s, id)) > 0
				require.Equal(t, there, got[id], "%v", id)
				if there {
					n++
				}
			}
		}
	}
	require.Len(t, got, n)
	require.Greater(t, n, 20)
}

// read asks the library that maps use for tiles of an archive, as hashes.
func read(t *testing.T, path string, ids []tile.ID) (about map[string]map[string]any, sums []string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: NO ARCHIVE WAS READ with pmtiles; install Node.js 20 or newer")
	}
	const dir = "testdata/pmtiles"
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "pmtiles")); err != nil {
		out, err := exec.CommandContext(t.Context(), "npm", "ci", "--prefix", dir, "--no-audit", "--no-fund").CombinedOutput()
		require.NoError(t, err, "npm cannot install pmtiles: let npm reach its registry and run npm ci --prefix gpstracks/export/%s: %s",
			dir, out)
	}
	var wanted bytes.Buffer
	for _, id := range ids {
		fmt.Fprintln(&wanted, id.Z, id.X, id.Y)
	}
	cmd := exec.CommandContext(t.Context(), node, "read.mjs", path)
	var errs strings.Builder
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &wanted, &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &about))
	return about, lines[1:]
}

// An archive reads back as the tiles that a server has, also one whose directory has leaves.
func TestPMTiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tracks, zoom int
		leaves       bool
	}{{40, 9, false}, {400, 14, true}} {
		if testing.Short() && c.leaves {
			continue // make long reads the large one
		}
		s := stored(t, c.tracks)
		o := options(s)
		o.MaxZoom = c.zoom
		p, err := export.NewPlan(t.Context(), o)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "tracks.pmtiles")
		f, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, p.WritePMTiles(t.Context(), f))
		require.NoError(t, f.Close())

		var ids []tile.ID
		require.NoError(t, p.Each(t.Context(), func(id tile.ID, _ []byte) error {
			if len(ids) < 6000 || id.X%7 == 0 {
				ids = append(ids, id, tile.ID{Z: id.Z, X: id.X, Y: (id.Y + 1) % (1 << id.Z)})
			}
			return nil
		}))
		about, sums := read(t, path, ids)
		require.Len(t, sums, len(ids))
		e, tiles := tile.NewEncoder(tile.Limits{}), 0
		for i, id := range ids {
			want := "-"
			if body := served(t, e, s, id); len(body) > 0 {
				sum := sha256.Sum256(body)
				want = hex.EncodeToString(sum[:])
				tiles++
			}
			require.Equal(t, want, sums[i], "%v", id)
		}
		require.Greater(t, tiles, 100)
		h := about["header"]
		for field, want := range map[string]any{
			"specVersion": 3.0, "clustered": true, "internalCompression": 2.0, "tileCompression": 2.0, "tileType": 1.0, "minZoom": 0.0,
			"maxZoom": float64(c.zoom),
			"minLon":  -180.0, "maxLon": 180.0,
		} {
			require.EqualValues(t, want, h[field], field)
		}
		require.Equal(t, c.leaves, h["leafDirectoryLength"].(float64) > 0)
		size, err := os.Stat(path)
		require.NoError(t, err)
		require.EqualValues(t, size.Size(), 16384+h["tileDataLength"].(float64)+h["jsonMetadataLength"].(float64)+h["leafDirectoryLength"].(float64))
		require.Contains(t, about["metadata"]["attribution"], "© mappers")
		require.Equal(t, "gps_tracks", about["metadata"]["vector_layers"].([]any)[0].(map[string]any)["id"])
	}
}

// A plan of a region has its tiles alone, and one of sources their tracks alone.
func TestSelection(t *testing.T) {
	t.Parallel()
	s := stored(t, 60)
	o := options(s)
	o.Sources, o.Bounds, o.MinZoom, o.MaxZoom = []string{"osm"}, []orb.Bound{{Min: orb.Point{-71, 39}, Max: orb.Point{-69, 41}}}, 2, 7
	p, err := export.NewPlan(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, 1, p.Summary.Tracks)
	zooms := map[int]int{}
	require.NoError(t, p.Each(t.Context(), func(id tile.ID, _ []byte) error {
		zooms[id.Z]++
		require.True(t, id.Bounds().Intersects(o.Bounds[0]), "%v", id)
		return nil
	}))
	require.Len(t, zooms, 6)
	var list struct{ Features []map[string]any }
	var b bytes.Buffer
	n, err := export.GeoJSON(t.Context(), &b, o)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, json.Unmarshal(b.Bytes(), &list))
	require.Equal(t, "hard 1", list.Features[0]["properties"].(map[string]any)["name"])
	require.Equal(t, "© mappers", list.Features[0]["properties"].(map[string]any)["attribution"])

	for _, wrong := range []func(*export.Options){
		func(o *export.Options) { o.Sources = nil }, func(o *export.Options) { o.Tiles = nil }, func(o *export.Options) { o.MaxZoom = 16 },
		func(o *export.Options) { o.MinZoom = 9 }, func(o *export.Options) { o.Sources = []string{"nobody"} },
	} {
		o := options(s)
		wrong(&o)
		_, err := export.NewPlan(t.Context(), o)
		require.Error(t, err)
	}
}

// The generated tracks as an archive.
func ExamplePlan_WritePMTiles() {
	ctx := context.Background()
	store, err := tracksqlite.Open(ctx, tracksqlite.Options{Path: tracksqlite.Memory})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if _, err := store.Upsert(ctx, sample.Tracks(20, 1)); err != nil {
		fmt.Println(err)
		return
	}
	plan, err := export.NewPlan(ctx, export.Options{Store: store, Tiles: store, Sources: []string{"osm"}, MaxZoom: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := os.CreateTemp("", "*.pmtiles")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(f.Name())
	fmt.Println(plan.WritePMTiles(ctx, f), f.Close())
	// Output: <nil> <nil>
}
