package gpx

import "encoding/xml"

// nextTCX reads the next Activity or Course.
func (d *document) nextTCX() (Track, error) {
	for {
		t, err := d.token()
		if err != nil {
			return Track{}, err
		}
		start, ok := t.(xml.StartElement)
		if name := start.Name.Local; ok && (name == "Activity" || name == "Course") {
			return d.course(start)
		}
	}
}

// course reads the points of an Activity or Course as one segment: its laps follow each other.
func (d *document) course(e xml.StartElement) (t Track, err error) {
	t.Type, t.Route = clipped(attribute(e, "Sport"), d.limits.Text), e.Name.Local == "Course"
	var points []Point
	var inside func(xml.StartElement) error
	inside = func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "Name":
			t.Name, err = d.text()
		case "Notes":
			t.Desc, err = d.text()
		case "Lap", "Track":
			err = d.children(inside)
		case "Trackpoint":
			points, err = d.trackpoint(&t, points)
		default:
			err = d.skip()
		}
		return err
	}
	err = d.children(inside)
	t.add(points)
	return t, err
}

// trackpoint reads a point and appends it. One without a position, as of a treadmill, is none.
func (d *document) trackpoint(t *Track, points []Point) ([]Point, error) {
	if err := d.count(); err != nil {
		return points, err
	}
	var p Point
	var lon, lat string
	var inside func(xml.StartElement) error
	inside = func(e xml.StartElement) (err error) {
		var text string
		switch e.Name.Local {
		case "Position":
			return d.children(inside)
		case "Time":
			text, err = d.text()
			p.Time = t.instant(text)
		case "LatitudeDegrees":
			lat, err = d.text()
		case "LongitudeDegrees":
			lon, err = d.text()
		case "AltitudeMeters":
			text, err = d.text()
			p.elevation(text)
		default:
			err = d.skip()
		}
		return err
	}
	err := d.children(inside)
	switch {
	case lon == "" && lat == "":
		return points, err
	case !p.place(lon, lat):
		t.BadPoints++
		return points, err
	}
	return append(points, p), err
}
