package trackfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// geo is an object of GeoJSON: a FeatureCollection, a Feature or a geometry.
type geo struct {
	Type        string          `json:"type"`
	Features    []geo           `json:"features"`
	Geometry    *geo            `json:"geometry"`
	Geometries  []geo           `json:"geometries"`
	Coordinates json.RawMessage `json:"coordinates"`
	Properties  properties      `json:"properties"`
}

// properties are those that programs write; what is of another type is left out.
type properties map[string]json.RawMessage

// text is the first of the properties that is a text.
func (p properties) text(names ...string) (s string) {
	for _, name := range names {
		if json.Unmarshal(p[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// times are those of the points of each line, as the converters of GPX write them.
func (p properties) times() (all [][]string) {
	raw := p["coordTimes"]
	var inside struct {
		Times json.RawMessage `json:"times"`
	}
	if json.Unmarshal(p["coordinateProperties"], &inside) == nil && raw == nil {
		raw = inside.Times
	}
	var one []string
	if json.Unmarshal(raw, &one) == nil {
		return [][]string{one}
	}
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// readGeoJSON reads each feature or geometry with lines as a track, and each line as a
// segment.
func readGeoJSON(body []byte, most int) ([]gpx.Track, error) {
	var whole geo
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), &whole); err != nil {
		return nil, fmt.Errorf("GeoJSON: %w", err)
	}
	r := &features{left: most}
	if err := r.read(&whole, 0); err != nil {
		return nil, err
	}
	if len(r.tracks) == 0 && r.waypoints > 0 {
		return nil, &gpx.WaypointsError{Waypoints: r.waypoints}
	}
	return r.tracks, nil
}

type features struct {
	tracks    []gpx.Track
	waypoints int
	left      int // points that may still come
}

// deepest bounds the depth of features and collections in each other.
const deepest = 8

func (r *features) read(g *geo, depth int) error {
	if depth > deepest {
		return &limitError{fmt.Sprintf("GeoJSON: collections are more than %d deep", deepest)}
	}
	switch {
	case g.Type == "FeatureCollection":
		for i := range g.Features {
			if err := r.read(&g.Features[i], depth+1); err != nil {
				return err
			}
		}
		return nil
	case g.Type == "Feature" && g.Geometry == nil:
		return nil
	}
	p := g.Properties
	t := gpx.Track{
		Name: p.text("name", "title"), Desc: p.text("desc", "description"), URL: p.text("url", "link"),
		Type: p.text("activity", "sport", "type", "activityType", "activity_type"), Keywords: p.text("keywords"),
	}
	if g.Type == "Feature" {
		g = g.Geometry
	}
	lines := false
	if err := r.geometry(&t, g, p.times(), &lines, depth); err != nil {
		return err
	}
	if lines {
		r.tracks = append(r.tracks, t)
	}
	return nil
}

// geometry appends the lines of a geometry as segments.
func (r *features) geometry(t *gpx.Track, g *geo, times [][]string, lines *bool, depth int) (err error) {
	var many [][][]float64
	switch g.Type {
	case "LineString":
		many = make([][][]float64, 1)
		err = json.Unmarshal(g.Coordinates, &many[0])
	case "MultiLineString":
		err = json.Unmarshal(g.Coordinates, &many)
	case "Point", "MultiPoint":
		r.waypoints++
	case "GeometryCollection":
		if depth > deepest {
			return &limitError{fmt.Sprintf("GeoJSON: collections are more than %d deep", deepest)}
		}
		for i := range g.Geometries {
			if err := r.geometry(t, &g.Geometries[i], nil, lines, depth+1); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return errors.New("GeoJSON: the coordinates of a line are no list of positions")
	}
	*lines = *lines || many != nil
	for i, line := range many {
		var at []string
		if i < len(times) && len(times[i]) == len(line) {
			at = times[i]
		}
		if r.left -= len(line); r.left < 0 {
			return &limitError{"GeoJSON: there are too many points"}
		}
		if points := segment(t, line, at); len(points) > 0 {
			t.Segments = append(t.Segments, points)
		}
	}
	return nil
}

func segment(t *gpx.Track, line [][]float64, times []string) (out []gpx.Point) {
	for i, c := range line {
		if len(c) < 2 || math.Abs(c[0]) > 180 || math.Abs(c[1]) > 90 {
			t.BadPoints++
			continue
		}
		p := gpx.Point{At: orb.Point{c[0], c[1]}}
		if len(c) > 2 {
			p.Ele, p.HasEle = c[2], true
		}
		if times != nil {
			at, err := time.Parse(time.RFC3339Nano, times[i])
			if p.Time = at.UTC(); err != nil {
				p.Time = time.Time{}
				t.BadTimes++
			}
		}
		out = append(out, p)
	}
	return out
}
