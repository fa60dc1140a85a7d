package collect_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

func tcx(sport string, laps ...[]gpx.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><TrainingCenterDatabase `+
		`xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities><Activity Sport="%s"><Id>2024-05-01T08:00:00Z</Id>`,
		sport)
	for _, points := range laps {
		b.WriteString(`<Lap StartTime="2024-05-01T08:00:00Z"><TotalTimeSeconds>60</TotalTimeSeconds><Track>`)
		for i, p := range points {
			fmt.Fprintf(&b, "<Trackpoint><Time>%s</Time>", p.Time.Format(millis))
			if !math.IsNaN(p.At[0]) {
				fmt.Fprintf(&b, "<Position><LatitudeDegrees>%.8f</LatitudeDegrees><LongitudeDegrees>%.8f</LongitudeDegrees></Position><AltitudeMeters>%.1f</AltitudeMeters>", p.At[1], p.At[0], p.Ele)
			}
			fmt.Fprintf(&b, "<DistanceMeters>%d</DistanceMeters><HeartRateBpm><Value>%d</Value></HeartRateBpm></Trackpoint>\n", i, 90+i%60)
		}
		b.WriteString("</Track></Lap>")
	}
	b.WriteString("</Activity></Activities></TrainingCenterDatabase>")
	return b.String()
}

func lineKML(points []gpx.Point) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>d</name><Folder><name>Tracks</name>` +
		`<Placemark><name>Way</name><LineString><tessellate>1</tessellate><coordinates>`)
	for _, p := range points {
		fmt.Fprintf(&b, "\n%.7f,%.7f,%.1f", p.At[0], p.At[1], p.Ele)
	}
	return b.String() + "</coordinates></LineString></Placemark></Folder></Document></kml>"
}

func trackKML(points []gpx.Point) string {
	var b strings.Builder
	b.WriteString(`<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><Placemark>` +
		`<name>My Tracks</name><gx:Track>`)
	for _, p := range points {
		b.WriteString("<when>" + p.Time.Format(millis) + "</when>")
	}
	for _, p := range points {
		fmt.Fprintf(&b, "<gx:coord>%.7f %.7f %.1f</gx:coord>", p.At[0], p.At[1], p.Ele)
	}
	return b.String() + "</gx:Track></Placemark></Document></kml>"
}

func geoJSON(points []gpx.Point) string {
	line, times := [][]float64{}, []string{}
	for _, p := range points {
		line, times = append(line, []float64{p.At[0], p.At[1], p.Ele}), append(times, p.Time.Format(seconds))
	}
	body, _ := json.Marshal(map[string]any{"type": "FeatureCollection", "features": []any{map[string]any{
		"type": "Feature", "properties": map[string]any{"name": "a", "coordTimes": times},
		"geometry": map[string]any{"type": "LineString", "coordinates": line},
	}}})
	return string(body)
}

func wide(text string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(strings.Replace(text, "UTF-8", "UTF-16", 1))) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func latin1(text string) string {
	var out []byte
	for _, r := range strings.Replace(text, "UTF-8", "ISO-8859-1", 1) {
		out = append(out, byte(r))
	}
	return string(out)
}

func zipOf(name, text string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create(name) // into memory
	_, _ = io.WriteString(w, text)
	_ = z.Close()
	return b.String()
}

func gzipOf(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // into memory
	_ = z.Close()
	return b.String()
}

