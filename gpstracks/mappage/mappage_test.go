package mappage_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/mappage"
)

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	h.ServeHTTP(w, r)
	return w
}

func TestHandler(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"/", "/a/b/"} {
		h := mappage.Handler(mappage.Options{Prefix: prefix})
		page := get(h, prefix)
		require.Contains(t, page.Header().Get("Content-Security-Policy"), "connect-src 'self'; base-uri")
		require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
		require.Contains(t, page.Body.String(), `src="host.js"`)
		for _, name := range []string{"host.js", "style.js", "gpstracks/gpstracks.js", "maplibre/maplibre-gl.mjs"} {
			w := get(h, prefix+name)
			require.Equal(t, http.StatusOK, w.Code, name)
			require.Equal(t, "text/javascript; charset=utf-8", w.Header().Get("Content-Type"), name)
		}
		for _, name := range []string{"nothing", "maplibre/secret.txt", "maplibre/", "maplibre/..%2findex.html"} {
			require.Equal(t, http.StatusNotFound, get(h, prefix+name).Code, name)
		}
		require.JSONEq(t, `{"api": "api/gps-tracks", "on": false, "bases": [{"name": "Map", "kind": "plain"}]}`,
			get(h, prefix+"config.json").Body.String())
	}
}

const browserTests = "../../examples/browsertest/"

// readInstalled reads a file of a package that npm has installed for the browser tests; nil where npm has not run. A
// package without the file fails, so that a wrong path is no comparison that never happens.
func readInstalled(t *testing.T, name string) []byte {
	t.Helper()
	if _, err := os.Stat(browserTests + "node_modules"); err != nil {
		require.FileExists(t, browserTests+"package.json")
		return nil
	}
	body, err := os.ReadFile(browserTests + "node_modules/" + name)
	require.NoError(t, err)
	return body
}

// MapLibre is there without npm, with its licence, and is the version that the browser tests use.
func TestMapLibreIsBuiltIn(t *testing.T) {
	t.Parallel()
	h := mappage.Handler(mappage.Options{Prefix: "/"})
	require.Contains(t, get(h, "/maplibre/LICENSE.txt").Body.String(), "MapLibre contributors")
	for _, name := range []string{"maplibre-gl.mjs", "maplibre-gl-worker.mjs", "maplibre-gl.css"} {
		plain := get(h, "/maplibre/"+name)
		require.Empty(t, plain.Header().Get("Content-Encoding"))
		zipped := get(h, "/maplibre/"+name, "Accept-Encoding", "br, gzip")
		require.Equal(t, "gzip", zipped.Header().Get("Content-Encoding"))
		z, err := gzip.NewReader(zipped.Body)
		require.NoError(t, err)
		body, err := io.ReadAll(z)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain.Body.Bytes(), body))
		require.Equal(t, http.StatusNotModified, get(h, "/maplibre/"+name, "If-None-Match", plain.Header().Get("ETag")).Code)
		if installed := readInstalled(t, "maplibre-gl/dist/"+name); installed != nil {
			require.True(t, bytes.Equal(installed, body), "%s is not that of examples/browsertest: run vendor.sh", name)
		}
	}
	lock, err := os.ReadFile(browserTests + "package.json")
	require.NoError(t, err)
	_, version, _ := strings.Cut(string(lock), `"maplibre-gl": "`)
	version, _, _ = strings.Cut(version, `"`)
	require.Contains(t, get(h, "/maplibre/maplibre-gl.mjs").Body.String()[:300], "/v"+version+"/")
}

func TestBases(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mappage.Kind{"": mappage.KindPlain, "none": mappage.KindPlain,
		"https://tiles.example/{z}/{x}/{y}.png": mappage.KindRaster, "https://maps.example/style.json": mappage.KindStyle} {
		b, err := mappage.ParseBase(text, "© them")
		require.NoError(t, err)
		require.Equal(t, want, b.Kind)
	}
	for _, text := range []string{"tiles.example", "ftp://a/{z}", "javascript:alert(1)", "https://a;script-src *//{z}", "/etc/passwd"} {
		_, err := mappage.ParseBase(text, "")
		require.ErrorContains(t, err, "is no base of a map", text)
	}
	raster, err := mappage.ParseBase("https://tiles.example:8443/{z}/{x}/{y}.png", "© them")
	require.NoError(t, err)
	style, err := mappage.ParseBase("https://maps.example/style.json", "")
	require.NoError(t, err)
	policy := func(bases ...mappage.Base) string {
		return get(mappage.Handler(mappage.Options{Prefix: "/", Bases: bases}), "/").Header().Get("Content-Security-Policy")
	}
	require.Contains(t, policy(raster), "connect-src 'self' https://tiles.example:8443;")
	require.Contains(t, policy(style), "connect-src 'self' https:;")
	require.Contains(t, policy(style), "script-src 'self';")
}

// An archive of this machine is served in parts, and its reader is built in.
func TestArchive(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/alps.pmtiles"
	require.NoError(t, os.WriteFile(path, []byte("PMTiles and the rest"), 0o600))
	base, err := mappage.ParseBase(path, "© them")
	require.NoError(t, err)
	require.Equal(t, mappage.Base{Name: "Map", Kind: mappage.KindPMTiles, File: path, Attribution: "© them"}, base)
	_, err = mappage.ParseBase(path+".pmtiles", "")
	require.ErrorContains(t, err, "no file that can be read")
	remote, err := mappage.ParseBase("https://tiles.example/alps.pmtiles", "")
	require.NoError(t, err)
	require.Equal(t, mappage.KindPMTiles, remote.Kind)

	h := mappage.Handler(mappage.Options{Prefix: "/a/", Bases: []mappage.Base{remote, base}})
	require.Contains(t, get(h, "/a/").Header().Get("Content-Security-Policy"), "connect-src 'self' https://tiles.example;")
	require.Contains(t, get(h, "/a/config.json").Body.String(), `"url":"base-1.pmtiles"`)
	require.NotContains(t, get(h, "/a/config.json").Body.String(), path)
	part := get(h, "/a/base-1.pmtiles", "Range", "bytes=0-6")
	require.Equal(t, http.StatusPartialContent, part.Code)
	require.Equal(t, "PMTiles", part.Body.String())
	require.Equal(t, http.StatusNotFound, get(h, "/a/base-0.pmtiles").Code)
	require.Contains(t, get(h, "/a/pmtiles/LICENSE.txt").Body.String(), "Protomaps LLC")
	require.Contains(t, get(h, "/a/pmtiles/pmtiles.js").Body.String(), "var pmtiles=")
	if installed := readInstalled(t, "pmtiles/dist/pmtiles.js"); installed != nil {
		require.True(t, bytes.HasPrefix(installed, bytes.TrimSpace(get(h, "/a/pmtiles/pmtiles.js").Body.Bytes())),
			"it is not that of examples/browsertest: run vendor.sh")
	}
}
