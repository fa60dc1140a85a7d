package collect_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// sample is a file as an exporter writes it.
type sample struct {
	name     string // of the file
	body     string
	text     string           // the document in it, as UTF-8; "" = body
	clean    string           // the document without the outliers that were planted; "" = text
	spikes   int              // that were planted
	rejected gpstracks.Reason // why it is refused; "" = it is not
}

// dice are thrown for what differs from file to file.
type dice = *rand.Rand

// exporter makes files as a program or device does.
type exporter struct {
	name string
	file func(r dice) sample
}

// dialect describes the GPX of an exporter.
type dialect struct {
	creator  string // whose root is of GPX 1.1
	head     string // attributes of the root, and the metadata
	before   string // in the track, before its segments
	point    func(i int, p gpx.Point) string
	decimals int
	kind     string // "rte" for a route
	pieces   int    // that a journey is divided into
}

const gpx11 = `version="1.1" xmlns="http://www.topografix.com/GPX/1/1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`

// write writes segments. A nil point function writes coordinates alone.
func (d dialect) write(segments ...[]gpx.Point) string {
	var b strings.Builder
	if d.creator != "" {
		d.head = fmt.Sprintf("creator=%q %s%s", d.creator, gpx11, d.head)
	}
	head, metadata, _ := strings.Cut(d.head, "|")
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gpx %s>%s", head, metadata)
	outer, point := "trk", "trkpt"
	if d.kind == "rte" {
		outer, point = "rte", "rtept"
	}
	fmt.Fprintf(&b, "<%s>%s", outer, d.before)
	for _, points := range segments {
		if d.kind == "" {
			b.WriteString("<trkseg>")
		}
		for i, p := range points {
			inner := ""
			if d.point != nil {
				inner = d.point(i, p)
			}
			decimals := cmp.Or(d.decimals, 7)
			fmt.Fprintf(&b, "<%s lat=\"%.*f\" lon=\"%.*f\">%s</%s>\n", point, decimals, p.At[1], decimals, p.At[0], inner, point)
		}
		if d.kind == "" {
			b.WriteString("</trkseg>")
		}
	}
	fmt.Fprintf(&b, "</%s></gpx>", outer)
	return b.String()
}

// stamp writes elevation and time in a layout.
func stamp(layout string) func(int, gpx.Point) string {
	return func(_ int, p gpx.Point) string {
		if p.Time.IsZero() {
			return fmt.Sprintf("<ele>%.1f</ele>", p.Ele)
		}
		return fmt.Sprintf("<ele>%.1f</ele><time>%s</time>", p.Ele, p.Time.Format(layout))
	}
}

const (
	seconds = "2006-01-02T15:04:05Z"
	millis  = "2006-01-02T15:04:05.000Z"
)

// divided cuts points into pieces.
func divided(r dice, points []gpx.Point, n int) (out [][]gpx.Point) {
	for range n {
		at := 2 + r.IntN(max(1, len(points)/2))
		if at+2 > len(points) {
			break
		}
		out, points = append(out, points[:at]), points[at:]
	}
	return append(out, points)
}

// doubled repeats some points of a journey.
func doubled(journey func(dice) []gpx.Point) func(dice) []gpx.Point {
	return func(r dice) []gpx.Point {
		points := journey(r)
		for range 5 {
			i := r.IntN(len(points))
			points = slices.Insert(points, i, points[i])
		}
		return points
	}
}

// by writes a journey in a dialect.
func by(name string, d dialect, journey func(dice) []gpx.Point) func(dice) sample {
	return func(r dice) sample { return sample{name: name, body: d.write(divided(r, journey(r), d.pieces)...)} }
}

// zoned writes times with an offset.
func zoned(hours int, layout string) func(int, gpx.Point) string {
	return func(_ int, p gpx.Point) string {
		return "<time>" + p.Time.In(time.FixedZone("", 3600*hours)).Format(layout) + "</time>"
	}
}

