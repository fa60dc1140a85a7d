package trackhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

func (r *rig) healthy() (h trackhttp.Health) {
	r.Helper()
	w := r.is(http.StatusOK, "/health")
	require.NoError(r, json.Unmarshal(w.Body.Bytes(), &h))
	require.Equal(r, "ok", h.Status)
	return h
}

func TestList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(gpstracks.Track{
		Name: `</script><img src=x onerror="alert(1)">\ ü`, Activity: gpstracks.Skiing, URL: "https://example.org/?a=1&b=2",
		Attribution: "© all",
		RecordedOn:  time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		Lines: orb.MultiLineString{{{7.123456789, 46}, {7.2, 46.100004}, {7.2000001, 46.1000041}, {7.3, 46.00001}},
			{{7.5, 46.5}, {7.6, 46.5}}},
	}, gpstracks.Track{Source: "club", Lines: orb.MultiLineString{{{-0.00001, -0.5}, {7, 46}}}})
	w := r.is(http.StatusOK, "?bbox=7,45,8,47&zoom=20")
	has(t, w, "Content-Type", "application/geo+json")
	body := w.Body.String()
	require.Contains(t, body, `"coordinates":[[[7.12346,46],[7.2,46.1],[7.3,46.00001]],[[7.5,46.5],[7.6,46.5]]]`)
	require.Contains(t, body, `"coordinates":[[-0.00001,-0.5],[7,46]]`)
	for _, markup := range []string{"<", ">", "&"} {
		require.NotContains(t, body, markup)
	}
	fc, err := geojson.UnmarshalFeatureCollection(w.Body.Bytes())
	require.NoError(t, err)
	require.Equal(t, geojson.Properties{
		"id": 2.0, "name": "", "activity": "unknown", "source": "club", "length_m": fc.Features[0].Properties["length_m"],
		"recorded_on": nil, "url": "", "attribution": "",
	}, fc.Features[0].Properties)
	p := fc.Features[1].Properties
	require.Equal(t, []any{`</script><img src=x onerror="alert(1)">\ ü`, "skiing", "osm", "2026-01-02", "https://example.org/?a=1&b=2",
		"© all"},
		[]any{p["name"], p["activity"], p["source"], p["recorded_on"], p["url"], p["attribution"]})
	l := r.parse(w.Body.Bytes())
	require.False(t, l.Truncated)
	require.Nil(t, l.Next)
	require.Equal(t, 2, l.NumberReturned)
	zipped := r.get("?bbox=7,45,8,47&zoom=20", "Accept-Encoding", "gzip")
	has(t, zipped, "Content-Encoding", "gzip")
	require.Equal(t, body, string(unzipped(t, zipped.Body.Bytes())))
	require.Equal(t, body, r.get("/?bbox=7,45,8,47&zoom=20").Body.String())
}

// What was measured of a track is in its properties, the profile if it is asked for.
func TestListMeasures(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	r.put(gpstracks.Track{
		Activity: gpstracks.Hiking, ActivityFrom: gpstracks.FromFolder, StartedAt: at, EndedAt: at.Add(90 * time.Minute), Moving: time.Hour,
		Elevation: &gpstracks.Elevation{AscentM: 120.5, DescentM: 20, MinM: -3, MaxM: 110,
			Profile: []gpstracks.ProfilePoint{{EleM: -3}, {AlongM: 500, EleM: 110.2}}},
		Lines: orb.MultiLineString{{{7, 46}, {7.1, 46}}},
	})
	want := `"activity_from":"folder","started_at":"2026-05-01T08:00:00Z","ended_at":"2026-05-01T09:30:00Z","duration_s":5400,"moving_s":3600,"ascent_m":120.5,"descent_m":20,"min_ele_m":-3,"max_ele_m":110`
	require.Contains(t, r.get("?bbox=7,45,8,47").Body.String(), want+"}}")
	require.Contains(t, r.get("?bbox=7,45,8,47&profile=true").Body.String(), want+`,"profile":[[0,-3],[500,110.2]]}}`)
	r.is(http.StatusBadRequest, "?bbox=7,45,8,47&profile=yes")
}

