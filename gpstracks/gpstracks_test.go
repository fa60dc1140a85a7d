package gpstracks_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	refuses := func(field, name string, k gpstracks.Track) {
		_, err := gpstracks.Prepare(k)
		var invalid *gpstracks.InvalidError
		require.ErrorAs(t, err, &invalid, name)
		require.Equal(t, field, invalid.Field, name)
		require.NotContains(t, err.Error(), "drop", name)
	}
	ok := orb.Point{7, 46}
	good := orb.MultiLineString{{ok, {8, 46}}}
	refuses("source", "no source", gpstracks.Track{Lines: good})
	refuses("source", "hostile source", gpstracks.Track{Source: "osm'; drop", Lines: good})
	refuses("activity", "odd activity", gpstracks.Track{Source: "osm", Activity: "flying carpet", Lines: good})
	for name, lines := range map[string]orb.MultiLineString{
		"no line": nil, "empty line": {{}}, "one point": {{ok}}, "one point often": {{ok, ok, ok}, {ok}},
		"too many points": {make(orb.LineString, gpstracks.MaxPoints), {ok}},
		"not a number":    {{ok, {math.NaN(), 46}}}, "no latitude": {{ok, {7, math.NaN()}}}, "infinite": {{ok, {math.Inf(-1), 46}}},
		"too far east": {{ok, {180.0001, 46}}}, "beyond the pole": {{ok, {7, -90.0001}}},
	} {
		refuses("lines", name, gpstracks.Track{Source: "osm", Lines: lines})
	}
}

func TestPrepareCompletes(t *testing.T) {
	t.Parallel()
	in := gpstracks.Track{
		Source: "osm", Name: "  a\tb\x00\n\xffc\u202e ", URL: "javascript:alert(1)", Attribution: "me\r\n", ExternalID: "x\x1b[1m",
		RecordedOn: time.Date(2025, 6, 1, 1, 0, 0, 0, time.FixedZone("", 7200)),
		Lines:      orb.MultiLineString{{{7, 46}, {7, 46}, {7, 47}}, {{1, 1}}, {{8, 46}, {8.5, 46}}},
	}
	got, err := gpstracks.Prepare(in)
	require.NoError(t, err)
	require.Equal(t, "a b c", got.Name)
	require.Empty(t, got.URL)
	require.Equal(t, "me", got.Attribution)
	require.Equal(t, "x[1m", got.ExternalID)
	require.Equal(t, gpstracks.Unknown, got.Activity)
	require.Equal(t, time.Date(2025, 5, 31, 0, 0, 0, 0, time.UTC), got.RecordedOn, "the day is that of UTC")
	require.Equal(t, orb.MultiLineString{{{7, 46}, {7, 47}}, {{8, 46}, {8.5, 46}}}, got.Lines)
	require.Equal(t, 4, got.Points)
	require.Equal(t, orb.Bound{Min: orb.Point{7, 46}, Max: orb.Point{8.5, 47}}, got.Bounds)
	require.Equal(t, gpstracks.CellsOf(got.Lines), got.Cells)
	require.NotEmpty(t, got.Key)
	require.Len(t, in.Lines[0], 3, "what was given is as it was")
	for address, keep := range map[string]bool{
		"https://example.org/a?b=c": true, "http://example.org": true, "//example.org": false, "https://me:pass@example.org/": false,
		"data:text/html,x": false, "https://": false, "https://example.org/" + strings.Repeat("a", 3000): false,
		"https://exa mple.org": false,
	} {
		in.URL = address
		got, err = gpstracks.Prepare(in)
		require.NoError(t, err)
		require.Equal(t, keep, got.URL != "", address)
	}
}

func TestLongName(t *testing.T) {
	t.Parallel()
	line := orb.MultiLineString{{{7, 46}, {7, 47}}}
	for _, name := range []string{strings.Repeat("ü", 300), strings.Repeat("x", 10_000_000), strings.Repeat("語", 5000)} {
		got, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Name: name, Lines: line})
		require.NoError(t, err)
		require.Equal(t, gpstracks.MaxName, len([]rune(got.Name)))
		require.True(t, strings.HasPrefix(name, got.Name))
	}
	got, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Name: `<b onclick="x">`, Lines: line})
	require.NoError(t, err)
	require.Equal(t, `<b onclick="x">`, got.Name, "text stays what it is: whoever shows it escapes it")
}

