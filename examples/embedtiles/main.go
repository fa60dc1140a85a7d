// Command embedtiles is another service that serves a layer of generated tracks.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func main() {
	address := flag.String("listen", "localhost:8088", "address to listen on")
	flag.Parse()
	handler, err := service(2000)
	if err == nil {
		fmt.Fprintf(os.Stdout, "http://%s/api/gps-tracks?bbox=7,46,8,47&zoom=10\n", *address)
		err = (&http.Server{Addr: *address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe()
	}
	fmt.Fprintln(os.Stderr, "embedtiles:", err)
	os.Exit(1)
}

// service is the mux of the service, with n tracks.
func service(n int) (http.Handler, error) {
	store := memtracks.New()
	if _, err := store.Upsert(context.Background(), memtracks.Generate(n, 1)); err != nil {
		return nil, err
	}
	layer, err := trackhttp.New(trackhttp.Options{Store: store, Tiles: store, AllowOrigins: []string{"*"}})
	mux := http.NewServeMux()
	mux.Handle("/api/gps-tracks", layer)
	mux.Handle("/api/gps-tracks/", layer)
	return mux, err
}