// exporters are those of GPX.
func exporters() []exporter {
	gpxFile := func(name string, d dialect, segments ...[]gpx.Point) sample {
		return sample{name: name, body: d.write(segments...)}
	}
	garmin := `creator="Garmin Connect" ` + gpx11 + ` xmlns:ns3="http://www.garmin.com/xmlschemas/TrackPointExtension/v1"|<metadata><link href="connect.garmin.com"><text>Garmin Connect</text></link><time>2024-05-01T08:00:00.000Z</time></metadata>`
	heart := func(i int, p gpx.Point) string {
		return fmt.Sprintf("<ele>%.15f</ele><time>%s</time><extensions><ns3:TrackPointExtension><ns3:hr>%d</ns3:hr></ns3:TrackPointExtension></extensions>", p.Ele, p.Time.Format(millis), 90+i%60)
	}
	return []exporter{
		{"Garmin Connect", by("activity_123.gpx", dialect{head: garmin, before: "<name>Bern Trail Running</name><type>trail_running</type>",
			point: heart, decimals: 15}, jog)},
		{"Garmin Connect, no places", func(r dice) sample {
			return sample{name: "treadmill.gpx", body: dialect{head: garmin,
				before: fmt.Sprintf("<name>Treadmill %d</name><type>treadmill_running</type>", r.IntN(1000))}.write(),
				rejected: gpstracks.ReasonNoPoints}
		}},
		{"Garmin eTrex", func(r dice) sample {
			parts := divided(r, hike(r), 4)
			parts = append(parts, nil, nil)
			return gpxFile("Track_2024-05-01 080000.gpx", dialect{creator: "eTrex 30",
				before: "<name>2024-05-01 08:00:00</name><extensions><gpxx:TrackExtension " +
					"xmlns:gpxx=\"g\"><gpxx:DisplayColor>Cyan</gpxx:DisplayColor></gpxx:TrackExtension></extensions>",
				point: stamp(seconds), decimals: 10}, parts...)
		}},
		{"Garmin eTrex, switched on for one point", func(r dice) sample {
			points := hike(r)
			return gpxFile("Current.gpx", dialect{creator: "eTrex 10", before: "<name>ACTIVE LOG</name>",
				point: stamp(seconds)}, points[:1], points[2:])
		}},
		{"Garmin course", by("course.gpx", dialect{creator: "Garmin Desktop App", before: "<name>Ponale</name>", kind: "rte",
			decimals: 10}, planned(0))},
		{"Strava", by("1234567.gpx", dialect{creator: "StravaGPX Android",
			before: "<name>Morning Run</name><type>9</type>", point: stamp(seconds)}, doubled(jog))},
		{"Strava route", by("route.gpx", dialect{creator: "StravaGPX", before: "<name>Loop</name>", point: stamp(seconds)}, planned(0))},
		{"Komoot, planned", by("tour.gpx", dialect{creator: "https://www.komoot.de",
			before: "<name>Rundtour</name><type>hike</type>", point: stamp(millis), decimals: 6}, planned(1.1))},
		{"Komoot, recorded", by("tour2.gpx", dialect{creator: "https://www.komoot.de",
			before: "<name>Abendrunde</name><type>touringbicycle</type>", point: stamp(millis), decimals: 6}, ride)},
		{"OsmAnd", by("2024-05-01_08-00_Wed.gpx", dialect{creator: "OsmAnd 4.7.4",
			head: ` xmlns:osmand="https://osmand.net"|<metadata><name>2024-05-01_08-00_Wed</name></metadata>`,
			point: func(_ int, p gpx.Point) string {
				return fmt.Sprintf("<ele>%.1f</ele><time>%s</time><hdop>4.2</hdop><extensions><osmand:speed>1.2</osmand:speed></extensions>", p.Ele, p.Time.Format(seconds))
			}, pieces: 2}, hike)},
		{"OsmAnd, imported", by("imported.gpx", dialect{creator: "OsmAndRouterV2"}, planned(0))},
		{"Locus Map", by("locus.gpx", dialect{creator: "Locus Map, Android", head: ` xmlns:locus="http://www.locusmap.eu"`,
			before: "<name>Day</name><extensions><locus:activity>hiking</locus:activity></extensions>", point: stamp(millis)}, hike)},
		{"Polar Flow", by("polar.gpx", dialect{creator: "Polar Vantage V2", before: "<type>RUNNING</type>",
			point: stamp(millis), decimals: 8}, jog)},
		{"Suunto", by("suunto.gpx", dialect{creator: "Suunto app", before: "<name>suuntoapp-Hiking</name>",
			point: zoned(2, time.RFC3339), decimals: 6}, hike)},
		{"Movescount", by("Move.gpx", dialect{creator: "Movescount", before: "<name>Move</name>",
			point: zoned(-7, "2006-01-02T15:04:05.000-07:00")}, ride)},
		{"Coros", by("coros.gpx", dialect{creator: "COROS Wearables", before: "<name>Hike</name><type>Hike</type>",
			point: stamp(seconds)}, doubled(hike))},
		{"Apple Health", by("route_2024-05-01_8.00am.gpx", dialect{creator: "Apple Health Export",
			head: `|<metadata><time>2024-06-01T08:00:00Z</time></metadata>`, before: "<name>Route 2024-05-01 8:00am</name>",
			point: stamp(seconds), decimals: 6}, jog)},
		{"WorkOutDoors", by("wod.gpx", dialect{creator: "WorkOutDoors", before: "<name>Outdoor Walk</name>",
			point: stamp(millis), pieces: 6}, hike)},
		{"GPSLogger", by("20240501.gpx", dialect{head: `creator="GPSLogger 120" version="1.0" ` +
			`xmlns="http://www.topografix.com/GPX/1/0"|<time>2024-05-01T08:00:00Z</time>`, point: func(i int, p gpx.Point) string {
			return stamp(millis)(i, p) + "<course>12.3</course><speed>1.4</speed><src>gps</src><sat>9</sat>"
		}, pieces: 2}, drive)},
		{"Organic Maps", by("organic.gpx", dialect{creator: "Organic Maps",
			before: "<name>Lakes</name><extensions><gpx:color xmlns:gpx=\"g\">#0000FF</gpx:color></extensions>", decimals: 6}, planned(0))},
		{"OpenTracks", func(r dice) sample { // a latitude of 100 marks a pause
			points := hike(r)
			i := len(points) / 2
			points = slices.Insert(points, i, gpx.Point{At: orb.Point{0, 100}, Time: points[i].Time})
			return gpxFile("opentracks.gpx", dialect{creator: "OpenTracks",
				before: "<name>2024-05-01T08:00</name><type>mountain biking</type>", point: zoned(1, "2006-01-02T15:04:05.999Z07:00")},
				points)
		}},
		{"BRouter", by("brouter.gpx", dialect{creator: "BRouter-1.7",
			head: `|<!-- track-length = 12345 filtered ascend = 210 -->`, before: "<name>brouter_trekking_0</name>", point: stamp(""),
			decimals: 6}, planned(0))},
		{"BRouter, timed", by("brouter2.gpx", dialect{creator: "BRouter-1.7", point: stamp(millis), decimals: 6}, planned(6))},
		{"GraphHopper", by("GraphHopper.gpx", dialect{creator: "Graphhopper", before: "<name>GraphHopper Route</name>",
			kind: "rte"}, planned(0))},
		{"Outdooractive", by("oa.gpx", dialect{creator: "Outdooractive",
			before: "<name>Heidschnuckenweg</name><type>Fernwanderweg</type>", point: stamp(seconds), decimals: 6}, planned(0.9))},
		{"Wikiloc", by("wikiloc.gpx", dialect{creator: "Wikiloc",
			head: `|<metadata><keywords>Senderismo</keywords></metadata>`, before: "<name>Cumbre</name>",
			point: stamp(seconds), decimals: 6}, hike)},
		{"inReach", by("explore.gpx", dialect{creator: "Garmin Explore", before: "<name>Expedition</name>",
			point: stamp(seconds), decimals: 6}, message)},
		{"Spot", by("spot.gpx", dialect{creator: "SPOT", point: zoned(0, time.RFC3339), decimals: 5}, message)},
		{"a ferry", by("ferry.gpx", dialect{creator: "AIS", point: stamp(seconds)}, sail)},
		{"a ship across the antimeridian", func(r dice) sample {
			points := journey{n: 90, seconds: 1800, speed: 9, turn: 0.01, from: orb.Point{179.5, -20 + 40*r.Float64()}}.points(r)
			return gpxFile("pacific.gpx", dialect{head: gpx11, point: stamp(seconds)}, points)
		}},
		{"an airliner", by("flight.gpx", dialect{creator: "FlightAware", point: stamp(seconds), decimals: 5}, fly)},
		{"a flight between two walks", func(r dice) sample {
			there := hike(r)
			last := there[len(there)-1]
			back := message(r)[:4] // a few points of the other end, and home again
			for i := range back {
				back[i].At = orb.Point{round(last.At[0]+8, 1e7), round(last.At[1]/2, 1e7)}
				back[i].Time = last.Time.Add(time.Duration(3+i) * time.Hour)
			}
			again := hike(r)
			shift := orb.Point{last.At[0] - again[0].At[0], last.At[1] - again[0].At[1]}
			for i := range again {
				again[i].At = orb.Point{round(max(-179, min(179, again[i].At[0]+shift[0])), 1e7),
					round(max(-89, min(89, again[i].At[1]+shift[1])), 1e7)}
				again[i].Time = last.Time.Add(10*time.Hour + time.Duration(12*i)*time.Second)
			}
			return gpxFile("trip.gpx", dialect{head: gpx11, point: stamp(seconds)}, slices.Concat(there, back, again))
		}},
		{"one time for all points", func(r dice) sample {
			points := plan(r, 0)
			for i := range points {
				points[i].Time = time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)
			}
			return gpxFile("converted.gpx", dialect{head: gpx11, point: stamp(seconds)}, points)
		}},
		{"a second for each point", func(r dice) sample {
			points := plan(r, 0)
			points[0].At[1] = round(points[0].At[1]+0.02, 1e7) // a long way to begin with
			for i := range points {
				points[i].Time = time.Date(2024, 5, 1, 8, 0, i, 0, time.UTC)
			}
			return gpxFile("converter.gpx", dialect{head: gpx11, point: stamp(seconds)}, points)
		}},
		{"hours between points", by("sea.gpx", dialect{head: gpx11, point: stamp(seconds)},
			journey{n: 50, seconds: 3600, speed: 3, turn: 0.1}.points)},
	}
}
