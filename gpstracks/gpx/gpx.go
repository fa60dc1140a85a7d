// Package gpx reads tracks and routes from GPX 1.0 and 1.1 as a stream: a document
// of any size costs the memory of its largest track. What a document may do to a
// program is bounded by Limits.
//
// Elements are known by their local names, whatever their namespace. A document
// may be compressed with gzip, and written in UTF-8, UTF-16, ISO 8859-1 or
// Windows-1252.
package gpx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"
)

// Limits bound one document. Zero values take the defaults of DefaultLimits.
type Limits struct {
	Bytes  int64 // after decompression
	Points int   // of all tracks and routes
	Depth  int   // of elements in each other
	Text   int   // bytes of one text, such as a name; more are cut off
}

// DefaultLimits are 10 MiB, 200,000 points, elements 32 deep and texts of 4 kB.
func DefaultLimits() Limits { return Limits{10 << 20, 200_000, 32, 4096} }

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	if l.Bytes <= 0 {
		l.Bytes = d.Bytes
	}
	if l.Points <= 0 {
		l.Points = d.Points
	}
	if l.Depth <= 0 {
		l.Depth = d.Depth
	}
	if l.Text <= 0 {
		l.Text = d.Text
	}
	return l
}

// Point is a place and, unless it is zero, when somebody was there.
type Point struct {
	At   orb.Point
	Time time.Time
}

// Track is one trk element, or one rte element: a track of one segment.
type Track struct {
	Name      string
	Desc      string
	Type      string
	URL       string // url, or the address of the first link
	Segments  [][]Point
	BadPoints int // that are not on earth, and left out
	BadTimes  int // that cannot be read; their points have none
}

// Error reports what is wrong with a document.
type Error struct {
	Line   int // 0 if it is not known
	Reason string
	Err    error // nil unless reading or decoding failed
}

// Error names the line and the reason.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("GPX line %d: %s", e.Line, e.Reason)
	}
	return "GPX: " + e.Reason
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Read yields the tracks of a document in its order, and at the end the *Error
// that broke it off, if one did: tracks before it are as they should be, but a caller that needs
// all or nothing has to wait for the end.
func Read(r io.Reader, l Limits) iter.Seq2[Track, error] {
	return func(yield func(Track, error) bool) {
		d, err := newDocument(r, l.orDefault())
		for err == nil {
			var t Track
			if t, err = d.next(); err == nil && !yield(t, nil) {
				return
			}
		}
		if !errors.Is(err, errEnd) {
			yield(Track{}, d.explain(err))
		}
	}
}

// errEnd means that the document is over, and whole.
var errEnd = errors.New("end of document")

// document is a document being read.
type document struct {
	xml    *xml.Decoder
	limits Limits
	depth  int
	points int
	begun  bool
}

func newDocument(r io.Reader, l Limits) (*document, error) {
	text, err := decoded(r, l.Bytes)
	d := &document{limits: l}
	if err != nil {
		return d, err
	}
	d.xml = xml.NewDecoder(text)
	d.xml.CharsetReader = charset
	return d, nil
}

// explain makes an *Error of every error.
func (d *document) explain(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	out := &Error{Reason: err.Error(), Err: err}
	if d.xml != nil {
		out.Line, _ = d.xml.InputPos()
	}
	var syntax *xml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		out.Reason = syntax.Msg
	case errors.Is(err, io.ErrUnexpectedEOF):
		out.Reason = "the document is cut off"
	}
	return out
}

func (d *document) wrong(format string, args ...any) error {
	line, _ := d.xml.InputPos()
	return &Error{Line: line, Reason: fmt.Sprintf(format, args...)}
}

