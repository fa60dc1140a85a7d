package collect_test

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/stretchr/testify/require"
)

// reading holds the measures of another reader: documents are decoded into structures, by
// encoding/xml and orb, and lengths are chords of a sphere instead of the haversine formula.
type reading struct {
	metres      float64
	bounds      orb.Bound // of lines
	day         string    // of the first point that has a time
	lines       int       // of two points and more
	first, last time.Time // of points of lines
}

// place is a point as such a reader has it.
type place struct {
	lon, lat float64
	at       string
}

// reads measures the lines of a track.
func reads(lines [][]place) (r reading) {
	r.bounds = orb.Bound{Min: orb.Point{180, 90}, Max: orb.Point{-180, -90}}
	onSphere := func(p place) [3]float64 {
		lat, lon := p.lat*math.Pi/180, p.lon*math.Pi/180
		return [3]float64{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)}
	}
	for _, line := range lines {
		for i, p := range line {
			if r.day == "" && p.at != "" {
				r.day = p.at[:10]
			}
			if len(line) < 2 {
				continue
			}
			r.bounds = r.bounds.Extend(orb.Point{p.lon, p.lat})
			if at, err := time.Parse(time.RFC3339, p.at); err == nil {
				if r.first.IsZero() || at.Before(r.first) {
					r.first = at
				}
				if at.After(r.last) {
					r.last = at
				}
			}
			if i > 0 {
				a, b := onSphere(line[i-1]), onSphere(p)
				r.metres += 2 * 6_371_000 * math.Asin(math.Sqrt((a[0]-b[0])*(a[0]-b[0])+(a[1]-b[1])*(a[1]-b[1])+(a[2]-b[2])*(a[2]-b[2]))/2)
			}
		}
		if len(line) > 1 {
			r.lines++
		}
	}
	return r
}

// independent reads a file of one track.
func independent(t require.TestingT, text string) reading {
	all := tracksOf(t, text)
	require.Len(t, all, 1)
	return reads(all[0])
}

// tracksOf are the tracks and routes of a document, each as its lines.
func tracksOf(t require.TestingT, text string) [][][]place {
	switch {
	case strings.Contains(text, "<gpx"):
		return tracksOfGPX(t, text)
	case strings.Contains(text, "<TrainingCenterDatabase"):
		return tracksOfTCX(t, text)
	case strings.Contains(text, "<kml"):
		return tracksOfKML(t, text)
	}
	return tracksOfGeoJSON(t, text)
}

func number(t require.TestingT, s string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	require.NoError(t, err)
	return v
}

func tracksOfGPX(t require.TestingT, text string) (out [][][]place) {
	type point struct {
		Lat  float64 `xml:"lat,attr"`
		Lon  float64 `xml:"lon,attr"`
		Time string  `xml:"time"`
	}
	var file struct {
		Routes []struct {
			Points []point `xml:"rtept"`
		} `xml:"rte"`
		Tracks []struct {
			Segments []struct {
				Points []point `xml:"trkpt"`
			} `xml:"trkseg"`
		} `xml:"trk"`
	}
	require.NoError(t, xml.Unmarshal([]byte(text), &file))
	places := func(points []point) (line []place) {
		for _, p := range points {
			if p.Lat <= 90 { // what an exporter writes beyond is a mark, and no place
				line = append(line, place{p.Lon, p.Lat, p.Time})
			}
		}
		return line
	}
	for _, r := range file.Routes {
		out = append(out, [][]place{places(r.Points)})
	}
	for _, track := range file.Tracks {
		var lines [][]place
		for _, s := range track.Segments {
			lines = append(lines, places(s.Points))
		}
		out = append(out, lines)
	}
	return out
}

func tracksOfTCX(t require.TestingT, text string) (out [][][]place) {
	type point struct {
		Time string `xml:"Time"`
		Lat  string `xml:"Position>LatitudeDegrees"`
		Lon  string `xml:"Position>LongitudeDegrees"`
	}
	var file struct {
		Activities []struct {
			Points []point `xml:"Lap>Track>Trackpoint"`
		} `xml:"Activities>Activity"`
		Courses []struct {
			Points []point `xml:"Track>Trackpoint"`
		} `xml:"Courses>Course"`
	}
	require.NoError(t, xml.Unmarshal([]byte(text), &file))
	add := func(points []point) {
		var line []place
		for _, p := range points {
			if p.Lat != "" {
				line = append(line, place{number(t, p.Lon), number(t, p.Lat), p.Time})
			}
		}
		out = append(out, [][]place{line})
	}
	for _, a := range file.Activities {
		add(a.Points)
	}
	for _, c := range file.Courses {
		add(c.Points)
	}
	return out
}

func tracksOfKML(t require.TestingT, text string) (out [][][]place) {
	type placemark struct {
		Lines []string `xml:"LineString>coordinates"`
		When  []string `xml:"Track>when"`
		Coord []string `xml:"Track>coord"`
	}
	var file struct {
		Placemarks []placemark `xml:"Document>Placemark"`
		InFolders  []placemark `xml:"Document>Folder>Placemark"`
	}
	require.NoError(t, xml.Unmarshal([]byte(text), &file))
	for _, p := range append(file.Placemarks, file.InFolders...) {
		var lines [][]place
		for _, l := range p.Lines {
			var line []place
			for _, tuple := range strings.Fields(l) {
				c := strings.Split(tuple, ",")
				line = append(line, place{number(t, c[0]), number(t, c[1]), ""})
			}
			lines = append(lines, line)
		}
		var line []place
		for i, tuple := range p.Coord {
			c := strings.Fields(tuple)
			line = append(line, place{number(t, c[0]), number(t, c[1]), p.When[i]})
		}
		if lines = append(lines, line); len(lines)+len(line) > 1 {
			out = append(out, lines)
		}
	}
	return out
}

func tracksOfGeoJSON(t require.TestingT, text string) (out [][][]place) {
	file, err := geojson.UnmarshalFeatureCollection([]byte(text))
	require.NoError(t, err)
	for _, f := range file.Features {
		line, ok := f.Geometry.(orb.LineString)
		if !ok {
			continue
		}
		times, _ := f.Properties["coordTimes"].([]any)
		var places []place
		for i, p := range line {
			at := ""
			if i < len(times) {
				at, _ = times[i].(string)
			}
			places = append(places, place{p[0], p[1], at})
		}
		out = append(out, [][]place{places})
	}
	return out
}
