package main

import (
	"context"
	_ "embed" // for the page
	"io"
	"net/http"
	"sync"

	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

//go:embed tracks.html
var tracksPage string

// generated is how many tracks the demonstration shows.
const generated = 300

// tracks serves the track layer over generated tracks, which are made when
// somebody looks, and a page that draws them.
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
	mux.HandleFunc("GET /tracks", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'")
		_, _ = io.WriteString(rw, tracksPage)
	})
}
