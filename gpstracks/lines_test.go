package gpstracks_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Lines come back bit by bit, whatever they are, and short decimals are short.
func TestLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		short := rapid.Bool().Draw(r, "short")
		var lines orb.MultiLineString
		points := 0
		for range rapid.IntRange(0, 4).Draw(r, "lines") {
			line := orb.LineString{}
			for range rapid.IntRange(2, 30).Draw(r, "points") {
				p := orb.Point{rapid.Float64Range(-180, 180).Draw(r, "x"), rapid.Float64Range(-90, 90).Draw(r, "y")}
				if short {
					p = orb.Point{math.Round(p[0]*1e7) / 1e7, math.Round(p[1]*1e7) / 1e7}
				}
				line = append(line, p)
				points++
			}
			lines = append(lines, line)
		}
		b := gpstracks.AppendLines([]byte("x"), lines)[1:]
		got, err := gpstracks.ParseLines(b)
		require.NoError(r, err)
		require.Len(r, got, len(lines))
		for i := range lines {
			require.Equal(r, lines[i], got[i])
		}
		if short {
			require.LessOrEqual(r, len(b), 10*points+20)
		}
		for i := range b { // cut off anywhere, it is an error
			_, err := gpstracks.ParseLines(b[:i])
			require.Error(r, err)
		}
	})
	for _, bad := range [][]byte{{1, 2, 9, 0, 0, 0, 0}, {0, 0}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		{1, 0xff, 0xff, 0xff, 0x7f, 1}} {
		_, err := gpstracks.ParseLines(bad)
		require.Error(t, err)
	}
}
