// Package tile encodes tracks as Mapbox vector tiles (MVT 2.1, layer version 2).
//
// The work is divided in two. At ingest a Packer prepares each track for every
// level: simplified to the level's pixel, quantised to its grid and written as
// the very bytes that a tile holds. A track that is larger than a tile is cut into
// pieces. A store keeps these features in blocks, each of a place. At a request an
// Encoder takes the blocks that touch the tile: what lies in it as a whole is copied
// behind a first step that is its own, what does not is clipped in integers. Equal
// tracks give equal bytes, on every machine and however a store has spread them
// over blocks. docs/gps.md says what each of these buys.
//
// What is drawn differs from the track by at most Tolerance units of the tile
// (a pixel of a 512-pixel tile is 8 units) up to zoom MaxLevel, and beyond it by
// what Tolerance units are at MaxLevel: about a metre on the ground.
package tile

import (
	"context"
	"math"

	"github.com/paulmach/orb"
)

// The shape of the tiles.
const (
	Layer     = "gps_tracks" // name of the layer of tracks; DensityLayer is the other one
	Extent    = 4096         // units of a tile's side
	Buffer    = 64           // units beyond each edge that are drawn too, so that lines meet
	MaxZoom   = 22           // deepest zoom that has tiles
	MaxLevel  = 15           // deepest level of lines: zooms beyond it are drawn from its features, enlarged
	Tolerance = 4            // units between a track and its line: 2 of them by simplification, the rest by rounding
	Visible   = 8            // units that a track must measure in one direction to be drawn: a pixel of 512
)

// simplifyTo is the tolerance of the simplification, in units.
const simplifyTo = 2

// ContentType is the media type of a tile.
const ContentType = "application/vnd.mapbox-vector-tile"

// ID names a tile: zoom, column from the west, row from the north.
type ID struct{ Z, X, Y int }

// Valid reports a tile that exists: a zoom from 0 to MaxZoom, and a column and
// row within it.
func (t ID) Valid() bool {
	return t.Z >= 0 && t.Z <= MaxZoom && t.X >= 0 && t.Y >= 0 && t.X < 1<<t.Z && t.Y < 1<<t.Z
}

// Level is the level whose features the tile is drawn from.
func (t ID) Level() int { return min(t.Z, MaxLevel) }

// Bounds is the ground of the tile with its buffer, in degrees.
func (t ID) Bounds() orb.Bound {
	size := math.Exp2(-float64(t.Z))
	edge := size * Buffer / Extent
	west, north := float64(t.X)*size-edge, float64(t.Y)*size-edge
	east, south := west+size+2*edge, north+size+2*edge
	return orb.Bound{
		Min: orb.Point{max(west*360-180, -180), latitude(south)},
		Max: orb.Point{min(east*360-180, 180), latitude(north)},
	}
}

// latitude is the latitude of a height of the Mercator square, 0 in the north
// and 1 in the south.
func latitude(y float64) float64 { return math.Atan(math.Sinh(math.Pi*(1-2*y))) * 180 / math.Pi }

// maxLatitude keeps the projection finite; the Mercator square ends at 85.05.
const maxLatitude = 89.9

// project returns a point in the Mercator square, 0 to 1 (more beyond 85.05
// degrees, where no tile is).
func project(p orb.Point) (x, y float64) {
	lat := max(-maxLatitude, min(maxLatitude, p[1])) * math.Pi / 180
	return p[0]/360 + 0.5, 0.5 - math.Asinh(math.Tan(lat))/(2*math.Pi)
}

// Window is a rectangle of a level's grid, its edges included. The grid of level
// n has 2^n × Extent units each way, from the north-west.
type Window struct{ MinX, MinY, MaxX, MaxY int32 }

// Touches reports whether two windows share a unit.
func (w Window) Touches(o Window) bool {
	return w.MinX <= o.MaxX && o.MinX <= w.MaxX && w.MinY <= o.MaxY && o.MinY <= w.MaxY
}

func (w Window) holds(o Window) bool {
	return w.MinX <= o.MinX && o.MaxX <= w.MaxX && w.MinY <= o.MinY && o.MaxY <= w.MaxY
}

// grow makes the window hold a point.
func (w *Window) grow(x, y int32) {
	w.MinX, w.MinY, w.MaxX, w.MaxY = min(w.MinX, x), min(w.MinY, y), max(w.MaxX, x), max(w.MaxY, y)
}

func nowhere() Window {
	return Window{math.MaxInt32, math.MaxInt32, math.MinInt32, math.MinInt32}
}

// enlarged counts the halvings of the level's units in the tile.
func (t ID) enlarged() int { return t.Z - t.Level() }

// origin is the tile's corner in its level's grid.
func (t ID) origin() (x, y int32) {
	k := t.enlarged()
	return int32(int64(t.X) * Extent >> k), int32(int64(t.Y) * Extent >> k)
}

// Window is the part of the level's grid that the tile shows, with its buffer.
func (t ID) Window() Window {
	k := t.enlarged()
	x, y := t.origin()
	edge, size := int32((Buffer+1<<k-1)>>k), int32(Extent>>k)
	return Window{x - edge, y - edge, x + size + edge, y + size + edge}
}

// Source hands out blocks of features, as AppendBlock writes them.
type Source interface {
	// Blocks calls yield for every block of the level, of which there are Levels, that
	// touches the window, in any order: fastest in that of Block.Place. Each feature of the level is in one
	// block. A block is not changed once it was handed out. It ends with the
	// error of yield, of ctx or of the store.
	Blocks(ctx context.Context, level int, w Window, yield func(block []byte) error) error
}
