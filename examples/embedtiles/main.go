// Command embedtiles is another service that serves a layer of tracks, and a page with a map
// that shows it: generated ones, or those of the files in a folder.
//
//	go run ./examples/embedtiles
//	go run ./examples/embedtiles ~/tracks
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/mappage"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func main() {
	address := flag.String("listen", "localhost:8088", "address to listen on")
	base := flag.String("base", "none", "base of the map: none, https://…/{z}/{x}/{y}.png, https://…/style.json or a file.pmtiles")
	credit := flag.String("attribution", "", "whom the licence of the base wants named")
	flag.Parse()
	if err := serve(*address, *base, *credit, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "embedtiles:", err)
		os.Exit(1)
	}
}

func serve(address, base, credit, folder string) error {
	under, err := mappage.ParseBase(base, credit)
	if err != nil {
		return err
	}
	store, err := load(context.Background(), folder)
	if err != nil {
		return err
	}
	handler, err := service(store, under)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "map:  http://%[1]s/\nlist: http://%[1]s/api/gps-tracks?bbox=-180,-90,180,90&zoom=3\n", address)
	return (&http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe()
}

// load keeps the tracks of a folder in memory, or generated ones without a folder.
func load(ctx context.Context, folder string) (*tracksqlite.Tracks, error) {
	store, err := tracksqlite.Open(ctx, tracksqlite.Options{Path: tracksqlite.Memory})
	if err != nil {
		return nil, err
	}
	if folder == "" {
		_, err := store.Upsert(ctx, sample.Tracks(2000, 1))
		return store, err
	}
	var files []collect.File
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() { // the import says which are none of tracks
			files = append(files, collect.File{Name: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no files", folder)
	}
	own := collect.Licences{{Source: "local", Status: "accepted", Attribution: "Recorded for this map", Download: true}}
	c, err := collect.New(collect.Options{Store: store, Runs: store, Licences: own})
	if err != nil {
		return nil, err
	}
	run, err := c.Import(ctx, collect.Source{Name: "local", Enabled: true}, files, trackfile.Limits{}, func(f collect.FileReport) {
		if f.Reason != "" {
			fmt.Fprintf(os.Stderr, "left out: %s: %s\n", f.File, cmp.Or(f.Detail, string(f.Reason)))
		}
	})
	fmt.Fprintf(os.Stdout, "%d tracks of %d files\n", run.Inserted, len(files))
	return store, err
}

// service is the mux of the service.
func service(store *tracksqlite.Tracks, base mappage.Base) (http.Handler, error) {
	layer, err := trackhttp.New(trackhttp.Options{Store: store, Tiles: store, AllowOrigins: []string{"*"}, Sources: []trackhttp.Source{
		{Name: "club", Enabled: true}, {Name: "osm", Enabled: true}, {Name: "upload", Enabled: true},
		{Name: "local", Enabled: true, Download: true},
	}})
	mux := http.NewServeMux()
	mux.Handle("/api/gps-tracks", layer)
	mux.Handle("/api/gps-tracks/", layer)
	mux.Handle("/", mappage.Handler(mappage.Options{Prefix: "/", On: true, Bases: []mappage.Base{base}}))
	return mux, err
}
