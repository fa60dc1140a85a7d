package trackfile_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

func Example() {
	document := `{"type":"Feature","properties":{"name":"Ridge"},"geometry":{"type":"LineString","coordinates":[[7.9,46.5,1800],[7.91,46.5,1850]]}}`
	for d := range trackfile.Read("ridge.geojson", strings.NewReader(document), trackfile.Limits{}) {
		fmt.Println(d.Format, d.Tracks[0].Name, len(d.Tracks[0].Segments[0]), d.Err)
	}
	for d := range trackfile.Read("heart.hrm", strings.NewReader("[Params]\r\nVersion=106\r\n"), trackfile.Limits{}) {
		fmt.Println(d.Err)
	}
	// Output:
	// GeoJSON Ridge 2 <nil>
	// the file is Polar HRM: convert it to GPX, as with gpsbabel
}

const one = `<gpx><trk><name>a</name><trkseg><trkpt lat="46" lon="7"/><trkpt lat="46.1" lon="7"/></trkseg></trk></gpx>`

func zipped(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for pair := range slices.Chunk(files, 2) {
		w, err := z.Create(pair[0])
		require.NoError(t, err)
		_, err = io.WriteString(w, pair[1])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

func tarred(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}))
	for pair := range slices.Chunk(files, 2) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: pair[0], Mode: 0o600, Size: int64(len(pair[1]))}))
		_, err := io.WriteString(w, pair[1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// bzipped is the document one, as bzip2 writes it.
func bzipped(t testing.TB) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(bzip2One)
	require.NoError(t, err)
	return string(b)
}

// summary has a line for each document of a file.
func summary(name string, r io.Reader, l trackfile.Limits) (lines []string) {
	for d := range trackfile.Read(name, r, l) {
		line := fmt.Sprintf("%s [%s]", d.Name, d.Format)
		for _, t := range d.Tracks {
			n := 0
			for _, s := range t.Segments {
				n += len(s)
			}
			line += fmt.Sprintf(" %s:%d", t.Name, n)
		}
		if d.Err != nil {
			line += " " + d.Err.Error()
		}
		lines = append(lines, line)
	}
	return lines
}

// Every format and every wrapping is read, or refused by its name.
func TestFormats(t *testing.T) {
	t.Parallel()
	at, worn := len(zipped(t, "1", one))-38, zipped(t, "1", one, "2", one, "3", one) // the first byte of the second entry
	worn = worn[:at] + "\xff" + worn[at+1:]
	for name, c := range map[string]struct{ body, want string }{
		"a.gpx":     {one, "a.gpx [GPX] a:2"},
		"utf16.gpx": {"\xff\xfe<\x00g\x00p\x00x\x00/\x00>\x00", "utf16.gpx [GPX]"},
		"a.gpx.gz":  {gzipped(t, one), "a.gpx.gz [GPX] a:2"},
		"a.gpx.bz2": {bzipped(t), "a.gpx.bz2 [GPX] a:2"},
		"a.tcx": {" <?xml version='1.0'?><TrainingCenterDatabase><Course><Name>c</Name></Course></TrainingCenterDatabase>",
			"a.tcx [TCX] c:0"},
		"a.kmz": {zipped(t, "doc.kml", `<kml><Placemark><description><![CDATA[<html>a walk]]></description><name>k</name><LineString>`+
			`<coordinates>7,46 8,46</coordinates></LineString></Placemark></kml>`, "icon.png", "\x89PNG..."),
			"a.kmz/doc.kml [KML] k:2|a.kmz/icon.png [PNG] the file is PNG: it holds no track"},
		"a.fit": {fitActivity(3), "a.fit [FIT] :3"},
		"export.zip": {zipped(t, "activities/1.fit.gz", gzipped(t, fitActivity(2)), "activities/", "", "a.csv", "lat,lon\n1,2",
			"in.kmz", zipped(t, "doc.kml", "<kml/>")), "export.zip/activities/1.fit.gz [FIT] :2|export.zip/a.csv [CSV] the file is CSV: " +
			"convert it to GPX, as with gpsbabel|export.zip/in.kmz/doc.kml [KML]"},
		"a.tar.gz": {gzipped(t, tarred(t, "x/1.gpx", one, "2.txt", "hello")),
			"a.tar.gz/link [] the file is of no format that is known: it is a link or a device, and not followed|a.tar.gz/x/1.gpx [GPX] " +
				"a:2|a.tar.gz/2.txt [] the file is of no format that is known: GPX, TCX, FIT, KML, KMZ, GeoJSON, IGC and NMEA are read, also with " +
				"gzip and bzip2 and in ZIP and tar archives"},
		"empty.zip": {zipped(t), ""},
		"page.gpx": {"<!DOCTYPE html><html>sign in</html>", "page.gpx [HTML] the file is HTML: it is a web page, as servers send " +
			"in place of a file to those who are not signed in: download it again"},
		"a.7z":         {"7z\xbc\xaf\x27\x1c..", "a.7z [7-Zip] the file is 7-Zip: unpack it, or pack it as ZIP, tar, gzip or bzip2"},
		"log.nmea":     {"$GPGSV,1\r\n", "log.nmea [NMEA]"},
		"takeout.json": {`{"locations":[{"latitudeE7":1}]}`, "takeout.json [JSON] the file is JSON: export GPX or GeoJSON"},
		"map.osm": {`<?xml version="1.0"?><osm version="0.6"/>`,
			"map.osm [OSM XML] the file is OSM XML: it is map data; export the relation as GPX"},
		"x.xml":      {"<sml/>", "x.xml [XML] GPX line 1: the document is not GPX, TCX or KML: its element is <sml>"},
		"points.gpx": {`<gpx><wpt lat="1" lon="2"/></gpx>`, "points.gpx [GPX] the file holds 1 single points, and no track or route"},
		"points.geojson": {"\xef\xbb\xbf" + `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`,
			"points.geojson [GeoJSON] the file holds 1 single points, and no track or route"},
		"nothing":  {"", "nothing [] the file is empty"},
		"cut.gz":   {gzipped(t, one)[:30], "cut.gz [GPX] GPX line 1: the document is cut off"},
		"bad.gz":   {"\x1f\x8b\x00", "bad.gz [gzip] the gzip compression is damaged: unexpected EOF"},
		"worn.zip": {worn, "worn.zip/1 [GPX] a:2|worn.zip/2 [] flate: corrupt input before offset 1|worn.zip/3 [GPX] a:2"},
		"bad.zip":  {"PK\x03\x04 and so on", "bad.zip [ZIP] the archive is damaged: zip: not a valid zip file"},
		"bad.geojson": {`{"type":"Feature","geometry":{"type":"LineString","coordinates":7}}`,
			"bad.geojson [GeoJSON] GeoJSON: the coordinates of a line are no list of positions"},
		"collection.json": {`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":7,"title":"g"},` +
			`"geometry":{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[1,2],[1],[3,400],[1,3]]},` +
			`{"type":"MultiLineString","coordinates":[[[5,5],[6,6]],[]]}]}},{"type":"Feature","geometry":null}]}`,
			"collection.json [GeoJSON] g:4"},
	} {
		require.Equal(t, c.want, strings.Join(summary(name, strings.NewReader(c.body), trackfile.Limits{}), "|"), name)
	}
}

// What FIT and GeoJSON say of points comes through.
func TestValues(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	device, err := os.Open("testdata/strangers/garmin.fit.gz")
	require.NoError(t, err)
	defer device.Close()
	for d := range trackfile.Read("", device, trackfile.Limits{}) {
		require.Equal(t, "cycling road", d.Tracks[0].Type)
		require.InDelta(t, 159.8, d.Tracks[0].Segments[0][0].Ele, 0.1)
	}
	for d := range trackfile.Read("", strings.NewReader(`{"type":"Feature","properties":{"activity":"hiking",`+
		`"coordTimes":["2026-05-01T08:00:00Z","x"]},
		"geometry":{"type":"LineString","coordinates":[[7,46,500],[7,47]]}}`), trackfile.Limits{}) {
		require.Equal(t, []gpx.Track{{Type: "hiking", BadTimes: 1, Segments: [][]gpx.Point{
			{{At: orb.Point{7, 46}, Time: at, Ele: 500, HasEle: true}, {At: orb.Point{7, 47}}},
		}}}, d.Tracks)
	}
}

// Each limit ends a file with an error that names it.
func TestLimits(t *testing.T) {
	t.Parallel()
	nested := one
	for range 5 {
		nested = gzipped(t, nested)
	}
	zeros := gzipped(t, "<gpx>"+strings.Repeat(" ", 1<<20))
	for want, c := range map[string]struct {
		body string
		l    trackfile.Limits
	}{
		"a [gzip] archives are more than 4 deep in each other: unpack the outer " +
			"ones": {nested, trackfile.Limits{}},
		"a [GPX] GPX: the document is longer than 1000 bytes": {zeros, trackfile.Limits{Document: gpx.Limits{Bytes: 1000}}},
		"a [GPX] GPX line 1: the archive holds more than 9000 bytes: divide it|a [] the archive holds more than 9000 bytes: divide " +
			"it": {zeros, trackfile.Limits{Bytes: 9000}},
		"a/1 [GPX] a:2|a [] the archive holds more than 1 entries: divide " +
			"it": {zipped(t, "1", one, "2", one), trackfile.Limits{Entries: 1}},
		"a [ZIP] the archive is longer than 99 bytes, and no file on disk: unpack the outer " +
			"one": {zipped(t, "1", one), trackfile.Limits{Memory: 99}},
		"a [ZIP] the table of contents of the archive is too long: divide " +
			"it": {zipped(t, "1", one), trackfile.Limits{Directory: 50}},
		"a [FIT] FIT: there are more than 3 points and sessions": {fitActivity(9), trackfile.Limits{Document: gpx.Limits{Points: 3}}},
		"a [FIT] FIT: there are more than 4 points and sessions": {fitFile(14, true, "\x40\x00\x00\x12\x00\x00"+strings.Repeat("\x00", 5)),
			trackfile.Limits{Document: gpx.Limits{Points: 4}}},
		"a [FIT] the document is longer than 50 bytes": {fitActivity(9), trackfile.Limits{Document: gpx.Limits{Bytes: 50}}},
		"a [GeoJSON] GeoJSON: there are too many points": {`{"type":"LineString","coordinates":[[1,2],[2,3]]}`,
			trackfile.Limits{Document: gpx.Limits{Points: 1}}},
		"a [GeoJSON] GeoJSON: collections are more than 8 deep": {strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 12) +
			strings.Repeat("]}", 12), trackfile.Limits{}},
	} {
		require.Equal(t, want, strings.Join(summary("a", strings.NewReader(c.body), c.l), "|"))
	}
	for range trackfile.Read("a", strings.NewReader(zipped(t, "1", one, "2", one)), trackfile.Limits{}) {
		break // a caller may stop at any time
	}
}

