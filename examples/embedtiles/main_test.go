package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestService(t *testing.T) {
	t.Parallel()
	h, err := service(50, nil)
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	require.Contains(t, w.Body.String(), "Public GPS tracks")
	require.Contains(t, w.Body.String(), "needs the files of MapLibre GL JS")
	for path, want := range map[string]string{
		"?bbox=5,44,15,48&zoom=8": `"numberReturned":50,"truncated":false`,
		"/tiles/5/16/11.mvt":      "gps_tracks",
		"/tiles.json":             `"tilejson": "3.0.0"`,
		"/health":                 `"tracks": 50`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/gps-tracks"+path, nil))
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Contains(t, w.Body.String(), want, path)
	}
}
