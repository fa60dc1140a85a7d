package gpx_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

func read(r io.Reader, l gpx.Limits) (tracks []gpx.Track, err error) {
	for t, e := range gpx.Read(r, l) {
		if e != nil {
			return tracks, e
		}
		tracks = append(tracks, t)
	}
	return tracks, nil
}

func readText(t *testing.T, text string) []gpx.Track {
	t.Helper()
	tracks, err := read(strings.NewReader(text), gpx.Limits{})
	require.NoError(t, err)
	return tracks
}

func Example() {
	document := `<gpx version="1.1"><trk><name>Ridge</name><trkseg>
		<trkpt lat="46.5" lon="7.9"><time>2026-05-01T08:00:00Z</time></trkpt>
		<trkpt lat="46.6" lon="7.9"/>
	</trkseg></trk></gpx>`
	for track, err := range gpx.Read(strings.NewReader(document), gpx.Limits{}) {
		fmt.Println(track.Name, track.Segments[0][0].Time.Format(time.DateOnly), len(track.Segments[0]), err)
	}
	// Output: Ridge 2026-05-01 2 <nil>
}

// A page of OpenStreetMap's API: GPX 1.0, an address in url, and points of
// nobody known without times.
func TestVersion10(t *testing.T) {
	t.Parallel()
	tracks := readText(t, `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.0" creator="OpenStreetMap.org" xmlns="http://www.topografix.com/GPX/1/0">
  <trk><name>evening_walk.gpx</name><desc>round &amp; back</desc><url>/user/somebody/traces/77</url>
    <trkseg><trkpt lat="46.5912000" lon="7.9084000"><time>2025-06-01T16:10:05Z</time></trkpt>
      <trkpt lat="46.5913500" lon="5.0e-05"><time>2025-06-01T16:10:10Z</time></trkpt></trkseg>
    <trkseg/>
    <trkseg><trkpt lat="46.6" lon="7.91"><time>2025-06-01T16:20:00Z</time></trkpt></trkseg></trk>
  <trk><trkseg><trkpt lat="-46.1" lon="-7.8"/></trkseg></trk>
</gpx>`)
	require.Len(t, tracks, 2)
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, gpx.Track{
		Name: "evening_walk.gpx", Desc: "round & back", URL: "/user/somebody/traces/77",
		Segments: [][]gpx.Point{
			{{At: orb.Point{7.9084, 46.5912}, Time: at("2025-06-01T16:10:05Z")},
				{At: orb.Point{5.0e-05, 46.59135}, Time: at("2025-06-01T16:10:10Z")}},
			{{At: orb.Point{7.91, 46.6}, Time: at("2025-06-01T16:20:00Z")}},
		},
	}, tracks[0])
	require.Equal(t, [][]gpx.Point{{{At: orb.Point{-7.8, -46.1}}}}, tracks[1].Segments)
}

// A device's GPX 1.1: links, extensions in other namespaces, offsets and
// fractions of times, waypoints, which are no tracks, and a route, which is one.
func TestVersion11(t *testing.T) {
	t.Parallel()
	tracks := readText(t, `<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1" xmlns:x="urn:x">
<metadata><name>not this one</name><link href="https://example.org/no"/><keywords>hut, snow</keywords></metadata>
<wpt lat="1" lon="2"><name>nor this</name></wpt><rte><name>Plan</name><link href="https://example.org/r"/><type>hiking</type><rtept `+
		`lat="1" lon="2"><name>Hut</name><time>2026-03-01T05:00:00Z</time></rtept>
<extensions><x:rtept lat="9" lon="9"/></extensions><rtept lat="x" lon="2"/><rtept lat="1.5" lon="2"/></rte><rte><name>Nothing</name></rte>
<trk><name>Ride <![CDATA[<b>&bold</b>]]></name><link href="https://example.org/a"><text>a</text></link><link `+
		`href="https://example.org/b"/><type>cycling</type>
<trkseg><trkpt lon="7.5" lat="46"><ele>500</ele><time>2026-03-01T05:00:01.500Z</time><extensions><x:hr>`+
		`<x:time>2001-01-01T00:00:00Z</x:time></x:hr></extensions></trkpt>
<trkpt lon="7.6" lat="46"><time>2026-03-01T08:00:03+03:00</time></trkpt>
<trkpt lon="7.7" lat="46"><time>yesterday</time></trkpt></trkseg></trk></gpx>`)
	require.Len(t, tracks, 3)
	plan := gpx.Track{Name: "Plan", Route: true, Keywords: "hut, snow", URL: "https://example.org/r", Type: "hiking", BadPoints: 1,
		Segments: [][]gpx.Point{{
			{At: orb.Point{2, 1}, Time: time.Date(2026, 3, 1, 5, 0, 0, 0, time.UTC)}, {At: orb.Point{2, 1.5}},
		}}}
	require.Equal(t, []gpx.Track{plan, {Name: "Nothing", Route: true, Keywords: "hut, snow"}}, tracks[:2])
	got := tracks[2]
	require.Equal(t, 1, got.BadTimes)
	require.Equal(t, []string{"Ride <b>&bold</b>", "https://example.org/a", "cycling"}, []string{got.Name, got.URL, got.Type})
	var times []string
	for _, p := range got.Segments[0] {
		times = append(times, p.Time.Format("15:04:05.0"))
	}
	require.Equal(t, []string{"05:00:01.5", "05:00:03.0", "00:00:00.0"}, times, "UTC; a time that is none is left out, and the point stays")
	require.True(t, got.Segments[0][2].Time.IsZero())
	require.Equal(t, []any{500.0, true, false}, []any{got.Segments[0][0].Ele, got.Segments[0][0].HasEle, got.Segments[0][1].HasEle})
}

