package trackhttp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// page is a document of OGC API Features as a client reads it.
type page struct {
	Links []struct{ Href, Rel, Type string }

	ConformsTo  []string
	Collections []page
	ID          any
	ItemType    string
	Extent      struct{ Spatial struct{ Bbox [][]float64 } }

	Type           string
	Features       []page
	NumberReturned *int
	NumberMatched  int
	Geometry       struct{ Type string }
	Properties     map[string]any
}

// browser follows links to a server that is at an address behind a proxy.
type browser struct {
	*rig
	root string
}

func (b browser) open(address string) (p page) {
	b.Helper()
	path, ok := strings.CutPrefix(address, b.root)
	require.True(b, ok, "%s is not behind the proxy", address)
	w := b.get(path)
	require.Equal(b, http.StatusOK, w.Code, "%s %s", address, w.Body.String())
	require.NoError(b, json.Unmarshal(w.Body.Bytes(), &p))
	self := slices.IndexFunc(p.Links, func(l struct{ Href, Rel, Type string }) bool { return l.Rel == "self" })
	require.GreaterOrEqual(b, self, 0, address)
	require.Equal(b, address, p.Links[self].Href)
	require.Equal(b, p.Links[self].Type, w.Header().Get("Content-Type"))
	return p
}

// link is the one address of a kind, empty if there is none.
func (p page) link(rel string) string {
	for _, l := range p.Links {
		if l.Rel == rel {
			return l.Href
		}
	}
	return ""
}

// A browser reads the landing page; a program gets the document, also from a browser's address.
func TestLandingPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{BaseURL: "https://maps.example/?a=<b>"})
	const browsers = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for query, want := range map[string]string{"": "text/html; charset=utf-8", "?f=json": "application/json", "?f=html": "text/html; charset=utf-8"} {
		w := r.get("/ogc"+query, "Accept", browsers)
		has(t, w, "Content-Type", want)
		require.Contains(t, w.Header().Values("Vary"), "Accept")
		require.NotContains(t, w.Body.String(), "<b>")
		require.Contains(t, w.Body.String(), "/ogc/collections")
	}
	for _, accept := range []string{"", "*/*", "application/json, text/html"} {
		require.Equal(t, "application/json", r.get("/ogc", "Accept", accept).Header().Get("Content-Type"), accept)
	}
	require.Equal(t, "text/html; charset=utf-8", r.get("/ogc?f=html").Header().Get("Content-Type"))
}

