package tile_test

import (
	"context"
	"fmt"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

func Example() {
	track, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Name: "Ridge walk",
		Lines: orb.MultiLineString{{{7.9, 46.6}, {7.95, 46.61}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := tracksqlite.Open(context.Background(), tracksqlite.Options{Path: tracksqlite.Memory}) // any tile.Source
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if _, err := store.Upsert(context.Background(), []gpstracks.Track{track}); err != nil {
		fmt.Println(err)
		return
	}
	encoder := tile.NewEncoder(tile.DefaultLimits())
	body, stats, err := encoder.Encode(context.Background(), nil, store, tile.ID{Z: 10, X: 534, Y: 361}, gpstracks.Filter{})
	if err != nil {
		fmt.Println(err)
		return
	}
	layers, err := mvt.Unmarshal(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	f := layers[0].Features[0]
	fmt.Println(layers[0].Name, stats.Features, f.Properties["name"], f.Geometry)
	// Output:
	// gps_tracks 1 Ridge walk [[1930 3399] [2512 3229]]
}
