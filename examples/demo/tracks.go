package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks/mappage"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// generated is how many tracks the demonstration shows.
const generated = 300

// mapPrefix is where the page with a real map is.
const mapPrefix = "/map/"

// tracks serves the track layer over generated tracks, which are made when
// somebody looks, and a page with a real map.
func tracks(mux *http.ServeMux, seed uint64) {
	store := sync.OnceValues(func() (*tracksqlite.Tracks, error) {
		s, err := tracksqlite.Open(context.Background(), tracksqlite.Options{Path: tracksqlite.Memory})
		if err != nil {
			return nil, err
		}
		_, err = s.Upsert(context.Background(), sample.Tracks(generated, seed))
		return s, err
	})
	layer := func(path string) {
		made := sync.OnceValues(func() (http.Handler, error) {
			s, err := store()
			if err != nil {
				return nil, err
			}
			return trackhttp.New(trackhttp.Options{
				Store: s, Tiles: s, Runs: s, ClearToken: adminToken, Prefix: path,
				Sources: []trackhttp.Source{
					{Name: "osm", Enabled: true, Decision: "accepted"},
					{Name: "club", Enabled: true, Decision: "accepted"},
					{Name: "upload", Enabled: true, Decision: "accepted"},
				},
			})
		})
		serve := func(rw http.ResponseWriter, r *http.Request) {
			h, err := made()
			if err != nil {
				http.Error(rw, err.Error(), http.StatusInternalServerError)
				return
			}
			h.ServeHTTP(rw, r)
		}
		mux.HandleFunc(path, serve)
		mux.HandleFunc(path+"/", serve)
	}
	layer("/api/gps-tracks")
	layer(mapPrefix + "api/gps-tracks")
	mux.Handle(mapPrefix, mappage.Handler(mappage.Options{Prefix: mapPrefix}))
}
