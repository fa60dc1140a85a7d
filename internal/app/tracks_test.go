package app_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

func get(t *testing.T, v *app.Service, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	v.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

// mapped are tracks of a source whose licence is accepted.
func mapped(n int) []gpstracks.Track {
	tracks := sample.Tracks(n, 1)
	for i := range tracks {
		tracks[i].Source = "osm"
	}
	return tracks
}

// The layer is served beside the engine, and shows what another process brings.
func TestTracks(t *testing.T) {
	v := open(t, "ORCH_ADMIN_TOKEN=the-operators-token-of-128-bits", "ORCH_GPS_CORS_ORIGINS=*")
	require.Equal(t, http.StatusOK, get(t, v, "/healthz").Code)
	health := get(t, v, "/api/gps-tracks/health")
	require.Equal(t, http.StatusOK, health.Code)
	require.JSONEq(t, `{"status": "ok", "tracks": 0, "cache": {"size": 0, "capacity": 1024, "hits": 0, "misses": 0}, "sources": [
		{"name": "osm", "enabled": true, "decision": "accepted", "licence": "ODbL 1.0", "licence_url": "https://www.openstreetmap.org/copyright", "last_run": null},
		{"name": "local", "enabled": true, "decision": "accepted", "licence": "as the operator of this server decides", "download": true, "last_run": null},
		{"name": "wikiloc", "enabled": false, "decision": "proposed", "last_run": null}, {"name": "hikr", "enabled": false, "decision": "proposed", "last_run": null}]}`, health.Body.String())
	const tile = "/api/gps-tracks/tiles/5/16/11.mvt"
	require.Equal(t, http.StatusNoContent, get(t, v, tile).Code)

	store, err := tracksqlite.Open(t.Context(), tracksqlite.Options{Path: filepath.Join(v.Settings.DataDir, "tracks.db")})
	require.NoError(t, err)
	defer store.Close()
	_, err = store.Upsert(t.Context(), mapped(40))
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, get(t, v, tile).Code, "from the cache")
	require.NoError(t, v.Tracks.Refresh(t.Context()))
	require.Equal(t, http.StatusOK, get(t, v, tile).Code)
	require.Contains(t, get(t, v, "/api/gps-tracks?bbox=5,44,15,48").Body.String(), `"numberReturned":40`)
}

// A licence that is taken back while the server runs takes its tracks out of the answers, and so does its record that is
// missing, of a source that is not configured too.
func TestRejectedSource(t *testing.T) {
	dir := t.TempDir()
	record := func(source, status string) {
		text := "---\nsource: " + source + "\nstatus: " + status + "\nlicence: ODbL\nattribution: mappers\ndecided_on: 2026-05-01\nurl: \"\"\n---\n"
		put(t, filepath.Join(dir, source+".md"), text)
	}
	record("osm", "accepted")
	record("club", "accepted")
	file := put(t, filepath.Join(t.TempDir(), "s.yaml"), "sources: [{name: osm, kind: files, enabled: true}]")
	v := open(t, "ORCH_GPS_LICENCES="+dir, "ORCH_GPS_SOURCES="+file)
	store, err := tracksqlite.Open(t.Context(), tracksqlite.Options{Path: filepath.Join(v.Settings.DataDir, "tracks.db")})
	require.NoError(t, err)
	defer store.Close()
	_, err = store.Upsert(t.Context(), sample.Tracks(40, 1))
	require.NoError(t, err)
	shown := func() string {
		require.NoError(t, v.Tracks.Refresh(t.Context()))
		return get(t, v, "/api/gps-tracks?bbox=5,44,15,48").Body.String()
	}
	require.Contains(t, shown(), `"source":"osm"`)
	require.NotContains(t, shown(), `"source":"upload"`)
	record("osm", "rejected")
	require.NotContains(t, shown(), `"source":"osm"`)
	require.Contains(t, shown(), `"source":"club"`)
	record("club", "proposed")
	require.NotContains(t, shown(), `"source":"club"`)
	record("club", "accepted")
	require.Contains(t, shown(), `"source":"club"`)
	require.NoError(t, os.Remove(filepath.Join(dir, "club.md")))
	require.NotContains(t, shown(), `"source":"club"`)

	record("club", "accepted")
	require.Contains(t, shown(), `"source":"club"`)
	record("club", "rejected")
	put(t, file, "sources: [{name: osm, kind: files, enabled: flase}]")
	require.ErrorContains(t, v.Tracks.Refresh(t.Context()), file)
	require.NotContains(t, get(t, v, "/api/gps-tracks?bbox=5,44,15,48").Body.String(), `"source":"club"`)
	require.Contains(t, get(t, v, "/api/gps-tracks/health").Body.String(), `"enabled": true`, "of osm, as before")
	require.Contains(t, ready(t, v.Handler), `"tracks": "warning: `+file)
}

