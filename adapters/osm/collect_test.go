package osm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gpsfile"
	"github.com/signalbox-dev/signalbox/adapters/osm"
	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// valley is a server with traces that gather around one place: some boxes hold
// far more pages than others.
func valley(o serverOptions) *server {
	rng := rand.New(rand.NewPCG(4, 4))
	s := newServer(o)
	for id := range 120 {
		v := []visibility{identifiable, trackable, public}[id%3]
		points := make([]spot, 0, 60)
		lon, lat := 7.9+0.05*rng.NormFloat64(), 46.59+0.03*rng.NormFloat64()
		for i := range cap(points) {
			points = append(points, spot{Lon: lon, Lat: lat, At: start().Add(time.Duration(id)*24*time.Hour +
				time.Duration(10*i)*time.Second)})
			lon, lat = lon+0.0002*rng.Float64(), lat+0.0001*rng.NormFloat64()
		}
		s.Add(upload{ID: id + 1, User: "somebody", Name: "walk", Visibility: v, Segments: [][]spot{points}})
	}
	return s
}

type run struct {
	store *tracksqlite.Tracks
	c     *collect.Collector
	s     collect.Source
	r     collect.Region
}

func newRun(t *testing.T) run {
	t.Helper()
	config, licences, err := gpsfile.Load(gpsfile.Paths{})
	require.NoError(t, err)
	x := run{store: storetest.Memory(t), s: config.Sources[0], r: config.Regions[0]}
	x.s.PageSize, x.s.MaxPages = 100, 3
	x.c, err = collect.New(collect.Options{Store: x.store, Runs: x.store, Licences: licences})
	require.NoError(t, err)
	return x
}

func (x run) keys(t *testing.T) (keys []string, points int) {
	t.Helper()
	for k, err := range x.store.List(t.Context(), gpstracks.Filter{}) {
		require.NoError(t, err)
		require.Equal(t, []string{"osm", "© OpenStreetMap contributors", ""}, []string{k.Source, k.Attribution, k.URL})
		keys, points = append(keys, k.Key), points+k.Points
	}
	return keys, points
}

// The whole way from the API to the store, with what is built in: in both forms
// of the API, whole and with breaks and faults, the same tracks come of it.
func TestCollect(t *testing.T) {
	t.Parallel()
	for what, o := range map[string]serverOptions{"cursors": {PageSize: 100}, "pages": {PageSize: 100, Pages: true}} {
		synctest.Test(t, func(t *testing.T) {
			s, x := valley(o), newRun(t)
			feed := client(t, s, osm.Options{PageSize: 100, Pause: x.s.Pause})
			got, err := x.c.Region(t.Context(), x.s, x.r, feed)
			require.NoError(t, err)
			keys, points := x.keys(t)
			require.Greater(t, len(keys), 70, what)
			require.Greater(t, points, 70*50)
			require.Equal(t, len(s.Requests()), got.Requests)
			quartered := 0
			for i, r := range s.Requests() {
				var b orb.Bound
				require.NoError(t, scan(r.Query.Get("bbox"), &b))
				area := (b.Max[0] - b.Min[0]) * (b.Max[1] - b.Min[1])
				require.LessOrEqual(t, area, 0.25)
				if area < 0.01 {
					quartered++
				}
				if i > 0 {
					require.GreaterOrEqual(t, r.At.Sub(s.Requests()[i-1].At), time.Second)
				}
			}
			require.Positive(t, quartered, "boxes with much in them are quartered")

			// Again, broken off every few requests and with a server that stumbles.
			s2, y := valley(o), newRun(t)
			runs := 0
			for done := false; !done; runs++ {
				ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
				s2.Fail(noFault, cutOff, dropped)
				_, err := y.c.Region(ctx, y.s, y.r, client(t, s2, osm.Options{PageSize: 100, Pause: x.s.Pause}))
				done = err == nil
				cancel()
				require.Less(t, runs, 60)
			}
			require.Greater(t, runs, 2)
			again, _ := y.keys(t)
			require.ElementsMatch(t, keys, again, what)
		})
	}
}

func scan(text string, b *orb.Bound) error {
	_, err := fmt.Sscanf(text, "%g,%g,%g,%g", &b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1])
	return err
}