// A list that is cut says of how many tracks, if the store can count.
func TestListTellsOfHowMany(t *testing.T) {
	t.Parallel()
	store := storetest.Memory(t)
	fill(t, store, 30, 3)
	for name, c := range map[string]struct {
		store gpstracks.Store
		query string
		want  string
	}{
		"cut":         {store, "&limit=7", `"numberReturned":7,"numberMatched":30,"truncated":true`},
		"on the way":  {store, "&limit=7&cursor=99999999-1", `"numberReturned":7,"numberMatched":30,"truncated":true`},
		"whole":       {store, "&limit=30", `"numberReturned":30,"truncated":false`},
		"not counted": {struct{ gpstracks.Store }{store}, "&limit=7", `"numberReturned":7,"truncated":true`},
	} {
		r := newRig(t, trackhttp.Options{Store: c.store, Tiles: store})
		require.Contains(t, r.get("?bbox=-180,-90,180,90"+c.query).Body.String(), c.want, name)
	}
}

// What is at a place are the tracks whose lines pass there, of those whose bounds hold it; the longest first.
func TestListAt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(gpstracks.Track{Name: "corner", Activity: gpstracks.Hiking, Lines: orb.MultiLineString{{{7, 46}, {7, 46.5}, {7.5, 46.5}}}},
		gpstracks.Track{Name: "slope", Activity: gpstracks.Skiing, Lines: orb.MultiLineString{{{7, 46}, {7.5, 46.5}}}},
		gpstracks.Track{Name: "short", Activity: gpstracks.Hiking, Lines: orb.MultiLineString{{{7.249, 46.25}, {7.2491, 46.2502}}}})
	for query, want := range map[string]string{
		"at=7.25,46.2506&zoom=12": "[slope short]", "at=7.25,46.2506&zoom=9": "[slope short]", "at=7.25,46.2506&zoom=15": "[slope]",
		"at=7,46.001&zoom=12": "[corner slope]", "at=367,46.001&zoom=5": "[corner slope]", "at=7,46.3&zoom=10": "[corner]",
		"at=7,46.3&zoom=10&activity=skiing": "[]", "at=7.1,46.4&zoom=10": "[]", "at=7.001,46.001&zoom=10&limit=1": "[corner]",
	} {
		var names []string
		for _, f := range r.parse(r.get("?" + query).Body.Bytes()).Features {
			names = append(names, f.Properties["name"].(string))
		}
		require.Equal(t, want, fmt.Sprint(names), query)
	}
	const corner = "?at=7,46.001&zoom=12&limit=1"
	first := r.list(corner)
	require.True(t, first.Truncated, "another one passes")
	require.Equal(t, "slope", r.list(corner + "&cursor=" + *first.Next).Features[0].Properties["name"])
	for _, wrong := range []string{"7", "7,91", "7,46,8", "x,y", "nan,1"} {
		r.is(http.StatusBadRequest, "?at="+wrong)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{Sources: []trackhttp.Source{{Name: "osm"}, {Name: "club"}}})
	bike := alps("bike")
	bike.Activity, bike.Source, bike.Lines[0][0] = gpstracks.Cycling, "club", orb.Point{7.0, 46.1}
	r.put(alps("hike"), bike)
	for query, want := range map[string]int{
		"": 2, "&activity=hiking": 1, "&activity=hiking,cycling": 2, "&activity=hiking&activity=cycling": 2, "&activity=": 0,
		"&source=club&activity=hiking": 0,
		"&source=club":                 1, "&source=": 0, "&limit=1": 1, "&limit=5000": 2,
	} {
		require.Equal(t, want, r.list(alpsBox+query).NumberReturned, query)
	}
	r.problem(r.get(alpsBox+"&source=stranger"), http.StatusBadRequest)
}

func TestListSimplifiesAndEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{ListBytes: 300_000})
	fill(t, r.store, 100, 1)
	size := 1 << 30
	for _, zoom := range []string{"13", "9", "5.5", "0"} {
		w := r.get("?limit=5&bbox=-180,-90,180,90&zoom=" + zoom)
		require.Less(t, w.Body.Len(), size, zoom)
		size = w.Body.Len()
	}
	w := r.get("?bbox=-180,-90,180,90&zoom=22")
	l := r.parse(w.Body.Bytes())
	require.True(t, l.Truncated)
	require.NotNil(t, l.Next)
	require.Less(t, l.NumberReturned, 100)
	require.Less(t, w.Body.Len(), 500_000)
}

func TestListBoxes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(way("fiji", 179.8, -17, 179.9, -17.1),
		way("taveuni", -179.9, -16.8, -179.8, -16.9),
		way("across", 179.95, -18, -179.95, -18),
		way("pole", 0, 90, 10, 89))
	for box, want := range map[string]int{
		"179,-20,181,-10": 3, "-181,-20,-179,-10": 3, "179,-20,-179,-10": 3, "539,-20,541,-10": 3, "179,-20,179.92,-10": 1,
		"-180,-20,-179,-10": 2,
		"-720,-90,720,90":   4, "-180,-90,180,90": 4, "0,89.5,20,90": 1, "5,5,5,5": 0, "0,90,0,90": 1, "180,-20,180,-10": 1,
		"1e0,-2.0E1,+2,0": 0,
	} {
		got := r.list("?bbox=" + strings.ReplaceAll(box, "+", "%2B"))
		require.Equal(t, want, got.NumberReturned, box)
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, query := range []string{
		"", "?bbox=", "?bbox=1,2,3", "?bbox=1,2,3,4,5", "?bbox=a,b,c,d", "?bbox=NaN,0,1,1", "?bbox=0,0,Inf,1", "?bbox=0,0,1e999,1",
		"?bbox=0x1,0,1,1", "?bbox=0,1,1,0",
		"?bbox=0,-91,1,0", "?bbox=0,0,1,90.1", "?bbox=-721,0,1,1", "?bbox=0,0,1e300,1", "?bbox=700,0,-700,1", "?bbox=1,1,1,1&bbox=2,2,2,2",
		"?bbox=1,1,1,1;x=2", "?bbox=%zz",
		"?bbox=" + strings.Repeat("1,", 10_000), "?bbox=1,1,1,_1",
		alpsBox + "&zoom=-1", alpsBox + "&zoom=25", alpsBox + "&zoom=x", alpsBox + "&zoom=NaN", alpsBox + "&zoom=1&zoom=2",
		alpsBox + "&limit=0", alpsBox + "&limit=5001", alpsBox + "&limit=-1", alpsBox + "&limit=1.5",
		alpsBox + "&limit=99999999999999999999",
		alpsBox + "&cursor=x", alpsBox + "&cursor=1-", alpsBox + "&cursor=-1-1", alpsBox + "&cursor=1-0", alpsBox + "&cursor=1-2-3",
		alpsBox + "&cursor=1%27--",
		alpsBox + "&activity=evil<b>", alpsBox + "&activity=Hiking", alpsBox + "&source=evil<b>",
		alpsBox + "&source=" + strings.Repeat("a", 65),
	} {
		w := r.get(query)
		r.problem(w, http.StatusBadRequest)
		require.NotContains(t, w.Body.String(), "evil")
	}
	for query, status := range map[string]int{"?activity=evil": 400, "?source=a&source=b&v=1&v=2&activity=evil": 400,
		"?access_token=k&v=2026-11": 204,
		"?bbox=1,1&limit=0&zoom=x":  204} { // libraries add what they like to a tile's address
		require.Equal(t, status, r.get(alpsTile+query).Code, query)
	}
}

// brittle is a store whose list fails after n tracks, and says when it was left.
type brittle struct {
	*tracksqlite.Tracks
	n    int
	left chan int
}

