package tile_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// prepared makes tracks complete and gives them ids.
func prepared(t require.TestingT, tracks ...gpstracks.Track) []gpstracks.Track {
	for i := range tracks {
		if tracks[i].Source == "" {
			tracks[i].Source = "osm"
		}
		p, err := gpstracks.Prepare(tracks[i])
		require.NoError(t, err)
		p.ID = int64(i + 1)
		tracks[i] = p
	}
	return tracks
}

// along is a track of one line, by the longitudes and latitudes of its points.
func along(at ...float64) gpstracks.Track {
	var line orb.LineString
	for p := range slices.Chunk(at, 2) {
		line = append(line, orb.Point(p))
	}
	return gpstracks.Track{Lines: orb.MultiLineString{line}}
}

// source hands out blocks in memory, by level.
type source [tile.Levels][]tile.Block

// sourceOf gives tracks ids in their order and makes their blocks.
func sourceOf(t testing.TB, tracks []gpstracks.Track) (s source) {
	t.Helper()
	for i := range tracks {
		tracks[i].ID = int64(i + 1)
	}
	blocks, err := tile.Build(t.Context(), nil, tracks, nil)
	require.NoError(t, err)
	for _, b := range blocks {
		s[b.Level] = append(s[b.Level], b)
	}
	return s
}