func TestAntimeridian(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]orb.MultiLineString{ // as given, and as kept
		"eastward":     {{{{179, 10}, {-179, 12}}}, {{{179, 10}, {180, 11}}, {{-180, 11}, {-179, 12}}}},
		"westward":     {{{{-178, 0}, {179, 3}}}, {{{-178, 0}, {-180, 2}}, {{180, 2}, {179, 3}}}},
		"on the line":  {{{{179, 1}, {180, 1}, {-180, 1}, {-179, 1}}}, {{{179, 1}, {180, 1}}, {{-180, 1}, {-179, 1}}}},
		"along it":     {{{{-180, 5}, {180, 6}, {180, 7}}}, {{{-180, 5}, {-180, 6}}, {{180, 6}, {180, 7}}}},
		"there, back":  {{{{179, 0}, {-179, 0}, {179, 0}}}, {{{179, 0}, {180, 0}}, {{-180, 0}, {-179, 0}, {-180, 0}}, {{180, 0}, {179, 0}}}},
		"half the way": {{{{-90, 0}, {90, 0}}}, {{{-90, 0}, {90, 0}}}},
	} {
		got, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Lines: c[0]})
		require.NoError(t, err, name)
		require.Equal(t, c[1], got.Lines, name)
		require.Less(t, got.LengthM, 21_000_000.0, name)
	}
}

func TestPoles(t *testing.T) {
	t.Parallel()
	got, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Lines: orb.MultiLineString{{{0, 90}, {0, -90}}}})
	require.NoError(t, err)
	require.InDelta(t, math.Pi*6_371_008.8, got.LengthM, 1)
}

func TestMillionPoints(t *testing.T) {
	t.Parallel()
	line := make(orb.LineString, gpstracks.MaxPoints)
	for i := range line {
		a := float64(i) / 1000
		line[i] = orb.Point{7 + 0.001*a*math.Cos(a), 46 + 0.0005*a*math.Sin(a)}
	}
	got, err := gpstracks.Prepare(gpstracks.Track{Source: "osm", Lines: orb.MultiLineString{line}})
	require.NoError(t, err)
	require.Equal(t, gpstracks.MaxPoints, got.Points)
}

// keyed is a track of which only the fields of its key are known.
func keyed(west, south, east, north, metres float64, day string) gpstracks.Track {
	t := gpstracks.Track{Bounds: orb.Bound{Min: orb.Point{west, south}, Max: orb.Point{east, north}}, LengthM: metres}
	if day != "" {
		t.RecordedOn, _ = time.Parse("2006-01-02 15:04", day)
	}
	return t
}