// Points that are nowhere are counted and left out, and the segment goes on.
func TestBadCoordinates(t *testing.T) {
	t.Parallel()
	bad := []string{
		`lat="NaN" lon="7"`, `lat="46" lon="Inf"`, `lat="46" lon="-infinity"`, `lat="90.0001" lon="7"`, `lat="46" lon="180.5"`, `lat="46"`,
		`lon="7"`, `lat="" lon="7"`,
		`lat="0x1p4" lon="7"`, `lat="1e400" lon="7"`, `lat="46,5" lon="7"`, `lat="46" lon="` + strings.Repeat("1", 5000) + `"`,
		`lat="4_6" lon="7"`, `lat="--1" lon="7"`,
	}
	for _, b := range bad {
		got := readText(t, `<gpx><trk><trkseg><trkpt lat="46" lon="7"/><trkpt `+b+`/><trkpt lat="47" lon="8"/><trkpt lat="-90" `+
			`lon="180"/></trkseg></trk></gpx>`)[0]
		require.Equal(t, 1, got.BadPoints, b)
		require.Equal(t, [][]gpx.Point{{{At: orb.Point{7, 46}}, {At: orb.Point{8, 47}}, {At: orb.Point{180, -90}}}}, got.Segments, b)
	}
}

// What is no GPX gives an error that says so, and where.
func TestRefused(t *testing.T) {
	t.Parallel()
	laughs := `<?xml version="1.0"?><!DOCTYPE gpx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]><gpx><trk><name>&c;</name></trk></gpx>`
	outside := `<!DOCTYPE gpx [<!ENTITY x SYSTEM "file:///etc/passwd">]><gpx><trk><name>&x;</name></trk></gpx>`
	deep := "<gpx>" + strings.Repeat("<extensions>", 40) + strings.Repeat("</extensions>", 40) + "</gpx>"
	for text, want := range map[string]string{
		"":                       "GPX: the document is empty",
		" \n":                    "GPX: the document is empty",
		"{}":                     "GPX line 1: there is text outside of the document",
		"<html><trk/></html>":    "GPX line 1: the document is not GPX, TCX or KML: its element is <html>",
		"<gpx/><gpx/>":           "GPX line 1: there is a second document after the first: its element is <gpx>",
		"<gpx/>rest":             "GPX line 1: there is text outside of the document",
		"<gpx>\n<trk>\n</gpx>":   "GPX line 3: element <trk> closed by </gpx>",
		"<gpx><trk><trkseg>":     "GPX line 1: unexpected EOF",
		"<gpx>\n<trk><name>&x;":  "GPX line 2: invalid character entity &x;",
		"<gpx>\n<trk lat=1/>":    "GPX line 2: unquoted or missing attribute value in element",
		laughs:                   "GPX line 1: a document type is not read: remove it",
		outside:                  "GPX line 1: a document type is not read: remove it",
		deep:                     "GPX line 1: elements are more than 32 deep",
		"PK\x03\x04 and so on":   "GPX: the file is a ZIP archive: unpack it first",
		"<gpx>\x00</gpx>":        "GPX line 1: illegal character code U+0000",
		"\x1f\x8b\x00 and so on": "GPX: the gzip compression is damaged",
		`<?xml version="1.0" encoding="KOI8-R"?><gpx/>`: `GPX: the encoding "KOI8-R" is not known: write the file in UTF-8`,
		"<gpx>\xff\xfe</gpx>":                           "GPX line 1: invalid UTF-8",
	} {
		_, err := read(strings.NewReader(text), gpx.Limits{})
		var own *gpx.Error
		require.ErrorAs(t, err, &own, "%.60q", text)
		require.Equal(t, want, err.Error(), "%.60q", text)
	}
}

