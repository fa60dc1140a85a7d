package osm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/osm"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	server := httptest.NewServer(newServer(serverOptions{}, upload{ID: 7, Visibility: trackable, Segments: [][]spot{{
		{Lon: 7.9, Lat: 46.6, At: time.Unix(1e9, 0)}, {Lon: 7.91, Lat: 46.6, At: time.Unix(1e9+60, 0)},
	}}}))
	defer server.Close()
	client, err := osm.New(osm.Options{URL: server.URL + apiPath, UserAgent: "example/1.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := client.Page(context.Background(), orb.Bound{Min: orb.Point{7.5, 46.5}, Max: orb.Point{8, 47}}, "")
	fmt.Println(len(page.Tracks), len(page.Tracks[0].Segments[0]), page.Next == "", err)
	// Output: 1 2 true <nil>
}

// All pages are read once, in both forms of the API, compressed or not, and
// wherever pages end.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, form := range []serverOptions{{}, {Pages: true}, {Gzip: true}, {Pages: true, Gzip: true}} {
		for _, size := range []int{1, 7, 20, 30, 60, 61, 5000} {
			form.PageSize = size
			s := newServer(form, trace(3, 20, identifiable), trace(1, 25, trackable), trace(2, 15, trackable))
			tracks, pages, err := all(t.Context(), client(t, s, osm.Options{PageSize: size}))
			require.NoError(t, err)
			require.Equal(t, 60, points(tracks), "%+v", form)
			want := (60 + size - 1) / size
			if 60%size == 0 && form.Pages || size == 60 { // a full page: there may be more
				want++
			}
			require.Equal(t, want, pages, "%+v", form)
			require.Equal(t, "walk 3.gpx", tracks[0].Name)
			require.Equal(t, "/user/some%20body/traces/3", tracks[0].URL)
			last := tracks[len(tracks)-1]
			require.Empty(t, last.Name+last.URL, "trackable: nameless")
		}
	}
}

// Points of one moment stay on one page, which is longer then, and is not taken
// for a full one of the older form.
func TestLongPage(t *testing.T) {
	t.Parallel()
	same := trace(1, 12, trackable)
	for i := range same.Segments[0] {
		same.Segments[0][i].At = start()
	}
	s := newServer(serverOptions{PageSize: 5}, same)
	tracks, pages, err := all(t.Context(), client(t, s, osm.Options{PageSize: 5}))
	require.NoError(t, err)
	require.Equal(t, []int{12, 1}, []int{points(tracks), pages})
	s.traces = append(s.traces, trace(2, 7, trackable))
	tracks, pages, err = all(t.Context(), client(t, s, osm.Options{PageSize: 5}))
	require.NoError(t, err)
	require.Equal(t, []int{19, 2}, []int{points(tracks), pages})
}

// The box of the request is not larger than the one that was given.
func TestBox(t *testing.T) {
	t.Parallel()
	s := newServer(serverOptions{})
	c := client(t, s, osm.Options{})
	for i, want := range []string{"7.1,46.6,7.6,47.1", "-180,-90,-179.5,-89.5", "0.3333334,-0.6666666,0.8333333,-0.1666667"} {
		at := []orb.Point{{7.1, 46.6}, {-180, -90}, {1. / 3, -2. / 3}}[i]
		_, err := c.Page(t.Context(), orb.Bound{Min: at, Max: orb.Point{at[0] + 0.5, at[1] + 0.5}}, "")
		require.NoError(t, err)
		require.Equal(t, want, s.Requests()[i].Query.Get("bbox"))
	}
	_, err := c.Page(t.Context(), orb.Bound{Min: orb.Point{7, 46}, Max: orb.Point{7.6, 46.5}}, "")
	var much interface{ TooMuch() bool }
	require.ErrorAs(t, err, &much)
	require.True(t, much.TooMuch())
	require.EqualError(t, err, "osm: the server answered 400 Bad Request: The maximum bbox size is 0.25, and your request was too "+
		"large. Either request a smaller area, or use planet.osm")
	require.Len(t, s.Requests(), 4, "asking again would not help")
}

// What a server does wrong, how often it is called, after which waits, and what
// comes of it.
func TestFaults(t *testing.T) {
	t.Parallel()
	f := func(f ...fault) []fault { return f }
	for _, c := range []struct {
		faults []fault
		waits  string // before each request but the first
		want   string
	}{
		{nil, "[]", "1 tracks, 1 requests"},
		{f(tooMany), "[7s]", "1 tracks, 2 requests"},
		{f(overBandwidth, overBandwidth), "[7s 7s]", "1 tracks, 3 requests"},
		{f(tooMany, overBandwidth, tooMany), "[7s 7s]",
			"0 tracks, 3 requests: osm: the server answered 429 Too Many Requests: Too Many Requests"},
		{f(unavailable), "[5s]", "1 tracks, 2 requests"},
		{f(timedOut, dropped), "[5s 20s]", "1 tracks, 3 requests"},
		{f(dropped, dropped, dropped), "[5s 20s]",
			"0 tracks, 3 requests: osm: there was no answer: unexpected EOF"},
		{f(cutOff), "[5s]", "1 tracks, 2 requests"},
		{f(halfPage), "[5s]", "1 tracks, 2 requests"},
		{f(noGPX, noGPX, noGPX), "[5s 5s]",
			"0 tracks, 3 requests: osm: a page cannot be read: GPX line 1: a document type is not read: remove it"},
		{f(hang), "[6m5s]", "1 tracks, 2 requests"},
		{f(blocked), "[]", "0 tracks, 1 requests: osm: the server answered 403 Forbidden: You are blocked: the User-Agent does not say " +
			"who you are"},
		{f(notFound), "[]", "0 tracks, 1 requests: osm: the server answered 404 Not Found: Traces are not available"},
		{f(moved), "[]", `0 tracks, 1 requests: osm: the server answered 301 Moved Permanently to ` +
			`"https://elsewhere.example/api/0.6/trackpoints": Options.URL must be the address that answers itself`},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(serverOptions{}, trace(1, 9, trackable))
			s.Fail(c.faults...)
			require.Equal(t, c.want, summary(page(t, s)))
			require.Equal(t, c.waits, fmt.Sprint(waits(s)), "%v", c.faults)
		})
	}
}

