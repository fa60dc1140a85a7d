package tile_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Lines at and over the poles are drawn as far as the map goes.
func TestPoles(t *testing.T) {
	t.Parallel()
	tracks := prepared(t, gpstracks.Track{Lines: orb.MultiLineString{{{10, 80}, {10, 90}}, {{20, -80}, {20, -90}}}},
		along(-180, 89, 0, 89.2, 180, 89.5))
	body, stats := encode(t, tile.Limits{}, tile.ID{}, tracks...)
	require.Equal(t, 1, stats.Features, "what is beyond the map is not in it")
	b := decode(t, body)[0].Geometry.Bound()
	require.EqualValues(t, -tile.Buffer, b.Min[1])
	require.EqualValues(t, tile.Extent+tile.Buffer, b.Max[1])
	require.InDelta(t, 2048+10.0/360*4096, b.Min[0], 1)
	require.InDelta(t, 2048+20.0/360*4096, b.Max[0], 1)
}

// A track of a million points is prepared, and its tiles stay within the limit.
func TestMillionPoints(t *testing.T) {
	t.Parallel()
	line := make(orb.LineString, gpstracks.MaxPoints)
	for i := range line {
		a := float64(i) / 1000
		line[i] = orb.Point{7 + 0.0001*a*math.Cos(a), 46 + 0.0001*a*math.Sin(a)}
	}
	tracks := prepared(t, gpstracks.Track{Lines: orb.MultiLineString{line}})
	for _, z := range []int{5, 10, 14, 18} {
		id := at(z, orb.Point{7.01, 46.01})
		body, stats := encode(t, tile.Limits{}, id, tracks...)
		require.Equal(t, tile.Stats{Features: 1}, stats, z)
		require.LessOrEqual(t, len(body), tile.DefaultLimits().Bytes)
		decode(t, body)
	}
}

// A track of one place is none; one that is a pixel small is not drawn.
func TestTooSmall(t *testing.T) {
	t.Parallel()
	tracks := prepared(t, gpstracks.Track{Lines: orb.MultiLineString{{{7, 46}, {7 + 1e-9, 46}}}})
	var p tile.Packer
	require.Empty(t, p.Pack(&tracks[0]))
	tracks = prepared(t, along(7, 46, 7.001, 46))
	features := p.Pack(&tracks[0])
	require.Equal(t, tile.MaxLevel, features[0].Level)
	for _, f := range features {
		units := 0.001 / 360 * math.Exp2(float64(f.Level)) * tile.Extent
		require.GreaterOrEqual(t, units, tile.Visible-1.0)
	}
	require.InDelta(t, 10, features[len(features)-1].Level, 1)
}
