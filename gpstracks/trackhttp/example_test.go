package trackhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// A track is kept, and a handler in the mux of any service has its list and its tiles.
func Example() {
	ctx, line := context.Background(), orb.MultiLineString{{{7.9, 46.6}, {7.95, 46.61}}}
	walk, err1 := gpstracks.Prepare(gpstracks.Track{Source: "osm", Name: "Ridge walk", Lines: line})
	store, err2 := tracksqlite.Open(ctx, tracksqlite.Options{Path: tracksqlite.Memory})
	layer, err3 := trackhttp.New(trackhttp.Options{Store: store, Tiles: store})
	if err := errors.Join(err1, err2, err3); err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	done, err := store.Upsert(ctx, []gpstracks.Track{walk})
	layer.Invalidate(done.Changed...)
	fmt.Println("kept:", done.Inserted, err)

	mux := http.NewServeMux() // of any service
	mux.Handle("/api/gps-tracks", layer)
	mux.Handle("/api/gps-tracks/", layer)
	for _, path := range []string{"?bbox=7,46,8,47&zoom=12", "/tiles/10/534/361.mvt", "/tiles/10/1/1.mvt", "/tiles/10/1/9999.mvt"} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/api/gps-tracks"+path, http.NoBody))
		fmt.Println(answer.Code, answer.Header().Get("Content-Type"), strings.Contains(answer.Body.String(), "Ridge walk"))
	}
	// Output:
	// kept: 1 <nil>
	// 200 application/geo+json true
	// 200 application/vnd.mapbox-vector-tile true
	// 204  false
	// 400 application/problem+json false
}
