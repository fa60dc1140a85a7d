package trackhttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func Example() {
	store, err := tracksqlite.Open(context.Background(), tracksqlite.Options{Path: tracksqlite.Memory})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	layer, err := trackhttp.New(trackhttp.Options{Store: store, Tiles: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	walk, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Name: "Ridge walk",
		Lines: orb.MultiLineString{{{7.9, 46.6}, {7.95, 46.61}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	done, err := store.Upsert(context.Background(), []gpstracks.Track{walk})
	if err != nil {
		fmt.Println(err)
		return
	}
	layer.Invalidate(done.Changed...)

	mux := http.NewServeMux() // of any service
	mux.Handle("/api/gps-tracks", layer)
	mux.Handle("/api/gps-tracks/", layer)
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, path := range []string{"?bbox=7,46,8,47&zoom=12", "/tiles/10/534/361.mvt", "/tiles/10/1/1.mvt", "/tiles/10/1/9999.mvt"} {
		answer, err := http.Get(server.URL + "/api/gps-tracks" + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Println(answer.Status, answer.Header.Get("Content-Type"), strings.Contains(string(body), "Ridge walk"))
	}
	// Output:
	// 200 OK application/geo+json true
	// 200 OK application/vnd.mapbox-vector-tile true
	// 204 No Content  false
	// 400 Bad Request application/problem+json false
}
