package trackhttp_test

import (
	"fmt"
	"math"
	"net/http"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// trail is a line of 1,200 km that winds with 14,000 points from west to east.
func trail() (line orb.LineString) {
	for i := range 14_000 {
		x := float64(i) / 14_000 * 16
		line = append(line, orb.Point{math.Round((1+x)*1e5) / 1e5, math.Round((47+0.3*math.Sin(x)+0.004*math.Sin(x*300))*1e5) / 1e5})
	}
	return line
}

// drawn is the geometry of the first track of a list.
func (r *rig) drawn(path string) orb.Geometry {
	r.Helper()
	fc, err := geojson.UnmarshalFeatureCollection(r.get(path).Body.Bytes())
	require.NoError(r, err)
	return fc.Features[0].Geometry
}

// A view of two kilometres gets the two kilometres of a trail, with the points that the
// whole has there, and everything if it says so.
func TestListIsClipped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	line := trail()
	r.put(gpstracks.Track{Name: "trail", Lines: orb.MultiLineString{line}})
	at := line[7000]
	view := orb.Bound{Min: orb.Point{at[0] - 0.013, at[1] - 0.009}, Max: orb.Point{at[0] + 0.013, at[1] + 0.009}}
	query := fmt.Sprintf("?bbox=%f,%f,%f,%f&zoom=17", view.Min[0], view.Min[1], view.Max[0], view.Max[1])
	part, whole := r.get(query).Body.Len(), r.get(query+"&full=true").Body.Len()
	require.Less(t, part, 2000)
	require.Greater(t, whole, 200_000)

	require.Equal(t, 1, r.list(query).NumberReturned)
	got := map[orb.Point]bool{}
	for _, p := range r.drawn(query).(orb.LineString) {
		got[p] = true
		require.True(t, view.Pad(0.03).Contains(p))
		require.Contains(t, line, p, "%v is no point of the trail", p)
	}
	for _, p := range line {
		require.True(t, got[p] || !view.Contains(p), "a point of the view is missing")
	}
	require.Greater(t, len(r.drawn(query+"&full=true").(orb.LineString)), 13_000)
	require.Equal(t, r.get(query).Body.String(), r.get(query+"&full=false").Body.String())
	r.problem(r.get(query+"&full=yes"), http.StatusBadRequest)
}

// A track whose bounds alone are in the view is left out, and pages go on behind it.
func TestListLeavesOutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 3 {
		r.put(gpstracks.Track{Name: fmt.Sprint("round ", i), Lines: orb.MultiLineString{{{7, 46}, {9 + float64(i), 46},
			{9 + float64(i), 48}}}})
	}
	r.put(way("here", 7.4, 47.4, 7.5, 47.5))
	query := "?bbox=7.4,47.4,7.6,47.6&limit=2"
	first := r.list(query)
	require.Zero(t, first.NumberReturned)
	require.True(t, first.Truncated)
	second := r.list(query + "&cursor=" + *first.Next)
	require.Equal(t, 1, second.NumberReturned)
	require.Equal(t, "here", second.Features[0].Properties["name"])
	require.False(t, second.Truncated)
	require.Equal(t, 4, r.list("?bbox=7.4,47.4,7.6,47.6&full=true").NumberReturned)
}

// A line that leaves the view and comes back is in parts; a view across the antimeridian has those of both sides.
func TestListInParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put(gpstracks.Track{Name: "bend", Lines: orb.MultiLineString{{{7, 46}, {7.1, 46.01}, {8, 46}, {9, 46}, {9, 46.05}, {8, 46.05},
		{7.1, 46.06}, {7, 46.05}}}})
	require.Equal(t, orb.MultiLineString{{{7, 46}, {7.1, 46.01}, {8, 46}}, {{8, 46.05}, {7.1, 46.06}, {7, 46.05}}},
		r.drawn("?bbox=7,45.9,7.2,46.1"))
	r.put(gpstracks.Track{Name: "across", Lines: orb.MultiLineString{{{179, 10}, {179.9, 10.5}, {-179.9, 10.5}, {-179, 10}, {-100, 10.5},
		{-99, 10}}}})
	got := r.drawn("?bbox=179.5,9,-179.5,11")
	require.Equal(t, orb.MultiLineString{{{179, 10}, {179.9, 10.5}, {180, 10.5}}, {{-180, 10.5}, {-179.9, 10.5}, {-179, 10}}}, got)
}