// waits are the times between requests.
func waits(s *server) (out []time.Duration) {
	r := s.Requests()
	for i := 1; i < len(r); i++ {
		out = append(out, r[i].At.Sub(r[i-1].At))
	}
	return out
}

// A server that requires a very long wait, or none, is left alone.
func TestLongWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(serverOptions{})
		s.after = 3600
		s.Fail(tooMany)
		_, err := page(t, s)
		var e *osm.Error
		require.ErrorAs(t, err, &e)
		require.True(t, e.Retryable() && e.RetryAfter() == time.Hour)
		require.Len(t, s.Requests(), 1)
		s.after = 0
		s.Fail(tooMany, tooMany)
		_, err = page(t, s)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{time.Minute, 2 * time.Minute}, waits(s)[1:])
	})
}

// Requests go one at a time with a pause between two, and name the client.
func TestPolite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(serverOptions{PageSize: 10}, trace(1, 35, trackable))
		c := client(t, s, osm.Options{PageSize: 10, Pause: time.Second})
		done := make(chan error)
		for range 2 {
			go func() { _, _, err := all(t.Context(), c); done <- err }()
		}
		require.NoError(t, errors.Join(<-done, <-done))
		require.Len(t, s.Requests(), 8)
		for _, w := range waits(s) {
			require.Equal(t, time.Second, w)
		}
		require.Equal(t, 1, s.most)
		require.Equal(t, agent, s.Requests()[7].Agent)
	})
}

// The end of a run does not wait for a wait.
func TestEnded(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{tooMany, hang} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(serverOptions{})
			s.after = 600
			s.Fail(f)
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := client(t, s, osm.Options{}).Page(ctx, cell(), "")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 3*time.Second, time.Since(begun))
			require.Len(t, s.Requests(), 1)
		})
	}
}

// A next page at another host is not requested.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	s := newServer(serverOptions{PageSize: 5}, trace(1, 9, trackable))
	s.Fail(elsewhere)
	_, err := client(t, s, osm.Options{PageSize: 5}).Page(t.Context(), cell(), "")
	require.EqualError(t, err, "osm: the server names a next page in another place than osm.example/api/0.6/trackpoints: it is not "+
		"followed")
	for header, want := range map[string]string{
		`<http://osm.example/api/0.6/trackpoints?cursor=1>; rel="prev", <?cursor=2>; rel="next"`: "cursor=2",
		`</api/0.6/trackpoints?cursor=3>; rel=next`:                                              "cursor=3",
		`<http://osm.example/api/0.6/trackpoints?cursor=1>; rel="last"`:                          "",
		`nonsense; rel=next`:    "",
		`<?>; rel="next"`:       "osm: the next page that the server names is no address",
		`<:::?x=1>; rel="next"`: "osm: the next page that the server names is no address",
		`</other?cursor=3>; rel="next"`: "osm: the server names a next page in another place than osm.example/api/0.6/trackpoints: it " +
			"is not followed",
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", header)
			fmt.Fprint(w, "<gpx/>")
		})
		p, err := page(t, h)
		got := p.Next
		if err != nil {
			got = err.Error()
		}
		require.Equal(t, want, got, header)
	}
}

// A page that does not end is not read to its end.
func TestEndlessPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<gpx>")
			for range 3000 {
				fmt.Fprintf(w, "%1000s", "")
			}
		})
		p, err := client(t, h, osm.Options{Limits: gpx.Limits{Bytes: 1 << 20}}).Page(t.Context(), cell(), "")
		require.EqualError(t, err, "osm: a page cannot be read: GPX: the document is longer than 1048576 bytes")
		require.EqualValues(t, 3*(1<<20+1), p.Bytes)
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]osm.Options{
		"UserAgent": {}, "UserAgent is missing": {UserAgent: "a\r\nX: y"}, "Options.URL": {URL: "api.example", UserAgent: "a"},
		"Pause":             {UserAgent: "a", Pause: -1},
		"is not an address": {URL: "https://u:p@api.example/", UserAgent: "a"},
	} {
		_, err := osm.New(o)
		require.ErrorContains(t, err, want)
	}
}
