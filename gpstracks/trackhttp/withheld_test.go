package trackhttp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
)

// Tracks of a source whose licence is taken back are in no answer from then on, whatever a client holds.
func TestWithheldSource(t *testing.T) {
	t.Parallel()
	sources := func(club string) []trackhttp.Source {
		return []trackhttp.Source{{Name: "osm", Decision: "accepted"}, {Name: "club", Decision: club, Download: true}}
	}
	r := newRig(t, trackhttp.Options{Sources: sources("accepted")})
	mine, other := alps("mine"), alps("other")
	other.Source = "club"
	for i := range other.Lines[0] {
		other.Lines[0][i][1] += 0.01
	}
	other.Attribution = "the club"
	r.put(mine, other)
	const list = "?bbox=-180,-90,180,90"
	paths := []string{list, alpsTile, "/tiles.json", "/ogc/collections/tracks/items"}
	tags := map[string]string{}
	for _, path := range paths {
		w := r.is(http.StatusOK, path)
		require.Contains(t, w.Body.String(), "the club", path)
		tags[path] = w.Header().Get("ETag")
	}
	single := []string{"/tracks/2", "/tracks/2.gpx", "/ogc/collections/tracks/items/2"}
	for _, path := range single {
		r.is(http.StatusOK, path)
	}
	r.h.SetSources(sources("rejected"))
	for _, path := range paths {
		w := r.is(http.StatusOK, path, "If-None-Match", tags[path])
		require.NotContains(t, w.Body.String(), "the club", path)
	}
	require.Contains(t, r.get(list).Body.String(), "mine")
	for _, path := range single {
		r.problem(r.get(path), http.StatusNotFound)
	}
	require.NotContains(t, r.get(list+"&source=club").Body.String(), "the club")
	r.h.SetSources(sources("accepted"))
	require.Contains(t, r.get(list).Body.String(), "the club")
}

// Behind a login nothing is kept by caches that others share, and a page may send what the login takes.
func TestBehindLogin(t *testing.T) {
	t.Parallel()
	r := newRig(t, trackhttp.Options{Private: true, AllowOrigins: []string{"*"}, AllowHeaders: []string{"Authorization"}})
	r.put(alps("ridge"))
	for path, want := range map[string]string{
		alpsTile: "private, max-age=300", "/tiles.json": "private, max-age=300",
		alpsBox: "private, no-cache", "/tracks/1": "private, max-age=300",
	} {
		w := r.is(http.StatusOK, path)
		has(t, w, "Cache-Control", want)
	}
	w := r.do(t.Context(), http.MethodOptions, alpsTile, "Origin", "https://map.example", "Access-Control-Request-Headers", "authorization")
	has(t, w, "Access-Control-Allow-Headers", "If-None-Match, Authorization")
}

// Pages of origins that are named may send the cookie of a login; those of any may not.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const page = "https://maps.example"
	for _, c := range []struct {
		o      trackhttp.Options
		origin string
		want   string
	}{
		{trackhttp.Options{Private: true, AllowOrigins: []string{page}}, page, "true"},
		{trackhttp.Options{Private: true, AllowOrigins: []string{page}}, "https://else.example", ""},
		{trackhttp.Options{Private: true, AllowOrigins: []string{"*"}}, page, ""},
		{trackhttp.Options{AllowOrigins: []string{page}}, page, ""},
	} {
		w := newRig(t, c.o).get("/tiles/9/266/182.mvt", "Origin", c.origin)
		require.Equal(t, c.want, w.Header().Get("Access-Control-Allow-Credentials"), "%+v %s", c.o.AllowOrigins, c.origin)
	}
}
