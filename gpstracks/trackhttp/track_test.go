package trackhttp_test

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func TestTrack(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{Sources: []trackhttp.Source{
		{Name: "osm", Licence: "ODbL 1.0", LicenceURL: "https://odbl.example/"},
		{Name: "local", Download: true, LicenceURL: "https://l.example/?a&b"},
	}})
	line := trail()
	r.put(gpstracks.Track{Name: "trail", Attribution: "© some", Lines: orb.MultiLineString{line}},
		gpstracks.Track{Source: "local", Name: `<&">`, Attribution: `A "B" & C`, URL: "https://t.example/?x&y", Activity: gpstracks.Hiking,
			Lines: orb.MultiLineString{{{7, 46}, {7.1, 46.1}}, {{7.2, 46}, {7.3, 46.1}}}})

	w := r.is(http.StatusOK, "/tracks/1")
	f, err := geojson.UnmarshalFeature(w.Body.Bytes())
	require.NoError(t, err)
	require.Len(t, f.Geometry, len(line), "every point")
	require.Equal(t, []any{"trail", "ODbL 1.0", "https://odbl.example/"},
		[]any{f.Properties["name"], f.Properties["licence"], f.Properties["licence_url"]})
	require.Equal(t, orb.MultiPoint(line).Bound(), f.BBox.Bound())
	require.NotContains(t, w.Body.String(), ".gpx")
	r.is(http.StatusNotModified, "/tracks/1", "If-None-Match", w.Header().Get("ETag"))
	require.Equal(t, w.Body.Bytes(), unzipped(t, r.get("/tracks/1", "Accept-Encoding", "gzip").Body.Bytes()))
	r.problem(r.get("/tracks/1.gpx"), http.StatusForbidden)

	require.Contains(t, r.get("/tracks/2").Body.String(), `"gpx":"/api/gps-tracks/tracks/2.gpx"`)
	w = r.get("/tracks/2.gpx")
	has(t, w, "Content-Type", "application/gpx+xml")
	has(t, w, "Content-Disposition", `attachment; filename="track-2.gpx"`)
	var doc struct {
		Copyright struct {
			Author  string `xml:"author,attr"`
			License string `xml:"license"`
		} `xml:"metadata>copyright"`
		Name string `xml:"trk>name"`
		Type string `xml:"trk>type"`
		Link struct {
			Href string `xml:"href,attr"`
		} `xml:"trk>link"`
		Segments []struct {
			Points []struct {
				Lat float64 `xml:"lat,attr"`
				Lon float64 `xml:"lon,attr"`
			} `xml:"trkpt"`
		} `xml:"trk>trkseg"`
	}
	require.NoError(t, xml.Unmarshal(w.Body.Bytes(), &doc))
	require.Equal(t, []string{`A "B" & C`, "https://l.example/?a&b", `<&">`, "hiking", "https://t.example/?x&y"},
		[]string{doc.Copyright.Author, doc.Copyright.License, doc.Name, doc.Type, doc.Link.Href})
	require.Len(t, doc.Segments, 2)
	require.InDelta(t, 46.1, doc.Segments[1].Points[1].Lat, 1e-9)
	require.InDelta(t, 7.3, doc.Segments[1].Points[1].Lon, 1e-9)

	for _, path := range []string{"/tracks/3", "/tracks/0", "/tracks/-1", "/tracks/x", "/tracks/", "/tracks/1.gpx.gpx",
		"/tracks/01"} {
		r.problem(r.get(path), http.StatusNotFound)
	}
}

// A map opens where the tracks are, and names whom their licences want named.
func TestTileJSONOfTheData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var doc struct {
		Bounds, Center []float64
		Attribution    string
		VectorLayers   []struct {
			ID      string
			MaxZoom *int
		} `json:"vector_layers"`
	}
	read := func() {
		require.NoError(t, json.Unmarshal(r.get("/tiles.json").Body.Bytes(), &doc))
	}
	read()
	require.Equal(t, []float64{-180, -85.05112877980659, 180, 85.05112877980659}, doc.Bounds)
	require.Empty(t, doc.Center)
	require.Equal(t, tile.DensityLayer, doc.VectorLayers[1].ID)
	require.Equal(t, tile.DensityZoom, *doc.VectorLayers[1].MaxZoom)
	r.put(gpstracks.Track{Attribution: "<b>Someone</b>", Lines: orb.MultiLineString{{{7, 46}, {7.5, 46.2}}}},
		gpstracks.Track{Attribution: "© all", Lines: orb.MultiLineString{{{8, 46}, {9, 47}}}},
		gpstracks.Track{Attribution: "© all", Lines: orb.MultiLineString{{{8, 46}, {9, 46.5}}}})
	read()
	require.Equal(t, "© all | &lt;b&gt;Someone&lt;/b&gt;", doc.Attribution, "the most frequent first, without markup")
	for i, want := range []float64{7, 46, 9, 47} {
		require.InDelta(t, want, doc.Bounds[i], 0.05)
	}
	require.InDeltaSlice(t, []float64{8, 46.5, 7}, doc.Center, 0.05)
	for i := range 12 {
		r.put(gpstracks.Track{Attribution: strings.Repeat("x", i+1), Lines: orb.MultiLineString{{{8, 46},
			{9, 46 + float64(i)/100 + 0.01}}}})
	}
	read()
	require.Regexp(t, `^© all \| .* \| and 6 more$`, doc.Attribution)
}

// Gateways and libraries add keys and versions to an address; a name that people have misspelt is told.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{Sources: []trackhttp.Source{{Name: "osm", Download: true}}})
	r.put(alps("ridge"))
	for _, path := range []string{alpsBox, "/tracks/1?", "/tracks/1.gpx?", "/tiles.json?", "/style.json?", alpsTile + "?"} {
		plain := r.get(path)
		for _, other := range []string{"key=K", "k=1", "t=1", "_t=1", "v=1&v=2", "order=name", "access_token=K", "f=json", "datetime=x"} {
			w := r.is(http.StatusOK, path+"&"+other)
			require.Equal(t, plain.Body.String(), w.Body.String(), path+other)
		}
	}
	for wrong, meant := range map[string]string{"zom": "zoom", "zooom": "zoom", "zoon": "zoom", "ZOOM": "zoom", "bbx": "bbox",
		"box": "bbox", "limits": "limit", "imit": "limit", "sourse": "source", "Profile": "profile", "ats": "at", "fulll": "full"} {
		p := r.problem(r.get(alpsBox+"&"+wrong+"=evil"), http.StatusBadRequest)
		require.Equal(t, "A parameter is unknown: is "+meant+" meant?", p.Detail, wrong)
	}
	for _, path := range []string{"/ogc/collections/tracks/items?limits=1", "/ogc/collections/tracks/items?key=K", "/ogc?key=K"} {
		r.problem(r.get(path), http.StatusBadRequest) // the standard wants it
	}
}
