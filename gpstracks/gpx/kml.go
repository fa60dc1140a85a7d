package gpx

import (
	"encoding/xml"
	"strings"
	"time"
)

// nextKML reads the next Placemark with lines.
func (d *document) nextKML() (Track, error) {
	for {
		for !d.placed {
			t, err := d.token()
			if err != nil {
				return Track{}, err
			}
			start, _ := t.(xml.StartElement)
			d.placed = start.Name.Local == "Placemark"
		}
		d.placed = false
		track, lines, err := d.placemark()
		if err != nil || lines {
			return track, err
		}
	}
}

// placemark reads a Placemark. Its LineStrings and gx:Tracks are segments.
func (d *document) placemark() (t Track, lines bool, err error) {
	var inside func(xml.StartElement) error
	inside = func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "name":
			t.Name, err = d.text()
		case "description":
			t.Desc, err = d.text()
		case "MultiGeometry", "MultiTrack":
			err = d.children(inside)
		case "LineString":
			lines = true
			err = d.lineString(&t)
		case "Track":
			lines = true
			err = d.timedTrack(&t)
		case "Point":
			d.waypoints++
			fallthrough
		default: // areas too
			err = d.skip()
		}
		return err
	}
	return t, lines, d.children(inside)
}

// lineString reads the coordinates of a LineString: longitude, latitude and perhaps elevation
// with commas between.
func (d *document) lineString(t *Track) error {
	var points []Point
	err := d.children(func(e xml.StartElement) error {
		if e.Name.Local != "coordinates" {
			return d.skip()
		}
		text, err := d.longText()
		for word := range strings.FieldsSeq(text) {
			if err == nil {
				points, err = d.tuple(t, points, strings.Split(clipped(word, 200), ","), time.Time{})
			}
		}
		return err
	})
	t.add(points)
	return err
}

// timedTrack reads a gx:Track: times, and as many coordinates with blanks between. Some
// programs write them in turn, others all times first.
func (d *document) timedTrack(t *Track) error {
	var when []time.Time
	var points []Point
	read := 0
	err := d.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "when":
			if len(when) >= d.limits.Points {
				return d.wrong("there are more than %d points", d.limits.Points)
			}
			text, err := d.text()
			when = append(when, t.instant(text))
			return err
		case "coord":
			text, err := d.text()
			if err != nil {
				return err
			}
			var at time.Time
			if read < len(when) {
				at = when[read]
			}
			if read++; text == "" { // it was nowhere at that time
				return nil
			}
			points, err = d.tuple(t, points, strings.Fields(text), at)
			return err
		}
		return d.skip()
	})
	t.add(points)
	return err
}

// tuple appends the point of coordinates, if it is on earth.
func (d *document) tuple(t *Track, points []Point, words []string, at time.Time) ([]Point, error) {
	if err := d.count(); err != nil {
		return points, err
	}
	p := Point{Time: at}
	if len(words) < 2 || !p.place(words[0], words[1]) {
		t.BadPoints++
		return points, nil
	}
	if len(words) > 2 {
		p.elevation(words[2])
	}
	return append(points, p), nil
}

// longText reads an element whose text is as long as the document may be.
func (d *document) longText() (string, error) {
	limit := d.limits.Text
	defer func() { d.limits.Text = limit }()
	d.limits.Text = int(d.limits.Bytes)
	return d.text()
}
