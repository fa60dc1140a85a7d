// Package export writes the tracks of a store to files that need no server: a PMTiles archive for a
// web page, GeoJSON for programs; adapters/mbtiles writes an SQLite file of the same tiles.
//
// Tracks are read one after the other, and tiles are made one at a time, with the bytes that
// gpstracks/trackhttp serves. What is held is some 100 bytes for each tile, and no tracks.
package export

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// Options select the tracks of an export. Store and Sources are required, Tiles for tiles.
type Options struct {
	Store   gpstracks.Store
	Tiles   tile.Source
	Sources []string    // whose tracks: those whose licence allows it
	Bounds  []orb.Bound // tracks and tiles that touch one of these; none = everywhere
	MinZoom int
	MaxZoom int // MinZoom to tile.MaxLevel
	Limits  tile.Limits
}

// filter selects the tracks.
func (o *Options) filter() (gpstracks.Filter, error) {
	if o.Store == nil || len(o.Sources) == 0 {
		return gpstracks.Filter{}, errors.New("export: Options.Store and Options.Sources are required: name the sources whose licence " +
			"allows an export")
	}
	return gpstracks.Filter{Sources: o.Sources}, nil
}

// GeoJSON writes the tracks as a FeatureCollection, with every point, and returns their number.
func GeoJSON(ctx context.Context, w io.Writer, o Options) (n int, err error) {
	f, err := o.filter()
	if err != nil {
		return 0, err
	}
	f.Bounds = o.Bounds
	b := []byte(`{"type":"FeatureCollection","features":[`)
	for t, err := range o.Store.List(ctx, f) {
		if err != nil {
			return n, err
		}
		if n++; n > 1 {
			b = append(b, ",\n"...)
		}
		if _, err := w.Write(trackhttp.AppendFeature(b, &t)); err != nil {
			return n, err
		}
		b = b[:0]
	}
	_, err = w.Write(append(b, "]}\n"...))
	return n, err
}

// Plan holds the tiles of an export.
type Plan struct {
	Options
	Summary tile.Summary // of the tracks of Sources, with the bounds of those within Bounds

	ids []uint64 // in order
}

// manyIDs bounds the ids that are gathered before doubles are removed.
const manyIDs = 1 << 20

// NewPlan reads all tracks. Tracks that come or go before the tiles are made are in tiles or not, as
// a server would have it.
func NewPlan(ctx context.Context, o Options) (*Plan, error) {
	f, err := o.filter()
	switch {
	case err != nil:
		return nil, err
	case o.Tiles == nil:
		return nil, errors.New("export: Options.Tiles is missing: pass the source of tiles, often the same value as Store")
	case o.MinZoom < 0 || o.MaxZoom < o.MinZoom || o.MaxZoom > tile.MaxLevel:
		return nil, errors.New("export: MinZoom and MaxZoom of Options are to be from 0 to 15, the lower one first")
	}
	p := &Plan{Options: o}
	names, packer, room := map[string]int{}, tile.Packer{}, manyIDs
	for t, err := range o.Store.List(ctx, f) {
		if err != nil {
			return nil, err
		}
		if t.Attribution != "" {
			names[t.Attribution]++
		}
		if len(o.Bounds) > 0 && !(gpstracks.Filter{Bounds: o.Bounds}).Match(&t) {
			continue
		}
		if p.Summary.Tracks++; p.Summary.Tracks == 1 {
			p.Summary.Bounds = t.Bounds
		}
		p.Summary.Bounds = p.Summary.Bounds.Union(t.Bounds)
		packer.Cover(&t, o.MaxZoom, p.add)
		if len(p.ids) > room {
			p.ids = compact(p.ids)
			room = max(manyIDs, 2*len(p.ids))
		}
	}
	p.ids = compact(p.ids)
	p.Summary.Attributions = slices.SortedFunc(maps.Keys(names), func(a,
		b string) int {
		return cmp.Or(names[b]-names[a], cmp.Compare(a, b))
	})
	if p.Summary.Tracks == 0 {
		return nil, errors.New("export: there are no tracks to export: collect some, or leave the region away")
	}
	return p, nil
}

func (p *Plan) add(t tile.ID) {
	if t.Z >= p.MinZoom && (len(p.Bounds) == 0 || slices.ContainsFunc(p.Bounds, t.Bounds().Intersects)) {
		p.ids = append(p.ids, tileNumber(t))
	}
}

func compact(ids []uint64) []uint64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Each makes the tiles that are not empty, in the order of PMTiles: by zoom, and along a Hilbert
// curve. A body is compressed with gzip, and the caller's until yield returns.
func (p *Plan) Each(ctx context.Context, yield func(t tile.ID, body []byte) error) error {
	encoder, filter := tile.NewEncoder(p.Limits), gpstracks.Filter{Sources: p.Sources}
	var body []byte
	var zipped bytes.Buffer
	z := gzip.NewWriter(nil)
	for _, n := range p.ids {
		t := tileOf(n)
		var err error
		if body, _, err = encoder.Encode(ctx, body[:0], p.Tiles, t, filter); err != nil {
			return err
		}
		if len(body) == 0 {
			continue
		}
		zipped.Reset()
		z.Reset(&zipped)
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := errors.Join(z.Close(), yield(t, zipped.Bytes())); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Describe returns the metadata of an archive: the fields of a TileJSON without its addresses.
func (p *Plan) Describe() map[string]any {
	doc := trackhttp.TileJSON(p.Summary, "")
	for _, name := range []string{"tiles", "tilejson", "scheme"} {
		delete(doc, name)
	}
	doc["minzoom"], doc["maxzoom"] = p.MinZoom, p.MaxZoom
	doc["type"], doc["version"], doc["format"] = "overlay", "1", "pbf"
	doc["description"] = "Public GPS tracks and their density"
	return doc
}
