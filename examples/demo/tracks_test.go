package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// The layer lists what the page draws.
func TestTracks(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	tracks(mux, 1)
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, http.StatusOK, w.Code, path)
		return w
	}
	var list struct{ NumberReturned int }
	require.NoError(t, json.Unmarshal(get("/api/gps-tracks?bbox=7.4,46.25,8.4,46.9&zoom=12&activity=hiking,running,cycling,skiing").Body.Bytes(), &list))
	require.Greater(t, list.NumberReturned, 20, "in the box that the page shows")
	require.NotEmpty(t, get("/api/gps-tracks/tiles/6/33/22.mvt").Body.Bytes())
}
