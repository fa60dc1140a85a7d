package tile_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Whatever a track is, its tile decodes and says what the track says.
func FuzzEncodeDecode(f *testing.F) {
	f.Add("a name", uint8(9), []byte("0123456789abcdef0123456789ABCDEF"))
	f.Add("\x00<b>", uint8(22), make([]byte, 64))
	f.Fuzz(func(t *testing.T, name string, zoom uint8, coordinates []byte) {
		var line orb.LineString
		for ; len(coordinates) >= 8; coordinates = coordinates[8:] {
			line = append(line, orb.Point{
				float64(int32(binary.LittleEndian.Uint32(coordinates))) / math.MaxInt32 * 180,
				float64(int32(binary.LittleEndian.Uint32(coordinates[4:]))) / math.MaxInt32 * 90,
			})
		}
		track, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Name: name, Lines: orb.MultiLineString{line}})
		if err != nil {
			return
		}
		track.ID = 7
		first := track.Lines[0][0]
		first[1] = max(-85, min(85, first[1]))
		body, _ := encode(t, tile.Limits{}, at(int(zoom%23), first), track)
		for _, f := range decode(t, body) {
			if track.Name == "" {
				require.NotContains(t, f.Properties, "name")
			} else {
				require.Equal(t, track.Name, f.Properties["name"])
			}
			require.NotEmpty(t, lines(f.Geometry))
		}
	})
}

// A block that is damaged anywhere gives an error or a tile, never a panic.
func FuzzBlock(f *testing.F) {
	whole := blocks(9, prepared(f, gpstracks.Track{Name: "a", Attribution: "b",
		Lines: orb.MultiLineString{{{7, 46}, {7.1, 46.1}, {7.2, 46}}}})...)[0]
	f.Add(whole, uint32(0), uint32(0))
	f.Add(whole, uint32(60), uint32(0xffffffff))
	f.Fuzz(func(t *testing.T, block []byte, at, flip uint32) {
		damaged := append([]byte(nil), block...)
		if len(damaged) >= 4 {
			i := int(at) % (len(damaged) - 3)
			binary.LittleEndian.PutUint32(damaged[i:], binary.LittleEndian.Uint32(damaged[i:])^flip)
		}
		if features, err := tile.BlockFeatures(damaged); err == nil {
			_ = tile.Blocks(9, 0, features)
		}
		for _, id := range []tile.ID{{Z: 9, X: 266, Y: 182}, {Z: 22, X: 1 << 21, Y: 1 << 20}} {
			e := tile.NewEncoder(tile.Limits{})
			e.Begin(id, gpstracks.Filter{Activities: []gpstracks.Activity{gpstracks.Unknown}, Sources: []string{"osm"}})
			if e.Add(damaged) != nil {
				continue
			}
			_, _, _ = e.Append(nil) // the error is as good as the tile: what counts is that it returns
		}
	})
}