func TestDedupeKey(t *testing.T) {
	t.Parallel()
	of := func(v [5]float64, day string) string {
		return gpstracks.DedupeKey(keyed(v[0], v[1], v[2], v[3], v[4], day))
	}
	const morning = "2025-05-05 10:00"
	base := [5]float64{7.1234, 46.1234, 7.2345, 46.2345, 12_340}
	key := of(base, morning)
	require.Equal(t, "27e05587ed1d045cb1a60c767cc34d98a2f597d4b8b742a806d3f8a921232339", key,
		"a key of version 1 never changes: it is in databases")
	require.Equal(t, key, of([5]float64{7.1239, 46.1239, 7.2341, 46.2341, 12_374}, "2025-05-05 23:59"), "the same bucket")
	for name, c := range map[string]struct {
		at   int // of the box, west first, and the length
		is   float64
		same bool
	}{
		"western edge on the border":  {0, 7.123, true},
		"west of the border":          {0, 7.1229999, false},
		"less west than can be told":  {0, 7.12299999, true},
		"eastern edge on the border":  {2, 7.235, true},
		"east of the border":          {2, 7.2350001, false},
		"southern edge on the border": {1, 46.123, true},
		"south of the border":         {1, 46.1229999, false},
		"north of the border":         {3, 46.2350001, false},
		"the shortest of its length":  {4, 12_325, true},
		"shorter":                     {4, 12_324.99, false},
		"longer, a half goes up":      {4, 12_375, false},
	} {
		other := base
		other[c.at] = c.is
		require.Equal(t, c.same, key == of(other, morning), name)
	}
	for _, day := range []string{"2025-05-06 00:00", ""} {
		require.NotEqual(t, key, of(base, day))
	}
	require.NotEqual(t, key, of([5]float64{46.1234, 7.1234, 46.2345, 7.2345, 12_340}, morning), "coordinates in each other's place")
	south := gpstracks.DedupeKey(keyed(-7.2345, -46.2345, -7.1234, -46.1234, 12_340, ""))
	require.Equal(t, south, gpstracks.DedupeKey(keyed(-7.2341, -46.2341, -7.1239, -46.1239, 12_340, "")), "negative edges go outward too")
	require.NotEqual(t, south, gpstracks.DedupeKey(keyed(-7.2341, -46.2341, -7.1229, -46.1239, 12_340, "")))
	require.Equal(t, gpstracks.DedupeKey(keyed(0, 0, 0, 0, 0, "")), gpstracks.DedupeKey(keyed(math.Copysign(0, -1), 0, 0, 0, 0, "")))
}

// A border of a bucket is where it is whatever the last binary digit of it says.
func TestDedupeKeyOnEveryBorder(t *testing.T) {
	t.Parallel()
	for i := -180_000; i <= 180_000; i += 7 {
		edge := float64(i) / 1000
		k := gpstracks.DedupeKey(keyed(edge, 0, edge, 0, 100, ""))
		require.Equal(t, k, gpstracks.DedupeKey(keyed(math.Nextafter(edge, -400), 0, math.Nextafter(edge, 400), 0, 100, "")), edge)
	}
}

// Compare is a total order that is the order of Filter.After.
func TestCompare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.Custom(func(t *rapid.T) gpstracks.Cursor {
			return gpstracks.Cursor{Metres: rapid.Int64Range(0, 3).Draw(t, "metres"), ID: rapid.Int64Range(1, 3).Draw(t, "id")}
		})
		a, b := place.Draw(t, "a"), place.Draw(t, "b")
		require.Equal(t, gpstracks.CompareCursors(a, b), -gpstracks.CompareCursors(b, a))
		require.Equal(t, a == b, gpstracks.CompareCursors(a, b) == 0)
		track := gpstracks.Track{ID: b.ID, LengthM: float64(b.Metres)}
		require.Equal(t, gpstracks.CompareCursors(a, b) < 0, gpstracks.Filter{After: a}.Match(&track))
	})
}

func TestInferActivity(t *testing.T) {
	t.Parallel()
	steady := func(mps float64, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = mps * (0.8 + 0.4*float64(i%11)/10)
		}
		return out
	}
	for name, c := range map[string]struct {
		words  string
		speeds []float64
		want   gpstracks.Activity
	}{
		"a word":                 {"Morning Hike to the hut", steady(9, 100), gpstracks.Hiking},
		"a tag in German":        {"Wanderung", nil, gpstracks.Hiking},
		"Cyrillic":               {"Велопоход", nil, gpstracks.Cycling},
		"Skitour":                {"skitour_wildspitze", nil, gpstracks.Skiing},
		"part of a word is none": {"Carpathians, Runcorn, Autograph", nil, gpstracks.Unknown},
		"two words, by speed":    {"bike and hike", steady(6, 100), gpstracks.Cycling},
		"two words":              {"bike hike", nil, gpstracks.Unknown},
		"slow":                   {"", steady(1.2, 100), gpstracks.Hiking},
		"brisk":                  {"", steady(3, 100), gpstracks.Running},
		"fast":                   {"", steady(6.5, 100), gpstracks.Cycling},
		"very fast":              {"", steady(25, 100), gpstracks.Driving},
		"between":                {"", steady(4.35, 100), gpstracks.Unknown},
		"too few":                {"", steady(1.2, 19), gpstracks.Unknown},
		"nonsense":               {"", []float64{math.NaN(), math.Inf(1), -5, 1e9}, gpstracks.Unknown},
		"resting a lot":          {"", append(steady(6.5, 100), make([]float64, 1000)...), gpstracks.Cycling},
		"nothing":                {"", nil, gpstracks.Unknown},
	} {
		got, _ := gpstracks.InferActivity([]gpstracks.Hint{{From: gpstracks.FromName, Text: c.words}}, c.speeds)
		require.Equal(t, c.want, got, name)
	}
	for _, a := range gpstracks.Activities() {
		require.True(t, a.Valid())
	}
	require.False(t, gpstracks.Activity("").Valid())
}

