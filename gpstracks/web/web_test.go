package web_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/web"
)

func get(t *testing.T, name string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/deep/down/"+name, nil)
	if len(header) > 0 {
		r.Header.Set(header[0], header[1])
	}
	http.StripPrefix("/deep/down/", web.Handler()).ServeHTTP(w, r)
	return w
}

// What browsers load stays small: 37 kB, before compression.
func TestSize(t *testing.T) {
	t.Parallel()
	size := 0
	names, err := fs.Glob(web.Files(), "*")
	require.NoError(t, err)
	require.Equal(t, []string{"compare.js", "controls.js", "density.js", "details.js", "gpstracks.css", "gpstracks.js", "layers.js", "popup.js", "profile.js",
		"state.js", "types.d.ts", "words.js"}, names)
	for _, name := range slices.DeleteFunc(names, func(name string) bool { return name == "types.d.ts" }) {
		size += get(t, name).Body.Len()
	}
	require.LessOrEqual(t, size, 37_000)
	require.Greater(t, size, 10_000)
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"gpstracks.js": "text/javascript", "controls.js": "text/javascript",
		"gpstracks.css": "text/css", "types.d.ts": "text/plain"} {
		w := get(t, name)
		require.Equal(t, http.StatusOK, w.Code, name)
		require.Equal(t, kind+"; charset=utf-8", w.Header().Get("Content-Type"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Equal(t, http.StatusNotModified, get(t, name, "If-None-Match", w.Header().Get("ETag")).Code)
		require.NotEqual(t, http.StatusNotModified, get(t, name, "If-None-Match", `"x"`).Code)
		if strings.HasSuffix(name, ".js") {
			require.NotContains(t, w.Body.String(), "@param")
			require.NotContains(t, w.Body.String(), "//\t")
			require.NotContains(t, w.Body.String(), "\n\n")
		}
	}
	require.Equal(t, http.StatusNotFound, get(t, "web.go").Code)
	require.Equal(t, http.StatusNotFound, get(t, "").Code)
	require.Equal(t, http.StatusNotFound, get(t, "../web.go").Code)
	w := httptest.NewRecorder()
	web.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/gpstracks.js", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}