// otherFormats are exporters of other formats, encodings and wrappings, and of what is no track.
func otherFormats() []exporter {
	plain := dialect{head: gpx11, before: "<name>Übung</name>", point: stamp(seconds)}
	file := func(name string, text func(dice) string) func(dice) sample {
		return func(r dice) sample { return sample{name: name, body: text(r)} }
	}
	packed := func(name string, text func(dice) string, pack func(string) string) func(dice) sample {
		return func(r dice) sample {
			plain := text(r)
			return sample{name: name, body: pack(plain), text: plain}
		}
	}
	refused := func(name, body string, why gpstracks.Reason) func(dice) sample {
		return func(r dice) sample {
			return sample{name: name, body: strings.ReplaceAll(body, "#", fmt.Sprint(10+r.IntN(80))), rejected: why}
		}
	}
	gpxOf := func(r dice) string { return plain.write(hike(r)) }
	return []exporter{
		{"Garmin, TCX", file("a.tcx", func(r dice) string { return tcx("Biking", divided(r, ride(r), 3)...) })},
		{"Strava, TCX", file("b.tcx", func(r dice) string { return tcx("Running", jog(r)) })},
		{"Polar, TCX without some places", file("c.tcx", func(r dice) string {
			points := jog(r)
			for range 9 {
				points[r.IntN(len(points))].At[0] = math.NaN()
			}
			return tcx("Other", points)
		})},
		{"Google Earth, KML", file("a.kml", func(r dice) string { return lineKML(plan(r, 0)) })},
		{"My Tracks, KML", file("b.kml", func(r dice) string { return trackKML(hike(r)) })},
		{"My Tracks, KMZ", packed("b.kmz", func(r dice) string { return trackKML(ride(r)) },
			func(s string) string { return zipOf("doc.kml", s) })},
		{"togeojson, GeoJSON", file("a.geojson", func(r dice) string { return geoJSON(hike(r)) })},
		{"GPX, UTF-16", packed("u.gpx", gpxOf, wide)},
		{"GPX, Latin-1", packed("l.gpx", gpxOf, latin1)},
		{"GPX with a byte order mark", packed("m.gpx", gpxOf, func(s string) string { return "\xef\xbb\xbf" + s })},
		{"GPX, gzip", packed("z.gpx.gz", gpxOf, gzipOf)},
		{"GPX, ZIP", packed("z.zip", gpxOf, func(s string) string { return zipOf("export/1.gpx", s) })},
		{"waypoints only", refused("poi.gpx", `<gpx `+gpx11+`><wpt lat="#" lon="7"><name>hut</name></wpt></gpx>`,
			gpstracks.ReasonWaypoints)},
		{"an empty document", refused("empty.gpx", `<gpx `+gpx11+`><metadata><name>#</name></metadata></gpx>`, gpstracks.ReasonNoTracks)},
		{"one point", refused("one.gpx", `<gpx><trk><trkseg><trkpt lat="#" lon="7"/></trkseg></trk></gpx>`, gpstracks.ReasonOnePoint)},
		{"a treadmill in one place", func(r dice) sample {
			points := jog(r)
			for i := range points {
				points[i].At = points[0].At
			}
			return sample{name: "indoor.gpx", body: plain.write(points), rejected: gpstracks.ReasonOnePlace}
		}},
		{"an export that was cut off", func(r dice) sample {
			body := gpxOf(r)
			return sample{name: "cut.gpx", body: body[:len(body)*2/3], rejected: gpstracks.ReasonUnreadable}
		}},
		{"a Polar training", refused("heart.hrm", "[Params]\r\nVersion=106\r\nMonitor=#\r\n",
			gpstracks.ReasonForeign)},
		{"a sign-in page", refused("download.gpx", "<!DOCTYPE html><html><body>Sign in, #</body></html>", gpstracks.ReasonForeign)},
		{"a walk with spikes", spiked(hike, plain)},
		{"a run with spikes", spiked(jog, plain)},
		{"a ride with spikes", spiked(ride, plain)},
		{"a drive with points of nowhere", func(r dice) sample {
			return planted(plain, drive(r), func(points []gpx.Point) ([]gpx.Point, int) {
				i := 3 + r.IntN(len(points)-6)
				return slices.Insert(points, i, gpx.Point{Time: points[i].Time}, gpx.Point{Time: points[i].Time}), 2
			})
		}},
		{"a walk whose receiver was not sure yet", func(r dice) sample {
			return planted(plain, hike(r), func(points []gpx.Point) ([]gpx.Point, int) {
				return slices.Insert(points, 0, gpx.Point{At: orb.Point{points[0].At[0], points[0].At[1] + 0.15},
					Time: points[0].Time.Add(-time.Second)}), 1
			})
		}},
	}
}

// planted makes outliers in a journey.
func planted(d dialect, points []gpx.Point, plant func([]gpx.Point) ([]gpx.Point, int)) sample {
	d.point = stamp(millis)
	clean := d.write(points)
	with, n := plant(slices.Clone(points))
	return sample{name: "spikes.gpx", body: d.write(with), clean: clean, spikes: n}
}

// spiked moves points of a journey a kilometre or more away, for one to three steps.
func spiked(journey func(dice) []gpx.Point, d dialect) func(dice) sample {
	return func(r dice) sample {
		return planted(d, journey(r), func(points []gpx.Point) ([]gpx.Point, int) {
			planted := 0
			for _, i := range []int{9, len(points) / 2, len(points) - 12} {
				n := 1 + r.IntN(2)
				at := points[i].Time
				var away []gpx.Point
				for k := range n { // in the seconds after a point
					away = append(away, gpx.Point{At: orb.Point{points[i].At[0], round(points[i].At[1]+0.02+0.001*float64(k), 1e7)},
						Time: at.Add(time.Duration(1+k) * 200 * time.Millisecond)})
				}
				points = slices.Insert(points, i+1, away...)
				planted += n
			}
			return points, planted
		})
	}
}