func (b *brittle) List(ctx context.Context, f gpstracks.Filter) iter.Seq2[gpstracks.Track, error] {
	return func(yield func(gpstracks.Track, error) bool) {
		n := 0
		defer func() { b.left <- n }()
		for t, err := range b.Tracks.List(ctx, f) {
			if n == b.n {
				yield(gpstracks.Track{}, errors.New("disk gone"))
				return
			}
			n++
			if !yield(t, err) {
				return
			}
		}
	}
}

func TestListBreaksOff(t *testing.T) {
	t.Parallel()
	store := &brittle{Tracks: storetest.Memory(t), n: 50, left: make(chan int, 9)}
	fill(t, store, 100, 1)
	r := newRig(t, trackhttp.Options{Store: store})
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { r.get("?bbox=-180,-90,180,90&zoom=20") },
		"nobody keeps half a list by the tag of the whole")
	r = newRig(t, trackhttp.Options{Store: struct{ gpstracks.Store }{store}})
	l := r.list("?bbox=-180,-90,180,90&zoom=20")
	require.Equal(t, 50, l.NumberReturned)
	require.True(t, l.Truncated, "what is missing is not hidden")
	rest := r.list("?bbox=-180,-90,180,90&zoom=20&limit=40&cursor=" + *l.Next)
	require.Equal(t, 40, rest.NumberReturned)

	store.n = 1 // before anything was sent, an error is an error
	r.problem(r.get("?bbox=-180,-90,180,90&zoom=3"), http.StatusServiceUnavailable)
}

// gone is a client that goes away after the first part.
type gone struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (g gone) Write(b []byte) (int, error) {
	g.leave()
	return g.ResponseRecorder.Write(b)
}

func TestListClientGone(t *testing.T) {
	t.Parallel()
	store := &brittle{Tracks: storetest.Memory(t), n: -1, left: make(chan int, 1)}
	fill(t, store, 100, 1)
	r := newRig(t, trackhttp.Options{Store: store})
	ctx, cancel := context.WithCancel(t.Context())
	w := gone{httptest.NewRecorder(), cancel}
	r.h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/gps-tracks?bbox=-180,-90,180,90&zoom=22", nil))
	require.Less(t, <-store.left, 100, "the work stops with the client")
	require.NotContains(t, w.Body.String(), "numberReturned")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{Sources: []trackhttp.Source{{Name: "osm", Enabled: true, Decision: "accepted"},
		{Name: "club", Enabled: false, Decision: "proposed"}}})
	r.put(alps("ridge"))
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	_, err := r.store.SaveRun(t.Context(), gpstracks.Run{Source: "osm", Region: "alps", Status: "done", StartedAt: at,
		FinishedAt: at.Add(time.Minute), Inserted: 4, Error: "x",
		Rejected: 3, RejectedFor: gpstracks.Tally{gpstracks.ReasonOnePoint: 2, gpstracks.ReasonGaps: 1}})
	require.NoError(t, err)
	w := r.get("/health")
	require.JSONEq(t, `{"status": "ok", "tracks": 1, "cache": {"size": 0, "capacity": 1024, "hits": 0, "misses": 0}, "sources": [
		{"name": "osm", "enabled": true, "decision": "accepted", "last_run": {"status": "done", "region": "alps", "started_at": `+
		`"2026-03-04T05:06:07Z",
			"finished_at": "2026-03-04T05:07:07Z", "inserted": 4, "updated": 0, "duplicates": 0, "rejected": 3,
			"rejected_for": {"one_point": 2, "gaps": 1}, "changed_for": {}}},
		{"name": "club", "enabled": false, "decision": "proposed", "last_run": null}]}`, w.Body.String())
	has(t, w, "Cache-Control", "no-store")
}

