package browsertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/export"
	"github.com/signalbox-dev/signalbox/gpstracks/mappage"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// guarded lets those in who have the key as a bearer token, as a cookie, or in the address.
func guarded(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := fmt.Sprint(r.Header["Authorization"], r.Header["Cookie"], r.URL.RawQuery)
		if r.Method != http.MethodOptions && !strings.Contains(given, "key") {
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// maplibre5 is MapLibre 5 with the names of a module, as the page loads version 6.
const maplibre5 = `import './maplibre-gl-csp.js'
const gl = globalThis.maplibregl
gl.setWorkerUrl(new URL('maplibre-gl-csp-worker.js', import.meta.url).href)
export const { Map, Popup, NavigationControl, GeolocateControl, ScaleControl, addProtocol } = gl
`

// style is a base of one colour.
func style(colour string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"version": 8, "sources": {"base": {"type": "geojson",
			"data": {"type": "FeatureCollection", "features": []}}},
			"layers": [{"id": "ground", "type": "background", "paint": {"background-color": "%s"}}]}`, colour)
	}
}

// startMaps serves the map pages, with the real API over tracks in memory. map-own is the page as the reference server
// has it, map-base has an archive as its base, map-v5 has MapLibre 5, map-guarded is behind a login, for the pages of map.
func startMaps(ctx context.Context, modules string, sites map[string]string) error {
	store, err := tracksqlite.Open(ctx, tracksqlite.Options{Path: tracksqlite.Memory})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = store.Close() })
	tracks, err := testTracks()
	if err != nil {
		return err
	}
	if _, err := store.Upsert(ctx, tracks); err != nil {
		return err
	}
	base, err := archive(ctx, store)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = os.Remove(base) })
	for _, name := range []string{"map", "map-prefix", "map-v5", "map-own", "map-base", "map-guarded"} {
		prefix := cmp.Or(map[string]string{"map-prefix": "/some/where/"}[name], "/")
		api, err := trackhttp.New(trackhttp.Options{
			Private: name == "map-guarded", AllowOrigins: []string{strings.TrimSuffix(sites["map"], "/")}, AllowHeaders: []string{"Authorization"},
			Store: store, Tiles: store, Prefix: prefix + "api/gps-tracks",
			Sources: []trackhttp.Source{
				{Name: "osm", Enabled: true, Licence: "ODbL 1.0", LicenceURL: "https://odbl.example/"},
				{Name: "club", Enabled: true, Download: true},
				{Name: "upload", Enabled: true},
			},
		})
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle(prefix+"api/gps-tracks", api)
		mux.Handle(prefix+"api/gps-tracks/", api)
		mux.Handle(prefix+"files/", http.StripPrefix(prefix+"files/", http.FileServer(http.Dir(filepath.Dir(modules)))))
		page := mappage.Options{Prefix: prefix}
		switch name {
		case "map-base":
			page.On, page.Bases = true, []mappage.Base{{Name: "Archive", Kind: mappage.KindPMTiles, File: base}}
		case "map-own":
			page.On = true
		default:
			page.Bases = []mappage.Base{
				{Name: "Map", Kind: mappage.KindStyle, URL: "map.json"},
				{Name: "Satellite", Kind: mappage.KindStyle, URL: "satellite.json", Imagery: true},
			}
			mux.Handle(prefix+"map.json", style("#f2f1ea"))
			mux.Handle(prefix+"satellite.json", style("#2f3b28"))
		}
		if name == "map-v5" {
			dist := http.FileServer(http.Dir(filepath.Join(modules, "maplibre-gl-v5", "dist")))
			mux.Handle(prefix+"maplibre/", http.StripPrefix(prefix+"maplibre/", dist))
			mux.HandleFunc(prefix+"maplibre/maplibre-gl.mjs", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/javascript")
				_, _ = w.Write([]byte(maplibre5))
			})
		}
		mux.Handle(prefix, mappage.Handler(page))
		server := httptest.NewServer(map[bool]http.Handler{false: mux, true: guarded(mux)}[name == "map-guarded"])
		context.AfterFunc(ctx, server.Close)
		sites[name] = server.URL + prefix
	}
	return nil
}

// archive is a file that a page has as its base: the tracks themselves, as others would have land.
func archive(ctx context.Context, store *tracksqlite.Tracks) (path string, err error) {
	plan, err := export.NewPlan(ctx, export.Options{Store: store, Tiles: store, Sources: []string{"osm", "club", "upload"}, MaxZoom: 10})
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "*.pmtiles")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(plan.WritePMTiles(ctx, f), f.Close())
}

// testTracks are 1,200 generated tracks, and at 10 E 45.2 N, where nobody else
// walks, those that tests look for.
func testTracks() (tracks []gpstracks.Track, err error) {
	tracks = sample.Tracks(1200, 1)
	add := func(t gpstracks.Track) {
		t, failed := gpstracks.Prepare(t)
		tracks, err = append(tracks, t), errors.Join(err, failed)
	}
	day := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	for i, t := range []gpstracks.Track{
		{
			Source: "osm", Name: `<img src=x onerror="document.title='broken'">`, Activity: gpstracks.Hiking,
			URL: "https://tracks.example/1", Attribution: "<b>Someone</b>", RecordedOn: day,
		},
		{
			Source: "club", Name: "Over the same bridge", Activity: gpstracks.Cycling,
			URL: "https://tracks.example/2", RecordedOn: day.AddDate(-4, 0, 0),
		},
		{Source: "upload"},
	} {
		t.Lines = orb.MultiLineString{{{9.9, 45.2 + float64(i-1)*0.02}, {10, 45.2}, {10.1, 45.2 + float64(i-1)*0.02}}}
		add(t)
	}
	for i := range 10 { // more than a popup shows
		x := 10.5 + float64(i)*0.002
		add(gpstracks.Track{
			Source: "osm", Name: fmt.Sprint("Ray ", i), Activity: gpstracks.Running, RecordedOn: day,
			Lines: orb.MultiLineString{{{x, 45.1}, {10.509, 45.2}, {10.509 + float64(i)*0.003, 45.3}}},
		})
	}
	return tracks, err
}
