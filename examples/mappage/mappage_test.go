package mappage_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/examples/mappage"
)

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestHandler(t *testing.T) {
	t.Parallel()
	six := fstest.MapFS{"maplibre-gl.css": {}, "maplibre-gl.mjs": {Data: []byte("export {}")}, "secret.txt": {}}
	five := fstest.MapFS{"maplibre-gl.css": {}, "maplibre-gl-csp.js": {}}
	for _, prefix := range []string{"/", "/a/b/"} {
		h := mappage.Handler(prefix, six)
		page := get(h, prefix)
		require.Equal(t, mappage.Policy, page.Header().Get("Content-Security-Policy"))
		require.Contains(t, page.Body.String(), `src="host.js"`)
		require.NotContains(t, page.Body.String(), "maplibre-gl-csp.js")
		for _, name := range []string{"host.js", "style.js", "gpstracks/gpstracks.js", "gpstracks/controls.js", "maplibre/maplibre-gl.mjs"} {
			w := get(h, prefix+name)
			require.Equal(t, http.StatusOK, w.Code, name)
			require.Equal(t, "text/javascript; charset=utf-8", w.Header().Get("Content-Type"), name)
		}
		require.Equal(t, http.StatusNotFound, get(h, prefix+"maplibre/secret.txt").Code)
		require.Equal(t, http.StatusNotFound, get(h, prefix+"maplibre/maplibre-gl-csp.js").Code)
		require.Equal(t, http.StatusNotFound, get(h, prefix+"nothing").Code)
		require.Contains(t, get(mappage.Handler(prefix, five), prefix).Body.String(), `<script src="maplibre/maplibre-gl-csp.js">`)
		require.Contains(t, get(mappage.Handler(prefix, nil), prefix).Body.String(), "npm ci")
	}
}