// A line without its lighter points is as near to the whole as the weight says.
func TestWeights(t *testing.T) {
	t.Parallel()
	var s gpstracks.Simplifier
	require.Empty(t, s.Weights(nil))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1500).Draw(t, "n")
		seed := rapid.Float64Range(0, 10).Draw(t, "seed")
		line := make([]gpstracks.XY, n)
		for i := range line {
			f := float64(i)
			line[i] = gpstracks.XY{X: f*0.3 + 5*math.Sin(f*seed), Y: 5 * math.Cos(f*seed*1.7)}
		}
		weights := s.Weights(line)
		require.True(t, math.IsInf(weights[0], 1) && math.IsInf(weights[n-1], 1))
		tolerance := rapid.Float64Range(0.01, 6).Draw(t, "tolerance")
		last := 0
		for i := range line {
			if weights[i] <= tolerance {
				continue
			}
			for j := last + 1; j < i; j++ {
				require.LessOrEqual(t, distance(line[j], line[last], line[i]), tolerance+1e-9)
			}
			last = i
		}
	})
}

func distance(p, a, b gpstracks.XY) float64 {
	dx, dy := b.X-a.X, b.Y-a.Y
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = max(0, min(1, ((p.X-a.X)*dx+(p.Y-a.Y)*dy)/l))
	}
	return math.Hypot(p.X-a.X-t*dx, p.Y-a.Y-t*dy)
}

func FuzzPrepare(f *testing.F) {
	f.Add("osm", "name", "https://example.org", 179.0, 10.0, -179.0, 12.0)
	f.Add("osm", "\xff", "javascript:x", math.NaN(), math.Inf(1), 1.0, 2.0)
	f.Fuzz(func(t *testing.T, source, name, url string, ax, ay, bx, by float64) {
		got, err := gpstracks.Prepare(gpstracks.Track{Source: source, Name: name, URL: url,
			Lines: orb.MultiLineString{{{ax, ay}, {bx, by}}}})
		if err != nil {
			var invalid *gpstracks.InvalidError
			require.True(t, errors.As(err, &invalid))
			return
		}
		again, err := gpstracks.Prepare(got)
		require.NoError(t, err)
		require.Equal(t, got, again, "a complete track stays as it is")
		require.False(t, math.IsNaN(got.LengthM) || got.LengthM < 0)
	})
}

func ExamplePrepare() {
	activity, from := gpstracks.InferActivity([]gpstracks.Hint{{From: gpstracks.FromName, Text: "Ridge walk"}}, nil)
	t, err := gpstracks.Prepare(gpstracks.Track{
		Source: "osm", Name: "Ridge walk", Activity: activity, ActivityFrom: from,
		Lines: orb.MultiLineString{{{7.90, 46.60}, {7.92, 46.61}, {7.95, 46.61}}},
	})
	fmt.Printf("%s: %s by its %s, %.0f m, %v\n", t.Name, t.Activity, t.ActivityFrom, t.LengthM, err)
	_, err = gpstracks.Prepare(gpstracks.Track{Source: "osm", Lines: orb.MultiLineString{{{7.90, 146.60}, {7.92, 46.61}}}})
	fmt.Println(err)
	// Output:
	// Ridge walk: hiking by its name, 4181 m, <nil>
	// gps track: lines hold a coordinate that is not on earth
}