func (s *source) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	for i := range s[level] {
		if !s[level][i].Window.Touches(w) {
			continue
		}
		if err := errors.Join(ctx.Err(), yield(s[level][i].Data)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// blocks packs tracks for a level.
func blocks(level int, tracks ...gpstracks.Track) (out [][]byte) {
	for _, b := range tile.Blocks(level, 0, piecesOf(level, tracks...)) {
		out = append(out, b.Data)
	}
	return out
}

// encode makes a tile of tracks, encodeSome one of those that pass a filter.
func encode(t require.TestingT, l tile.Limits, id tile.ID, tracks ...gpstracks.Track) ([]byte, tile.Stats) {
	return encodeSome(t, l, id, gpstracks.Filter{}, tracks...)
}

func encodeSome(t require.TestingT, l tile.Limits, id tile.ID, f gpstracks.Filter, tracks ...gpstracks.Track) ([]byte, tile.Stats) {
	e := tile.NewEncoder(l)
	e.Begin(id, f)
	for _, b := range blocks(id.Level(), tracks...) {
		require.NoError(t, e.Add(b))
	}
	out, stats, err := e.Append(nil)
	require.NoError(t, err)
	return out, stats
}

func decode(t require.TestingT, body []byte) []*geojson.Feature {
	if len(body) == 0 {
		return nil
	}
	layers, err := mvt.Unmarshal(body)
	require.NoError(t, err)
	require.Len(t, layers, 1)
	require.Equal(t, tile.Layer, layers[0].Name)
	require.EqualValues(t, 2, layers[0].Version)
	require.EqualValues(t, tile.Extent, layers[0].Extent)
	return layers[0].Features
}

// at is the tile that shows a point.
func at(z int, p orb.Point) tile.ID {
	n := math.Exp2(float64(z))
	x, y := mercator(p)
	last := int(n) - 1
	return tile.ID{Z: z, X: max(0, min(last, int(x*n))), Y: max(0, min(last, int(y*n)))}
}

// mercator is written apart from the package's own projection.
func mercator(p orb.Point) (x, y float64) {
	lat := p[1] * math.Pi / 180
	return (p[0] + 180) / 360, (1 - math.Log(math.Tan(lat)+1/math.Cos(lat))/math.Pi) / 2
}

func lines(g orb.Geometry) orb.MultiLineString {
	switch g := g.(type) {
	case orb.LineString:
		return orb.MultiLineString{g}
	case orb.MultiLineString:
		return g
	}
	return nil
}

func TestProperties(t *testing.T) {
	t.Parallel()
	tracks := prepared(t, gpstracks.Track{
		Name: `<img src=x onerror=alert(1)> "Grat" Ü`, Activity: gpstracks.Hiking, URL: "https://example.org/1",
		Attribution: "© contributors",
		RecordedOn:  time.Date(2025, 5, 4, 9, 0, 0, 0, time.UTC), Lines: orb.MultiLineString{{{7, 46}, {7.2, 46.2}}},
	}, gpstracks.Track{Source: "club", Lines: orb.MultiLineString{{{7, 46}, {7.1, 46.2}}}})
	body, stats := encode(t, tile.Limits{}, at(9, orb.Point{7.05, 46.1}), tracks...)
	require.Equal(t, tile.Stats{Features: 2}, stats)
	features := decode(t, body)
	require.Len(t, features, 2)
	require.EqualValues(t, 1, features[0].ID)
	require.Equal(t, geojson.Properties{
		"id": 1.0, "name": `<img src=x onerror=alert(1)> "Grat" Ü`, "activity": "hiking", "source": "osm", "url": "https://example.org/1",
		"attribution": "© contributors", "recorded_on": "2025-05-04", "length_m": math.Floor(tracks[0].LengthM + 0.5),
	}, features[0].Properties)
	require.Equal(t, geojson.Properties{
		"id": 2.0, "activity": "unknown", "source": "club", "length_m": math.Floor(tracks[1].LengthM + 0.5),
	}, features[1].Properties)
	require.Equal(t, "LineString", features[0].Geometry.GeoJSONType())
}

func TestFilter(t *testing.T) {
	t.Parallel()
	line := orb.MultiLineString{{{7, 46}, {7.2, 46.2}}}
	tracks := prepared(t, gpstracks.Track{Activity: gpstracks.Hiking, Lines: line},
		gpstracks.Track{Activity: gpstracks.Cycling, Lines: line},
		gpstracks.Track{Activity: gpstracks.Hiking, Source: "hiking", Lines: line})
	for want, f := range map[string]gpstracks.Filter{
		"1 2 3": {},
		"1 3":   {Activities: []gpstracks.Activity{gpstracks.Hiking}},
		"3":     {Sources: []string{"hiking"}},
		"2":     {Activities: []gpstracks.Activity{gpstracks.Cycling, gpstracks.Skiing}, Sources: []string{"osm"}},
		"":      {Activities: []gpstracks.Activity{gpstracks.Boating}},
	} {
		body, _ := encodeSome(t, tile.Limits{}, at(9, orb.Point{7.05, 46.1}), f, tracks...)
		var ids []string
		for _, f := range decode(t, body) {
			ids = append(ids, fmt.Sprint(f.ID))
		}
		require.Equal(t, want, strings.Join(ids, " "))
		require.Equal(t, want == "", len(body) == 0)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var tracks []gpstracks.Track
	for i := range 40 {
		d := 0.1 + 0.002*float64(i)
		tracks = append(tracks, gpstracks.Track{Name: strings.Repeat("n", 200), Lines: orb.MultiLineString{{{7, 46}, {7 + d, 46 + d}}}})
	}
	tracks = prepared(t, tracks...)
	id := at(7, orb.Point{7, 46})
	body, stats := encode(t, tile.Limits{Features: 10}, id, tracks...)
	require.Equal(t, tile.Stats{Features: 10, Dropped: 30}, stats)
	for i, f := range decode(t, body) {
		require.EqualValues(t, 40-i, f.ID, "the longest stay")
	}
	body, stats = encode(t, tile.Limits{Bytes: 3000}, id, tracks...)
	require.LessOrEqual(t, len(body), 3000)
	require.Greater(t, len(body), 2500)
	require.Equal(t, 40, stats.Features+stats.Dropped)
	features := decode(t, body)
	require.Len(t, features, stats.Features)
	require.EqualValues(t, 40, features[0].ID)
	for _, f := range features {
		require.Equal(t, "osm", f.Properties["source"], "a value that was dropped is written again")
	}
	body, stats = encode(t, tile.Limits{Bytes: 150}, id, tracks...)
	require.Empty(t, body)
	require.Equal(t, 40, stats.Dropped)
}

// A track that only comes near the tile takes no place from one that is in it.
func TestLimitCountsWhatIsDrawn(t *testing.T) {
	t.Parallel()
	id := at(9, orb.Point{7.2, 46.2})
	around := orb.MultiLineString{{{6, 46.3}, {6, 45}, {7.5, 45}}} // longer, and its bounds hold the tile's corner
	tracks := prepared(t, gpstracks.Track{Lines: around}, along(7.1, 46.1, 7.2, 46.25))
	body, stats := encode(t, tile.Limits{Features: 1}, id, tracks...)
	require.Equal(t, tile.Stats{Features: 1}, stats)
	require.EqualValues(t, 2, decode(t, body)[0].ID)
}

// A track that is too large for a tile by itself does not hide the others.
func TestOneTooLarge(t *testing.T) {
	t.Parallel()
	zigzag := orb.LineString{}
	for i := range 3000 {
		zigzag = append(zigzag, orb.Point{7 + 0.0002*float64(i), 46 + 0.2*float64(i%2)})
	}
	tracks := prepared(t, gpstracks.Track{Lines: orb.MultiLineString{zigzag}},
		along(7, 46, 7.2, 46.2))
	body, stats := encode(t, tile.Limits{Bytes: 2000}, at(7, orb.Point{7, 46}), tracks...)
	require.Equal(t, tile.Stats{Features: 1, Dropped: 1}, stats)
	f := decode(t, body)[0]
	require.EqualValues(t, 2, f.ID)
	require.Equal(t, []any{"osm", "unknown"}, []any{f.Properties["source"], f.Properties["activity"]},
		"words of the dropped track are written again")
}

func TestNoAllocations(t *testing.T) {
	store, ids := loaded(t, 500)
	e := tile.NewEncoder(tile.Limits{})
	for _, f := range []gpstracks.Filter{{}, {Activities: []gpstracks.Activity{gpstracks.Hiking}}} {
		body := []byte{}
		all := func() {
			for _, id := range ids {
				var err error
				body, _, err = e.Encode(t.Context(), body[:0], store, id, f)
				require.NoError(t, err)
			}
		}
		all()
		require.Zero(t, testing.AllocsPerRun(3, all))
	}
}

// loaded makes a source of n tracks and some tiles of each zoom where they are.
func loaded(t testing.TB, n int) (*source, []tile.ID) {
	tracks := sample.Tracks(n, 1)
	store := sourceOf(t, tracks)
	var ids []tile.ID
	for z := 5; z <= 14; z++ {
		for i := range 8 {
			line := tracks[i*n/8].Lines[0]
			if id := at(z, line[len(line)/2]); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return &store, ids
}

func TestStoreFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	body, _, err := tile.NewEncoder(tile.Limits{}).Encode(ctx, nil, &source{}, tile.ID{}, gpstracks.Filter{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, body)
}

func TestID(t *testing.T) {
	t.Parallel()
	for id, want := range map[tile.ID]bool{
		{}: true, {22, 1<<22 - 1, 1<<22 - 1}: true, {23, 0, 0}: false, {-1, 0, 0}: false, {3, 8, 0}: false, {3, 0, 8}: false,
		{3, -1, 0}: false, {3, 0, -1}: false, {math.MaxInt, 0, 0}: false, {62, 0, 0}: false,
	} {
		require.Equal(t, want, id.Valid(), id)
	}
	b := tile.ID{}.Bounds()
	require.InDelta(t, 85.5, b.Max[1], 0.1)
	require.Equal(t, orb.Point{180, b.Max[1]}, b.Max)
	b = tile.ID{Z: 11, X: 1071, Y: 721}.Bounds()
	require.True(t, b.Contains(orb.Point{8.3, 46.9}), b)
}

// However a store has spread the features over blocks, the tile is the same; and
// a block gives back what it was made of.
func TestRegroup(t *testing.T) {
	t.Parallel()
	tracks := prepared(t, sample.Tracks(80, 5)...)
	rapid.Check(t, func(r *rapid.T) {
		id := at(rapid.IntRange(4, 15).Draw(r, "z"), tracks[rapid.IntRange(0, 79).Draw(r, "track")].Lines[0][0])
		want, _ := encode(t, tile.Limits{}, id, tracks...)
		var features []tile.Feature
		for _, b := range blocks(id.Level(), tracks...) {
			again, err := tile.BlockFeatures(b)
			require.NoError(r, err)
			require.Equal(r, b, tile.Blocks(id.Level(), 0, again)[0].Data)
			features = append(features, again...)
		}
		features = rapid.Permutation(features).Draw(r, "order")
		e := tile.NewEncoder(tile.Limits{})
		e.Begin(id, gpstracks.Filter{})
		n := 0
		for part := range slices.Chunk(features, rapid.IntRange(1, 100).Draw(r, "size")) {
			for _, b := range tile.Blocks(id.Level(), 0, part) {
				own, err := tile.BlockFeatures(b.Data)
				require.NoError(r, err)
				require.Len(r, own, b.Features)
				require.True(r, b.Features == 1 || b.Features <= 64 && len(b.Data) <= 8<<10, "%d features, %d bytes", b.Features,
					len(b.Data))
				n += b.Features
				require.NoError(r, e.Add(b.Data))
			}
		}
		require.Len(r, features, n)
		got, _, err := e.Append(nil)
		require.NoError(r, err)
		require.Equal(r, want, got)
	})
}

// A block that is cut off anywhere, or of another level, is said to be damaged.
func TestDamagedBlocks(t *testing.T) {
	whole := blocks(9, prepared(t, gpstracks.Track{Name: "a", Lines: orb.MultiLineString{{{7, 46}, {7.2, 46.2}}}})...)[0]
	e := tile.NewEncoder(tile.Limits{})
	e.Begin(at(9, orb.Point{7.05, 46.1}), gpstracks.Filter{})
	for n := range whole {
		require.ErrorContains(t, e.Add(whole[:n]), "damaged", n)
	}
	e.Begin(tile.ID{Z: 8}, gpstracks.Filter{})
	require.ErrorContains(t, e.Add(whole), "damaged", "another level")
}