func TestCORS(t *testing.T) {
	t.Parallel()
	header := func(o trackhttp.Options, method, origin string) http.Header {
		return newRig(t, o).do(t.Context(), method, "/tiles/0/0/0.mvt", "Origin", origin).Header()
	}
	const allow = "Access-Control-Allow-Origin"
	some := trackhttp.Options{AllowOrigins: []string{"https://map.example"}}
	require.NotContains(t, header(trackhttp.Options{}, http.MethodGet, "https://map.example"), allow)
	require.Equal(t, "*", header(trackhttp.Options{AllowOrigins: []string{"*"}}, http.MethodGet, "https://any.example").Get(allow))
	require.Equal(t, "https://map.example", header(some, http.MethodGet, "https://map.example").Get(allow))
	require.NotContains(t, header(some, http.MethodGet, "https://evil.example"), allow)
	require.Contains(t, header(some, http.MethodGet, "https://evil.example").Values("Vary"), "Origin")
	require.Equal(t, "GET, HEAD", header(some, http.MethodOptions, "https://map.example").Get("Access-Control-Allow-Methods"))
	require.Empty(t, header(some, http.MethodOptions, "https://evil.example").Get("Access-Control-Allow-Methods"))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := storetest.Memory(t)
	for field, o := range map[string]trackhttp.Options{
		"Store": {Tiles: s}, "Tiles": {Store: s}, "CacheTiles": {Store: s, Tiles: s, CacheTiles: -1},
		"Prefix": {Store: s, Tiles: s, Prefix: "/tracks/"}, "BaseURL": {Store: s, Tiles: s, BaseURL: "example.org"},
	} {
		_, err := trackhttp.New(o)
		require.ErrorContains(t, err, field)
	}
	h, err := trackhttp.New(trackhttp.Options{Store: s, Tiles: s, Prefix: "/tracks"})
	require.NoError(t, err)
	for path, want := range map[string]int{"/tracks/health": 200, "/tracks/tiles/0/0/0.mvt": 204, "/tracksx": 404, "/": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, want, w.Code, path)
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("bbox=1,2,3,4&zoom=5", "tiles/1/1/1.mvt")
	f.Add("bbox=-181,2,1e1,4&cursor=5-6", "tiles/22/4194303/0.mvt")
	s := storetest.Memory(f)
	h, err := trackhttp.New(trackhttp.Options{Store: s, Tiles: s})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, query, path string) {
		for _, path := range []string{"", "/" + path} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/gps-tracks", nil)
			r.URL.Path += path
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Contains(t, []int{200, 204, 400, 404, 405}, w.Code)
		}
	})
}

// A client that has a list keeps it until some track changes, and the store reads none for it.
func TestListIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(alps("ridge"))
	const path = "?bbox=7,45,8,47&zoom=20"
	tags := map[string]string{}
	for _, coding := range []string{"", "gzip", "br"} {
		w := r.get(path, "Accept-Encoding", coding)
		has(t, w, "Cache-Control", "public, no-cache")
		has(t, w, "Vary", "Accept-Encoding")
		has(t, w, "Content-Encoding", coding)
		tags[w.Header().Get("ETag")] = coding
		if coding != "" {
			require.Equal(t, r.get(path).Body.Bytes(), expanded(t, coding, w.Body.Bytes()))
		}
	}
	require.Len(t, tags, 3)
	for tag, coding := range tags {
		again := r.is(http.StatusNotModified, path, "Accept-Encoding", coding, "If-None-Match", tag)
		has(t, again, "ETag", tag)
		require.Zero(t, again.Body.Len())
		r.is(http.StatusOK, path+"&limit=1", "Accept-Encoding", coding, "If-None-Match", tag) // another list
	}
	r.put(way("second", 7.1, 46.1, 7.3, 46.3))
	for tag, coding := range tags {
		r.is(http.StatusOK, path, "Accept-Encoding", coding, "If-None-Match", tag)
	}
	require.NoError(t, r.store.Close())
	w := r.get(path)
	r.problem(w, http.StatusServiceUnavailable)
	require.Empty(t, w.Header().Get("ETag"))
}
