// Command embedtiles is another service that serves a layer of generated tracks,
// and a page with a map that shows it. The page needs the dist directory of
// MapLibre GL JS 5 or 6; npm ci in examples/browsertest brings one.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/signalbox-dev/signalbox/examples/mappage"
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func main() {
	address := flag.String("listen", "localhost:8088", "address to listen on")
	maplibre := flag.String("maplibre", "examples/browsertest/node_modules/maplibre-gl/dist", "dist directory of MapLibre GL JS")
	flag.Parse()
	handler, err := service(2000, os.DirFS(*maplibre))
	if err == nil {
		fmt.Fprintf(os.Stdout, "map:  http://%[1]s/\nlist: http://%[1]s/api/gps-tracks?bbox=7,46,8,47&zoom=10\n", *address)
		err = (&http.Server{Addr: *address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe()
	}
	fmt.Fprintln(os.Stderr, "embedtiles:", err)
	os.Exit(1)
}

// service is the mux of the service, with n tracks.
func service(n int, maplibre fs.FS) (http.Handler, error) {
	store := memtracks.New()
	if _, err := store.Upsert(context.Background(), memtracks.Generate(n, 1)); err != nil {
		return nil, err
	}
	layer, err := trackhttp.New(trackhttp.Options{Store: store, Tiles: store, AllowOrigins: []string{"*"}, Sources: []trackhttp.Source{
		{Name: "club", Enabled: true}, {Name: "osm", Enabled: true}, {Name: "upload", Enabled: true},
	}})
	mux := http.NewServeMux()
	mux.Handle("/api/gps-tracks", layer)
	mux.Handle("/api/gps-tracks/", layer)
	mux.Handle("/", mappage.Handler("/", maplibre))
	return mux, err
}
