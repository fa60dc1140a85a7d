package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// generated is how many tracks the demonstration shows.
const generated = 300

// tracks serves the track layer over generated tracks, which are made when
// somebody looks.
func tracks(mux *http.ServeMux, seed uint64) {
	layer := sync.OnceValues(func() (http.Handler, error) {
		store := memtracks.New()
		if _, err := store.Upsert(context.Background(), memtracks.Generate(generated, seed)); err != nil {
			return nil, err
		}
		return trackhttp.New(trackhttp.Options{
			Store: store, Tiles: store, Runs: store, ClearToken: adminToken,
			Sources: []trackhttp.Source{{Name: "osm", Enabled: true, Decision: "accepted"}, {Name: "club", Enabled: true, Decision: "accepted"}, {Name: "upload", Enabled: true, Decision: "accepted"}},
		})
	})
	serve := func(rw http.ResponseWriter, r *http.Request) {
		h, err := layer()
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(rw, r)
	}
	mux.HandleFunc("/api/gps-tracks", serve)
	mux.HandleFunc("/api/gps-tracks/", serve)
}
