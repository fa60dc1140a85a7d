package gpx

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"
)

// Point is a place and, unless it is zero, when somebody was there.
type Point struct {
	At     orb.Point
	Time   time.Time
	Ele    float64 // metres above the sea, where HasEle
	HasEle bool
}

// point reads a point and appends it, if it is on earth.
func (d *document) point(t *Track, points []Point, e xml.StartElement) ([]Point, error) {
	if err := d.count(); err != nil {
		return points, err
	}
	var p Point
	ok := p.place(attribute(e, "lon"), attribute(e, "lat"))
	err := d.children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "time":
			text, err := d.text()
			p.Time = t.instant(text)
			return err
		case "ele":
			text, err := d.text()
			p.elevation(text)
			return err
		}
		return d.skip()
	})
	if !ok {
		t.BadPoints++
		return points, err
	}
	return append(points, p), err
}

// count counts a point.
func (d *document) count() error {
	if d.points++; d.points > d.limits.Points {
		return d.wrong("there are more than %d points", d.limits.Points)
	}
	return nil
}

// place sets where the point is. It is false if that is not on earth.
func (p *Point) place(lon, lat string) bool {
	x, ok1 := coordinate(lon, 180)
	y, ok2 := coordinate(lat, 90)
	p.At = orb.Point{x, y}
	return ok1 && ok2
}

// elevation sets the elevation, if it is one.
func (p *Point) elevation(s string) { p.Ele, p.HasEle = coordinate(s, mostElevation) }

// mostElevation is above all that flies with a receiver, and below what exporters write
// for "not known".
const mostElevation = 30_000

// instant reads a time, and counts one that is not valid.
func (t *Track) instant(s string) time.Time {
	at := instant(s)
	if at.IsZero() && s != "" {
		t.BadTimes++
	}
	return at
}

// coordinate reads a decimal number from -limit to limit; NaN, infinity and
// hexadecimal numbers are none.
func coordinate(s string, limit float64) (float64, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 40 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c|0x20 == 'x' || c == '_' { // infinity and NaN exceed every limit
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && math.Abs(v) <= limit
}

// instant reads a time in UTC; one that is not valid is zero.
func instant(s string) time.Time {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 {
			return t.UTC()
		}
	}
	return time.Time{}
}
