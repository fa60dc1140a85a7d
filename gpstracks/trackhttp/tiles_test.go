package trackhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb/encoding/mvt"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// names are those of a tile's tracks, sorted.
func names(t *testing.T, body []byte) string {
	t.Helper()
	layers, err := mvt.Unmarshal(body)
	require.NoError(t, err)
	var out []string
	for _, l := range layers {
		for _, f := range l.Features {
			if l.Name == tile.Layer {
				out = append(out, fmt.Sprint(f.Properties["name"]))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestTile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(alps("ridge"))
	w := r.is(http.StatusOK, alpsTile)
	has(t, w, "Content-Type", "application/vnd.mapbox-vector-tile")
	has(t, w, "Cache-Control", "public, max-age=300")
	has(t, w, "X-Content-Type-Options", "nosniff")
	has(t, w, "Vary", "Accept-Encoding")
	require.Empty(t, w.Header().Get("Content-Encoding"))
	require.Equal(t, "ridge", names(t, w.Body.Bytes()))
	require.Equal(t, w.Header(), r.do(t.Context(), http.MethodHead, alpsTile).Header())
	etag := w.Header().Get("ETag")
	require.Regexp(t, `^"[0-9a-f]{24}"$`, etag)
	for _, tag := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
		w = r.is(http.StatusNotModified, alpsTile, "If-None-Match", tag)
		require.Zero(t, w.Body.Len())
		has(t, w, "ETag", etag)
		require.NotEmpty(t, w.Header().Get("Cache-Control"))
	}
	r.is(http.StatusOK, alpsTile, "If-None-Match", `"other"`)
	r.put(way("second", 7.1, 46.1, 7.3, 46.3))
	w = r.is(http.StatusOK, alpsTile, "If-None-Match", etag) // the tile is another now
	require.Equal(t, "ridge second", names(t, w.Body.Bytes()))
}

func TestTileGzip(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 30 {
		track := alps(fmt.Sprintf("track %d", i))
		track.Lines[0][0][0] -= 0.01 * float64(i)
		r.put(track)
	}
	plain := r.get(alpsTile).Body.Bytes()
	tags := map[string]string{}
	for accept, coding := range map[string]string{
		"gzip": "gzip", "br": "br", "gzip, br": "br", "br;q=0.5, GZIP": "gzip", "br;q=0.4, GZIP;q=0.5": "gzip", "*": "br",
		"*;q=0.1, br;q=0": "gzip", "gzip, deflate, br, zstd": "br",
		"deflate": "", "gzip;q=0, br;q=0, *": "", "gzip; q=0": "", "": "", "identity, gzip;q=x": "", "identity, gzip;q=0.5": "",
		"identity;q=0.5, gzip;q=0.5": "gzip", "br;q=2": "",
	} {
		w := r.get(alpsTile, "Accept-Encoding", accept)
		body, tag := w.Body.Bytes(), w.Header().Get("ETag")
		has(t, w, "Content-Length", fmt.Sprint(len(body)))
		has(t, w, "Content-Encoding", coding)
		has(t, w, "Vary", "Accept-Encoding")
		if coding != "" {
			require.Less(t, len(body), len(plain))
			body = expanded(t, coding, body)
		}
		require.Equal(t, plain, body, accept)
		require.Contains(t, []string{"", tag}, tags[coding], "one for each coding")
		tags[coding] = tag
		r.is(http.StatusNotModified, alpsTile, "Accept-Encoding", accept, "If-None-Match", tag)
	}
	require.NotEqual(t, tags["br"], tags["gzip"])
	r.is(http.StatusOK, alpsTile, "Accept-Encoding", "br", "If-None-Match", tags["gzip"])
	require.EqualValues(t, 2, r.healthy().Cache.Misses, "made once for each coding")
}

func TestTileEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(alps("ridge"))
	for _, path := range []string{"/tiles/9/0/0.mvt", alpsTile + "?activity=skiing", alpsTile + "?activity=", alpsTile + "?source=,",
		"/tiles/22/0/4194303.mvt"} {
		w := r.is(http.StatusNoContent, path)
		require.Zero(t, w.Body.Len())
		require.NotEmpty(t, w.Header().Get("Cache-Control"))
	}
	r.is(http.StatusOK, alpsTile+"?activity=hiking&activity=skiing&source=osm,club")
	world := r.get("/tiles/0/0/0.mvt")
	require.Contains(t, world.Body.String(), tile.DensityLayer, "what is too small to be drawn is counted")
	require.Empty(t, names(t, world.Body.Bytes()))
	r.put(way("", 8, 46, 8.001, 46))
	require.NotEqual(t, world.Body.String(), r.get("/tiles/0/0/0.mvt").Body.String(), "and forgotten with the tile")
}

func TestTileLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{Limits: tile.Limits{Features: 1}})
	r.put(alps("short"), way("long", 7, 46, 7.3, 46.5))
	w := r.get(alpsTile)
	has(t, w, "Gps-Tracks-Dropped", "1")
	require.Equal(t, "long", names(t, w.Body.Bytes()))
}

func TestTileJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var doc struct {
		TileJSON     string
		Tiles        []string
		VectorLayers []struct {
			ID     string
			Fields map[string]string
		} `json:"vector_layers"`
	}
	w := r.is(http.StatusOK, "/tiles.json?source=osm&activity=hiking,cycling")
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
	require.Equal(t, "3.0.0", doc.TileJSON)
	require.Equal(t, []string{"http://example.com/api/gps-tracks/tiles/{z}/{x}/{y}.mvt?activity=cycling&activity=hiking&source=osm"},
		doc.Tiles)
	require.Equal(t, tile.Layer, doc.VectorLayers[0].ID)
	require.Len(t, doc.VectorLayers[0].Fields, 8)
	r.problem(r.get("/tiles.json?activity=sleeping"), http.StatusBadRequest)

	r = newRig(t, trackhttp.Options{BaseURL: "https://maps.example/"})
	require.NoError(t, json.Unmarshal(r.get("/tiles.json").Body.Bytes(), &doc))
	require.Equal(t, []string{"https://maps.example/api/gps-tracks/tiles/{z}/{x}/{y}.mvt"}, doc.Tiles)
}

func TestHostileHost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, host := range []string{`a"b`, "a/b", "", "a b", "evil@host", strings.Repeat("a", 300)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/api/gps-tracks/tiles.json", nil)
		require.NoError(t, err)
		req.Host = host
		w := httptest.NewRecorder()
		r.h.ServeHTTP(w, req)
		r.problem(w, http.StatusBadRequest)
	}
}
