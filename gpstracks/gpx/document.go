package gpx

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errEnd means that the document is over, and whole.
var errEnd = errors.New("end of document")

// document is a document being read.
type document struct {
	xml    *xml.Decoder
	source *bufio.Reader // of xml, for the fast lane; nil: all is read by xml
	lines  int           // that the fast lane has read
	limits Limits
	depth  int
	points int
	begun  bool

	next              func() (Track, error) // by the format
	format            string
	strava            bool   // the document is of Strava, which writes types as numbers
	placed            bool   // the start of a Placemark was read
	keywords, rights  string // of the document
	tracks, waypoints int    // that were read
}

func newDocument(r io.Reader, l Limits) (*document, error) {
	text, err := decoded(r, l.Bytes)
	d := &document{limits: l}
	if err != nil {
		return d, err
	}
	d.source = bufio.NewReaderSize(text, 1<<16)
	d.xml, d.next = xml.NewDecoder(d.source), d.nextGPX
	d.xml.CharsetReader = func(name string, in io.Reader) (io.Reader, error) {
		other, err := charset(name, in)
		if other != in {
			d.source = nil
		}
		return other, err
	}
	return d, d.root()
}

// explain makes an *Error of every error.
func (d *document) explain(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	out := &Error{Format: d.format, Reason: err.Error(), Err: err}
	if d.xml != nil {
		out.Line = d.line()
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

// line is the line that is read.
func (d *document) line() int {
	n, _ := d.xml.InputPos()
	return n + d.lines
}

func (d *document) wrong(format string, args ...any) error {
	return &Error{Format: d.format, Line: d.line(), Reason: fmt.Sprintf(format, args...)}
}

// root reads up to the first element, which says what the document is.
func (d *document) root() error {
	for {
		t, err := d.token()
		if err != nil {
			return err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "gpx":
			d.strava = strings.HasPrefix(attribute(start, "creator"), "Strava")
		case "TrainingCenterDatabase":
			d.format, d.next = "TCX", d.nextTCX
		case "kml", "Placemark": // which some programs write alone
			d.format, d.next, d.placed = "KML", d.nextKML, start.Name.Local == "Placemark"
		default:
			return d.wrong("the document is not GPX, TCX or KML: its element is <%s>", clipped(start.Name.Local, 40))
		}
		d.begun = true
		return nil
	}
}

// token reads on. It counts the depth, and refuses what no track needs.
func (d *document) token() (xml.Token, error) {
	t, err := d.xml.Token()
	if errors.Is(err, io.EOF) {
		if d.begun {
			return nil, errEnd
		}
		return nil, &Error{Reason: "the document is empty"}
	}
	switch t := t.(type) {
	case xml.Directive:
		return nil, d.wrong("a document type is not read: remove it")
	case xml.StartElement:
		if d.depth++; d.depth > d.limits.Depth {
			return nil, d.wrong("elements are more than %d deep", d.limits.Depth)
		}
		if d.depth == 1 && d.begun {
			return nil, d.wrong("there is a second document after the first: its element is <%s>", clipped(t.Name.Local, 40))
		}
	case xml.EndElement:
		d.depth--
	case xml.CharData:
		if d.depth == 0 && strings.TrimSpace(string(t)) != "" {
			return nil, d.wrong("there is text outside of the document")
		}
	}
	return t, err
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

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