// token reads on. It counts the depth, and refuses what no track needs.
func (d *document) token() (xml.Token, error) {
	t, err := d.xml.Token()
	if errors.Is(err, io.EOF) && d.begun {
		return nil, errEnd
	}
	if errors.Is(err, io.EOF) {
		return nil, &Error{Reason: "the document is empty"}
	}
	switch t := t.(type) {
	case xml.Directive:
		return nil, d.wrong("a document type is not read: remove it")
	case xml.StartElement:
		if d.depth++; d.depth > d.limits.Depth {
			return nil, d.wrong("elements are more than %d deep", d.limits.Depth)
		}
		if d.depth == 1 && (d.begun || t.Name.Local != "gpx") {
			return nil, d.wrong("the document is not GPX: its element is <%s>", clipped(t.Name.Local, 40))
		}
		d.begun = true
	case xml.EndElement:
		d.depth--
	case xml.CharData:
		if d.depth == 0 && strings.TrimSpace(string(t)) != "" {
			return nil, d.wrong("there is text outside of the document")
		}
	}
	return t, err
}

// next reads the next track.
func (d *document) next() (Track, error) {
	for {
		t, err := d.token()
		if err != nil {
			return Track{}, err
		}
		start, ok := t.(xml.StartElement)
		if name := start.Name.Local; ok && d.depth == 2 && (name == "trk" || name == "rte") {
			return d.track()
		}
	}
}

// children calls f with each element inside the current one, until that ends. f
// must read the element to its end.
func (d *document) children(f func(xml.StartElement) error) error {
	for {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := f(t); err != nil {
				return err
			}
		}
	}
}

// skip reads an element to its end.
func (d *document) skip() error { return d.children(func(xml.StartElement) error { return d.skip() }) }

// text reads an element that holds text.
func (d *document) text() (string, error) {
	var b strings.Builder
	for {
		t, err := d.token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return strings.TrimSpace(b.String()), nil
		case xml.StartElement:
			if err := d.skip(); err != nil {
				return "", err
			}
		case xml.CharData:
			b.WriteString(clipped(string(t), d.limits.Text-b.Len()))
		}
	}
}

func clipped(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), max(n, 0))], "") }

func (d *document) track() (t Track, err error) {
	var route []Point
	err = d.children(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "name":
			t.Name, err = d.text()
		case "desc":
			t.Desc, err = d.text()
		case "type":
			t.Type, err = d.text()
		case "url":
			t.URL, err = d.text()
		case "link":
			if t.URL == "" {
				t.URL = clipped(attribute(e, "href"), d.limits.Text)
			}
			err = d.skip()
		case "trkseg":
			err = d.segment(&t)
		case "rtept":
			route, err = d.point(&t, route, e)
		default:
			err = d.skip()
		}
		return err
	})
	t.add(route)
	return t, err
}

func (t *Track) add(segment []Point) {
	if len(segment) > 0 {
		t.Segments = append(t.Segments, segment)
	}
}

func (d *document) segment(t *Track) error {
	var points []Point
	err := d.children(func(e xml.StartElement) (err error) {
		if e.Name.Local != "trkpt" {
			return d.skip()
		}
		points, err = d.point(t, points, e)
		return err
	})
	t.add(points)
	return err
}

// point reads a point and appends it, if it is on earth.
func (d *document) point(t *Track, points []Point, e xml.StartElement) ([]Point, error) {
	if d.points++; d.points > d.limits.Points {
		return points, d.wrong("there are more than %d points", d.limits.Points)
	}
	lon, ok1 := coordinate(attribute(e, "lon"), 180)
	lat, ok2 := coordinate(attribute(e, "lat"), 90)
	p := Point{At: orb.Point{lon, lat}}
	err := d.children(func(e xml.StartElement) error {
		if e.Name.Local != "time" {
			return d.skip()
		}
		text, err := d.text()
		if p.Time = instant(text); p.Time.IsZero() && text != "" {
			t.BadTimes++
		}
		return err
	})
	if !ok1 || !ok2 {
		t.BadPoints++
		return points, err
	}
	return append(points, p), err
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// coordinate reads a decimal number from -limit to limit; NaN, infinity and
// hexadecimal numbers are none.
func coordinate(s string, limit float64) (float64, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 40 || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && math.Abs(v) <= limit
}

// instant reads a time in UTC; one that is not valid is zero.
func instant(s string) time.Time {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 {
			return t.UTC()
		}
	}
	return time.Time{}
}
