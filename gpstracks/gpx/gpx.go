// Package gpx reads tracks and routes from GPX 1.0 and 1.1 as a stream: a document
// of any size costs the memory of its largest track. What a document may do to a
// program is bounded by Limits. TCX and KML, the XML of other programs, are read by
// the same rules.
//
// Elements are known by their local names, whatever their namespace. A document
// may be compressed with gzip, and written in UTF-8, UTF-16, ISO 8859-1 or
// Windows-1252.
package gpx

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/signalbox-dev/signalbox/internal/defaults"
)

// Limits bound one document. Zero values take the defaults.
type Limits struct {
	Bytes  int64 `envDefault:"10485760"` // after decompression
	Points int   `envDefault:"200000"`   // of all tracks and routes, of which there are no more either
	Depth  int   `envDefault:"32"`       // of elements in each other
	Text   int   `envDefault:"4096"`     // bytes of one text, such as a name; more are cut off
}

func (l Limits) orDefault() Limits {
	defaults.Fill(&l)
	return l
}

// Track is one trk element, or one rte element: a track of one segment. So is an
// Activity or Course of TCX, and a Placemark of KML with lines.
type Track struct {
	Name      string
	Desc      string
	Type      string // what was done, in words of the exporter
	Keywords  string // of the document
	Rights    string // of the document: its copyright element
	URL       string // url, or the address of the first link
	Route     bool   // planned: a rte element, or a Course
	Segments  [][]Point
	BadPoints int  // that are not on earth, and left out
	BadTimes  int  // that cannot be read; their points have none
	CutOff    bool // the file ends in the middle of it

	Barometer       bool    // the device measured Ascent and Descent by air pressure
	Ascent, Descent float64 // metres
}

// Flight is the Type of a track in the air, of which speeds say nothing.
const Flight = "flight"

// Error reports what is wrong with a document.
type Error struct {
	Format string // such as TCX; "" stands for GPX
	Line   int    // 0 if it is not known
	Reason string
	Err    error // nil unless reading or decoding failed
}

// Error names the line and the reason.
func (e *Error) Error() string {
	format := cmp.Or(e.Format, "GPX")
	if e.Line > 0 {
		return fmt.Sprintf("%s line %d: %s", format, e.Line, e.Reason)
	}
	return format + ": " + e.Reason
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// WaypointsError is the end of a document that holds waypoints, and no track or route.
type WaypointsError struct{ Waypoints int }

// Error says how many there are.
func (e *WaypointsError) Error() string {
	return fmt.Sprintf("the file holds %d single points, and no track or route", e.Waypoints)
}

// Read yields the tracks of a document in its order, and at the end the *Error
// that broke it off, if one did: tracks before it are as they should be, but a caller that needs
// all or nothing has to wait for the end. A document with nothing but waypoints ends with a
// *WaypointsError.
func Read(r io.Reader, l Limits) iter.Seq2[Track, error] { return read(r, l, true) }

// read is Read, with the fast lane or without.
func read(r io.Reader, l Limits, fast bool) iter.Seq2[Track, error] {
	return func(yield func(Track, error) bool) {
		d, err := newDocument(r, l.orDefault())
		if !fast {
			d.source = nil
		}
		for err == nil {
			var t Track
			if t, err = d.next(); err == nil && d.tracks == d.limits.Points {
				err = d.wrong("there are more than %d tracks", d.tracks)
			}
			if err == nil {
				if t.Keywords, t.Rights, d.tracks = d.keywords, clipped(d.rights, d.limits.Text), d.tracks+1; !yield(t, nil) {
					return
				}
			}
		}
		switch {
		case errors.Is(err, errEnd) && d.tracks == 0 && d.waypoints > 0:
			yield(Track{}, &WaypointsError{d.waypoints})
		case !errors.Is(err, errEnd):
			yield(Track{}, d.explain(err))
		}
	}
}

// nextGPX reads the next track or route.
func (d *document) nextGPX() (Track, error) {
	for {
		t, err := d.token()
		if err != nil {
			return Track{}, err
		}
		start, ok := t.(xml.StartElement)
		if !ok || d.depth > 3 {
			continue
		}
		switch start.Name.Local {
		case "trk", "rte":
			if d.depth == 2 {
				return d.track(start.Name.Local == "rte")
			}
		case "wpt":
			d.waypoints++
		case "keywords": // in metadata since GPX 1.1
			if d.keywords, err = d.text(); err != nil {
				return Track{}, err
			}
		case "copyright":
			if d.tracks > 0 {
				return Track{}, d.wrong("a copyright element stands behind tracks: put it before them")
			}
			d.addRights(attribute(start, "author"))
			if err = d.children(func(xml.StartElement) error {
				text, err := d.text()
				d.addRights(text)
				return err
			}); err != nil {
				return Track{}, err
			}
		}
	}
}

// addRights takes up a part of the rights, as far as a text may go: each adding copies the rest.
func (d *document) addRights(text string) {
	if len(d.rights) < d.limits.Text {
		d.rights += " " + text
	}
}

func (d *document) track(route bool) (t Track, err error) {
	t.Route = route
	var planned []Point
	err = d.children(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "name":
			t.Name, err = d.text()
		case "desc":
			t.Desc, err = d.text()
		case "type":
			if t.Type, err = d.text(); d.strava {
				t.Type = stravaType(t.Type)
			}
		case "url":
			t.URL, err = d.text()
		case "link":
			t.URL = cmp.Or(t.URL, clipped(attribute(e, "href"), d.limits.Text))
			err = d.skip()
		case "trkseg":
			err = d.segment(&t)
		case "rtept":
			planned, err = d.point(&t, planned, e)
		default:
			err = d.skip()
		}
		return err
	})
	t.add(planned)
	return t, err
}

// stravaType is the word for a number that Strava writes in its place.
func stravaType(s string) string {
	switch s {
	case "1":
		return "cycling"
	case "4":
		return "hiking"
	case "9":
		return "running"
	case "10":
		return "walking"
	}
	return s
}

func (t *Track) add(segment []Point) {
	if len(segment) > 0 {
		t.Segments = append(t.Segments, segment)
	}
}

func (d *document) segment(t *Track) error {
	var points []Point
	plain := func() {
		for {
			p, onEarth, ok := d.plainPoint(t)
			switch {
			case !ok:
				return
			case onEarth:
				points = append(points, p)
			default:
				t.BadPoints++
			}
		}
	}
	err := d.children(func(e xml.StartElement) (err error) {
		if e.Name.Local == "trkpt" {
			points, err = d.point(t, points, e)
		} else {
			err = d.skip()
		}
		if err == nil { // and no end of an empty element is owed
			plain()
		}
		return err
	})
	t.add(points)
	return err
}
