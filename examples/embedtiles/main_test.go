package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/mappage"
)

func TestService(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]map[string]string{
		"": {"?bbox=5,44,15,48&zoom=8&limit=50": `"numberReturned":50,`, "/health": `"tracks": 2000`},
		"../collect/testdata": {"?bbox=5,44,15,48&zoom=8": `"numberReturned":2,"truncated":false`, "/health": `"tracks": 2`,
			"/tracks/1.gpx": "<trkpt"},
	} {
		store, err := load(t.Context(), folder)
		require.NoError(t, err)
		h, err := service(store, mappage.Plain())
		require.NoError(t, err)
		get := func(path string) string {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			require.Equal(t, http.StatusOK, w.Code, path)
			return w.Body.String()
		}
		require.Contains(t, get("/"), "Public GPS tracks")
		require.Contains(t, get("/api/gps-tracks/tiles/5/16/11.mvt"), "gps_density")
		require.Contains(t, get("/api/gps-tracks/tiles.json"), `"tilejson": "3.0.0"`)
		require.Contains(t, get("/api/gps-tracks/style.json"), "heatmap")
		require.Contains(t, get("/api/gps-tracks/ogc/collections/tracks/items?limit=1"), `"rel":"next"`)
		for path, want := range want {
			require.Contains(t, get("/api/gps-tracks"+path), want, path)
		}
	}
	_, err := load(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "has no files")
	require.ErrorContains(t, serve("", "x", "", ""), "is no base")
}