// The map is there, on the base of the settings.
func TestMapPage(t *testing.T) {
	v := open(t)
	require.Equal(t, "map/", get(t, v, "/map").Header().Get("Location"))
	require.Contains(t, get(t, v, "/map/").Body.String(), "host.js")
	require.JSONEq(t, `{"api": "../api/gps-tracks", "on": true, "bases": [{"name": "Map", "kind": "plain"}]}`, get(t, v, "/map/config.json").Body.String())
	require.Equal(t, http.StatusOK, get(t, v, "/map/maplibre/maplibre-gl.mjs").Code)
	require.NotEqual(t, http.StatusOK, get(t, open(t, "ORCH_GPS_TRACKS_ENABLED=false"), "/map/").Code)

	v = open(t, "ORCH_GPS_MAP_BASE=https://tiles.example/{z}/{x}/{y}.png", "ORCH_GPS_MAP_IMAGERY=https://sky.example/{z}/{x}/{y}.jpg", "ORCH_GPS_MAP_ATTRIBUTION=© them")
	require.JSONEq(t, `{"api": "../api/gps-tracks", "on": true, "bases": [
		{"name": "Map", "kind": "raster", "url": "https://tiles.example/{z}/{x}/{y}.png", "attribution": "© them"},
		{"name": "Satellite", "kind": "raster", "url": "https://sky.example/{z}/{x}/{y}.jpg", "attribution": "© them", "imagery": true}]}`, get(t, v, "/map/config.json").Body.String())
	require.Contains(t, get(t, v, "/map/").Header().Get("Content-Security-Policy"), "connect-src 'self' https://tiles.example https://sky.example;")
}

// On PostgreSQL it is the same, and a collector's tracks come from another process.
func TestTracksShared(t *testing.T) {
	url := "ORCH_DATABASE_URL=" + durable(t)
	v := open(t, url)
	require.Contains(t, get(t, v, "/api/gps-tracks/health").Body.String(), `"tracks": 0`)
	s := load(t, []string{url})
	store, err := app.OpenTracks(t.Context(), s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = store.Upsert(t.Context(), mapped(40))
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, v.Tracks.Refresh(t.Context()))
	require.Equal(t, http.StatusOK, get(t, v, "/api/gps-tracks/tiles/5/16/11.mvt").Code)
	require.Contains(t, get(t, v, "/api/gps-tracks?bbox=5,44,15,48").Body.String(), `"numberReturned":40`)
	v.Settings.DatabaseURL = secret.New("mysql://u:hidden@h/n")
	_, err = app.OpenTracks(t.Context(), v.Settings, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "ORCH_DATABASE_URL begins with")
}

// durable is the URL of a server with fsync on, which is what a service requires
// for.
func durable(t *testing.T) string {
	t.Helper()
	return pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
}

// Switched off, the service is as without the layer.
func TestTracksOff(t *testing.T) {
	v := open(t, "ORCH_GPS_TRACKS_ENABLED=false")
	require.Nil(t, v.Tracks)
	nothing := get(t, v, "/api/nothing")
	for _, path := range []string{"/api/gps-tracks", "/api/gps-tracks/health", "/api/gps-tracks/tiles/0/0/0.mvt"} {
		w := get(t, v, path)
		require.Equal(t, nothing.Code, w.Code, path)
		require.Equal(t, nothing.Header(), w.Header(), path)
		require.Equal(t, nothing.Body.String(), w.Body.String(), path)
	}
}

func TestTracksSettings(t *testing.T) {
	for setting, want := range map[string]string{
		"GPS_CACHE_TILES=0": "is 0, want at least 1", "GPS_TILE_MAX_AGE=0s": "want more than 0", "GPS_REFRESH=-1s": "want more than 0", "GPS_TRACKS_ENABLED=maybe": "maybe",
		"GPS_CORS_ORIGINS=example.org": "want origins such as", "GPS_CORS_ORIGINS=https://a.example/path": "want origins such as", "GPS_BASE_URL=x": "want an address",
	} {
		_, err := app.Load([]string{"ORCH_" + setting})
		require.ErrorContains(t, err, want, setting)
	}
}