// A ZIP archive on disk is read in place, and what was read of it for each document is known.
func TestInPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "export.zip")
	require.NoError(t, os.WriteFile(path, []byte(zipped(t, "1.gpx", one, "2.gpx", one)), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	n := 0
	for d := range trackfile.Read("x", f, trackfile.Limits{Memory: 1}) {
		require.NoError(t, d.Err)
		require.InDelta(t, 80, d.Bytes, 30)
		n++
	}
	require.Equal(t, 2, n)
	for d := range trackfile.Read("x", strings.NewReader(one), trackfile.Limits{}) {
		require.EqualValues(t, len(one), d.Bytes)
	}
}

// No file makes the reader fail otherwise than by an error, or go on for ever.
func FuzzRead(f *testing.F) {
	for _, body := range []string{one, gzipped(f, one), zipped(f, "a", one), tarred(f, "a", one), fitActivity(3),
		`{"type":"LineString","coordinates":[[1,2],[2,3]]}`, "<kml><Placemark><LineString><coordinates>1,2 3,4"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		points := 0
		for d := range trackfile.Read("x", bytes.NewReader(body), trackfile.Limits{Bytes: 1 << 20,
			Document: gpx.Limits{Bytes: 1 << 18, Points: 500}}) {
			for _, track := range d.Tracks {
				for _, s := range track.Segments {
					points += len(s)
					for _, p := range s {
						require.True(t, p.At[0] >= -180 && p.At[0] <= 180 && p.At[1] >= -90 && p.At[1] <= 90)
					}
				}
			}
			require.True(t, d.Err == nil || len(d.Tracks) == 0)
		}
	})
}

const bzip2One = "QlpoOTFBWSZTWQhmphAAAA8ZgFABpYcij9xAIABISqeJGNJo0yNMJSDRMhhGj0yKbxkOCwHCSjiFOUAcuWt3+yM3hHguYGFJXYT4LH4q0LHZcR4xwTmjnQNi7kinChIBDNTCAA=="