// Each limit ends a document with an error that names it.
func TestLimits(t *testing.T) {
	t.Parallel()
	points := "<gpx><trk><trkseg>" + strings.Repeat(`<trkpt lat="46" lon="7"/>`, 11) + "</trkseg></trk></gpx>"
	_, err := read(strings.NewReader(points), gpx.Limits{Points: 10})
	require.EqualError(t, err, "GPX line 1: there are more than 10 points")
	_, err = read(strings.NewReader(strings.NewReplacer("trkseg", "rte", "trkpt", "rtept", "<trk>", "", "</trk>", "").Replace(points)),
		gpx.Limits{Points: 10})
	require.EqualError(t, err, "GPX line 1: there are more than 10 points")
	_, err = read(strings.NewReader(points), gpx.Limits{Bytes: 100})
	require.EqualError(t, err, "GPX: the document is longer than 100 bytes")
	_, err = read(strings.NewReader(points), gpx.Limits{Points: 11, Bytes: int64(len(points))})
	require.NoError(t, err)
	_, err = read(strings.NewReader("<gpx><trk/><rte/></gpx>"), gpx.Limits{Points: 1})
	require.EqualError(t, err, "GPX line 1: there are more than 1 tracks", "each costs more memory than a point")
	tracks, err := read(strings.NewReader("<gpx><trk><name>"+strings.Repeat("ä", 5000)+"</name></trk></gpx>"), gpx.Limits{})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("ä", 2048), tracks[0].Name)
	tracks, err = read(strings.NewReader("<gpx><trk><name>aä</name></trk></gpx>"), gpx.Limits{Text: 2})
	require.NoError(t, err)
	require.Equal(t, "a", tracks[0].Name, "no half characters")
}

// endless is a document that does not end.
type endless struct{ begun bool }

func (e *endless) Read(p []byte) (int, error) {
	text := `<trkpt lat="46" lon="7"><time>2026-01-01T00:00:00Z</time></trkpt>`
	if !e.begun {
		text = "<gpx><trk><trkseg>"
	}
	e.begun = true
	return copy(p, text), nil
}

// A document of any length ends at the limits, by default too.
func TestEndless(t *testing.T) {
	t.Parallel()
	_, err := read(&endless{}, gpx.Limits{})
	require.EqualError(t, err, "GPX: the document is longer than 10485760 bytes")
	_, err = read(&endless{}, gpx.Limits{Bytes: 1 << 40})
	require.EqualError(t, err, "GPX line 1: there are more than 200000 points")
}

// Each part of the rights is read once, however many there are.
func TestManyRights(t *testing.T) { // alone: it counts what the whole process takes
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = read(strings.NewReader("<gpx><copyright>"+strings.Repeat("<a/>", 30_000)+"</copyright>"+
		strings.Repeat("<copyright/>", 30_000)), gpx.Limits{})
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20), "bytes, for a document of half a megabyte")
}

// What was read before a break is handed out, and the error comes last.
func TestBreak(t *testing.T) {
	t.Parallel()
	whole := `<gpx><trk><name>a</name></trk><trk><name>b</name></trk></gpx>`
	gone := errors.New("the line went dead")
	tracks, err := read(io.MultiReader(strings.NewReader(whole[:40]), iotest.ErrReader(gone)), gpx.Limits{})
	require.ErrorIs(t, err, gone)
	require.Len(t, tracks, 1)
	for range gpx.Read(strings.NewReader(whole), gpx.Limits{}) {
		break // a caller may stop at any time
	}
	tracks, err = read(iotest.OneByteReader(strings.NewReader(whole)), gpx.Limits{})
	require.NoError(t, err)
	require.Len(t, tracks, 2)
}
