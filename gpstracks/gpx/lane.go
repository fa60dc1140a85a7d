package gpx

import (
	"bytes"
	"strings"
)

// The fast lane: plain points of a segment are read from the bytes, which is where documents are
// long. encoding/xml reads everything else, and each point that is not plain: one with entities,
// comments, characters outside of ASCII, or anything that is not well formed, so that what is read
// and every error are those of encoding/xml (FuzzLane). It reads byte by byte from the same buffer
// and holds none back behind a tag, so each of the two goes on where the other ended.

// laneBytes bounds a plain point, with the blanks before it.
const laneBytes = 4096

// plainPoint reads a trkpt with all that is in it, or nothing at all.
func (d *document) plainPoint(t *Track) (p Point, onEarth, ok bool) {
	if d.source == nil || d.points >= d.limits.Points {
		return p, false, false
	}
	ahead, _ := d.source.Peek(laneBytes) // an error comes again when it is read
	l := lane{rest: ahead, depth: d.depth, limits: d.limits}
	point := l.point()
	if !point || l.depth != d.depth {
		return p, false, false
	}
	used := ahead[:len(ahead)-len(l.rest)]
	onEarth = p.place(string(l.lon), string(l.lat))
	p.Time = t.instant(string(l.time))
	if l.hasEle {
		p.elevation(string(l.ele))
	}
	d.points++
	d.lines += bytes.Count(used, []byte{'\n'})
	_, err := d.source.Discard(len(used))
	return p, onEarth, err == nil // what was seen is there
}

// lane reads a point. Each of its functions is false at what is not plain.
type lane struct {
	rest   []byte
	depth  int
	limits Limits

	lat, lon, time, ele             []byte
	hasLat, hasLon, hasTime, hasEle bool
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (l *lane) blanks() {
	for len(l.rest) > 0 && blank(l.rest[0]) {
		l.rest = l.rest[1:]
	}
}

// take passes a text over, if it comes next.
func (l *lane) take(text string) bool {
	if len(l.rest) < len(text) || string(l.rest[:len(text)]) != text {
		return false
	}
	l.rest = l.rest[len(text):]
	return true
}

// name reads a name, and the part of it that is not a prefix.
func (l *lane) name() (raw, local []byte, ok bool) {
	n, colon := 0, -1
	for ; n < len(l.rest); n++ {
		c := l.rest[n]
		switch letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'; {
		case letter, n > 0 && ('0' <= c && c <= '9' || c == '-' || c == '.'):
			continue
		case c == ':' && n > 0 && colon < 0:
			colon = n
			continue
		}
		break
	}
	raw, l.rest = l.rest[:n], l.rest[n:]
	return raw, raw[colon+1:], n > 0 && colon < n-1 && len(l.rest) > 0
}

// printable reads ASCII characters up to one of two; those that mean something are not plain.
func (l *lane) printable(end byte, more string) (text []byte, ok bool) {
	for n, c := range l.rest {
		switch {
		case c == end:
			text, l.rest = l.rest[:n], l.rest[n:]
			return text, true
		case c < ' ' && strings.IndexByte(more, c) < 0, c > '~', c == '<', c == '&', c == ']':
			return nil, false
		}
	}
	return nil, false
}

// point reads a point.
func (l *lane) point() bool {
	l.blanks()
	if !l.take("<trkpt") {
		return false
	}
	closed, ok := l.attributes(func(name, value []byte) {
		switch string(name) {
		case "lat":
			if !l.hasLat {
				l.lat, l.hasLat = value, true
			}
		case "lon":
			if !l.hasLon {
				l.lon, l.hasLon = value, true
			}
		}
	})
	return ok && (closed || l.inside([]byte("trkpt"), true))
}

// attributes reads up to the end of a tag: closed if its element is empty.
func (l *lane) attributes(take func(name, value []byte)) (closed, ok bool) {
	if l.depth++; l.depth > l.limits.Depth {
		return false, false
	}
	for {
		before := len(l.rest)
		l.blanks()
		if l.take(">") {
			return false, true
		}
		if l.take("/>") {
			l.depth--
			return true, true
		}
		raw, name, ok := l.name()
		if !ok || before == len(l.rest)+len(raw) || !l.take("=") || len(l.rest) == 0 {
			return false, false
		}
		quote := l.rest[0]
		if l.rest = l.rest[1:]; quote != '"' && quote != '\'' {
			return false, false
		}
		value, ok := l.printable(quote, "")
		if !ok {
			return false, false
		}
		l.rest = l.rest[1:]
		take(name, value)
	}
}

// inside reads an element behind its tag up to its end. Those of a point are its time and elevation.
func (l *lane) inside(element []byte, ofPoint bool) bool {
	for {
		if _, ok := l.printable('<', "\n\t\r"); !ok {
			return false
		}
		l.rest = l.rest[1:]
		if l.take("/") {
			return l.end(element)
		}
		raw, local, ok := l.name()
		if !ok {
			return false
		}
		closed, ok := l.attributes(func([]byte, []byte) {})
		switch {
		case !ok:
			return false
		case ofPoint && string(local) == "time":
			ok = !closed && !l.hasTime && l.value(raw, &l.time)
			l.hasTime = true
		case ofPoint && string(local) == "ele":
			ok = !closed && !l.hasEle && l.value(raw, &l.ele)
			l.hasEle = true
		case !closed:
			ok = l.inside(raw, false)
		}
		if !ok {
			return false
		}
	}
}

// value reads the text of an element, and its end.
func (l *lane) value(element []byte, into *[]byte) bool {
	text, ok := l.printable('<', "\n\t")
	if !ok || len(text) > l.limits.Text || !l.take("</") {
		return false
	}
	*into = bytes.TrimSpace(text)
	return l.end(element)
}

// end reads the rest of the tag that ends an element.
func (l *lane) end(element []byte) bool {
	raw, _, ok := l.name()
	l.blanks()
	l.depth--
	return ok && bytes.Equal(raw, element) && l.take(">")
}