// A client walks from the landing page to every track, by links alone, also behind a proxy with a
// path of its own.
func TestOGC(t *testing.T) {
	t.Parallel()
	const public = "https://maps.example/outdoors"
	b := browser{newRig(t, trackhttp.Options{BaseURL: public, Sources: []trackhttp.Source{
		{Name: "osm", Licence: "ODbL 1.0", LicenceURL: "https://odbl.example/"}, {Name: "club"},
	}}), public + "/api/gps-tracks"}
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	want := map[string]bool{}
	for i := range 23 {
		k := alps(fmt.Sprint("track ", i))
		k.Lines[0][0][0] += 0.01 * float64(i)
		switch i % 3 {
		case 0:
			k.RecordedOn = day.AddDate(0, i, 0)
		case 1:
			k.StartedAt, k.EndedAt = day.AddDate(0, i, 0).Add(8*time.Hour), day.AddDate(0, i, 0).Add(9*time.Hour)
		}
		b.put(k)
		want[k.Name] = true
	}
	landing := b.open(b.root + "/ogc")
	require.Contains(t, b.read(landing.link("conformance")).ConformsTo, "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core")
	require.Contains(t, b.get(strings.TrimPrefix(landing.link("service-desc"), b.root)).Body.String(), `"openapi": "3.0.3"`)
	all := b.open(landing.link("data"))
	require.Len(t, all.Collections, 1)
	tracks := b.open(all.Collections[0].link("self"))
	require.Equal(t, []any{"tracks", "feature"}, []any{tracks.ID, tracks.ItemType})
	require.InDelta(t, 7.1, tracks.Extent.Spatial.Bbox[0][0], 0.01)
	require.Equal(t, "https://odbl.example/", tracks.link("license"))

	walk := func(address string) (names []string) {
		for address != "" {
			p := b.open(address)
			require.Equal(t, "FeatureCollection", p.Type)
			require.Len(t, p.Features, *p.NumberReturned)
			for _, f := range p.Features {
				names = append(names, f.Properties["name"].(string))
			}
			address = p.link("next")
		}
		return names
	}
	items := tracks.link("items")
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), walk(items+"?limit=5"))
	require.Len(t, walk(items), 23)
	require.Len(t, walk(items+"?limit=99999&f=json"), 23, "the greatest limit in its place")
	require.Len(t, walk(items+"?bbox=7.0,46,7.101,46.3&limit=1"), 1)
	require.Len(t, walk(items+"?bbox=7.0,46,-100,7.101,46.3,9000"), 1, "with heights")
	require.Empty(t, walk(items+"?bbox=20,0,21,1"))
	for when, n := range map[string]int{ // seven have no time: they are of every time
		"2026-05-01": 8, "2026-05-01T12:00:00Z": 8, "2026-06-01T08:30:00Z": 8, "2026-06-01T07:30:00Z": 7, "../2026-06-01T08:00:00Z": 9,
		"2028-01-01/..": 9, "2027-01-01T00:00:00Z/2027-12-31T00:00:00Z": 15, "1990-01-01/1991-01-01": 7, "/2026-05-01": 8,
	} {
		require.Len(t, walk(items+"?limit=2&datetime="+when), n, when)
	}
	first := b.open(items + "?limit=1").Features[0]
	one := b.open(fmt.Sprintf("%s/%v", items, first.ID))
	require.Equal(t, first.Properties["name"], one.Properties["name"])
	require.Equal(t, tracks.link("self"), one.link("collection"))
	w := b.get("/ogc/collections/tracks/items?limit=3")
	require.Equal(t, http.StatusNotModified, b.get("/ogc/collections/tracks/items?limit=3", "If-None-Match", w.Header().Get("ETag")).Code)
	for _, query := range []string{"?bbox=1,2,3", "?bbox=a,b,c,d", "?limit=0", "?limit=x", "?datetime=yesterday", "?datetime=../..",
		"?datetime=2027-01-01/2026-01-01", "?colour=red", "?bbox=1,2,3,4&bbox=1,2,3,4"} {
		b.problem(b.get("/ogc/collections/tracks/items"+query), http.StatusBadRequest)
	}
	for _, path := range []string{"/ogc/collections/roads", "/ogc/collections/tracks/items/99", "/ogc/collections/tracks/items/x", "/ogcx",
		"/ogc/x"} {
		b.problem(b.get(path), http.StatusNotFound)
	}
}

// read is open of a document without links.
func (b browser) read(address string) (p page) {
	b.Helper()
	require.NoError(b, json.Unmarshal(b.get(strings.TrimPrefix(address, b.root)).Body.Bytes(), &p))
	return p
}

// The style names the layers that tiles have, and the colours that the layer for maps has.
func TestStyle(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{BaseURL: "https://maps.example"})
	ridge := alps("ridge")
	ridge.Attribution = "<them>"
	r.put(ridge)
	w := r.get("/style.json")
	has(t, w, "Content-Type", "application/json")
	require.NotEmpty(t, w.Header().Get("ETag"))
	var style struct {
		Version int
		Center  []float64
		Sources map[string]struct{ Type, URL, Attribution string }
		Layers  []map[string]any
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &style))
	require.Equal(t, 8, style.Version)
	require.Len(t, style.Center, 2)
	require.Equal(t, "https://maps.example/api/gps-tracks/tiles.json", style.Sources["tracks"].URL)
	require.Equal(t, "&lt;them&gt;", style.Sources["tracks"].Attribution)
	var kinds []string
	for _, l := range style.Layers {
		kinds = append(kinds, fmt.Sprint(l["type"], " ", l["source-layer"]))
	}
	require.Equal(t, []string{"background <nil>", "heatmap " + tile.DensityLayer, "line " + tile.Layer, "symbol " + tile.Layer}, kinds)
	require.EqualValues(t, tile.DensityZoom+1, style.Layers[1]["maxzoom"])
	script, err := os.ReadFile("../web/state.js")
	require.NoError(t, err)
	for i, color := range regexp.MustCompile(`#[0-9a-f]{6}`).FindAllString(string(script), 8) {
		require.Contains(t, w.Body.String(), fmt.Sprintf("%q,\n          %q", gpstracks.Activities()[i], color))
	}
}
