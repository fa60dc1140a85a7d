package osm_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/xml"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is a point with what it belongs to.
type row struct {
	spot
	trace   *upload // nil for points of nobody
	segment int
}

// rows are the points of a box in the order of the API.
func (s *server) rows(q query) []row {
	s.mu.Lock()
	traces := slices.Clone(s.traces)
	s.mu.Unlock()
	slices.SortStableFunc(traces, func(a, b upload) int { return b.ID - a.ID })
	var ordered, nobody []row
	for i := range traces {
		t := &traces[i]
		own := t.Visibility == identifiable || t.Visibility == trackable
		for n, segment := range t.Segments {
			begin := len(ordered)
			for _, p := range segment {
				switch {
				case p.Lon < q.west || p.Lon > q.east || p.Lat < q.south || p.Lat > q.north:
				case own:
					ordered = append(ordered, row{p, t, n})
				default:
					nobody = append(nobody, row{spot: p})
				}
			}
			slices.SortStableFunc(ordered[begin:], func(a, b row) int { return a.At.Compare(b.At) })
		}
	}
	if !s.o.Pages {
		return ordered
	}
	slices.SortFunc(nobody, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Lat, b.Lat), cmp.Compare(a.Lon, b.Lon), a.At.Compare(b.At))
	})
	return append(ordered, nobody...)
}

// answer sends a page, and returns the number of its points.
func (s *server) answer(w http.ResponseWriter, r *http.Request, q query, f fault) int {
	rows := s.rows(q)
	from := q.cursor
	if s.o.Pages || q.page >= 0 {
		from = max(q.page, 0) * s.o.PageSize
	}
	from = min(max(from, 0), len(rows))
	to := min(from+s.o.PageSize, len(rows))
	if cursors := !s.o.Pages && q.page < 0; cursors {
		for to > from && to < len(rows) && rows[to].trace == rows[to-1].trace && rows[to].segment == rows[to-1].segment &&
			rows[to].At.Equal(rows[to-1].At) {
			to++
		}
		if to < len(rows) {
			s.linkTo(w, r, fmt.Sprintf("row-%d", to), f)
		}
	}
	body := s.gpx(rows[from:to])
	header := w.Header()
	header.Set("Content-Type", "application/gpx+xml")
	header.Set("Content-Disposition", `attachment; filename="tracks.gpx"`)
	if f == halfPage {
		body = body[:len(body)/2]
	}
	if s.o.Gzip && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		body = zipped(body)
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if f == cutOff {
		body = body[:len(body)/2] // the connection breaks then: more was announced
	}
	_, _ = w.Write(body) // a client that has gone away needs no answer
	return to - from
}

func (s *server) linkTo(w http.ResponseWriter, r *http.Request, cursor string, f fault) {
	host := r.Host
	if f == elsewhere {
		host = "elsewhere.example"
	}
	values := url.Values{"bbox": {r.URL.Query().Get("bbox")}, "cursor": {cursor}}
	w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?%s>; rel="next"`, host, apiPath, values.Encode()))
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // memory takes everything
	_ = z.Close()
	return out.Bytes()
}

// gpx writes a page.
func (s *server) gpx(rows []row) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<gpx version="1.0" creator="OpenStreetMap.org" xmlns="http://www.topografix.com/GPX/1/0">` + "\n")
	for i, r := range rows {
		if i == 0 || r.trace != rows[i-1].trace {
			if i > 0 {
				b.WriteString("    </trkseg>\n  </trk>\n")
			}
			b.WriteString("  <trk>\n")
			about(&b, r.trace)
			b.WriteString("    <trkseg>\n")
		} else if r.segment != rows[i-1].segment {
			b.WriteString("    </trkseg>\n    <trkseg>\n")
		}
		fmt.Fprintf(&b, `      <trkpt lat="%s" lon="%s"`, s.number(r.Lat), s.number(r.Lon))
		if r.trace == nil {
			b.WriteString("/>\n")
			continue
		}
		fmt.Fprintf(&b, "><time>%s</time></trkpt>\n", r.At.UTC().Format(time.RFC3339))
	}
	if len(rows) > 0 {
		b.WriteString("    </trkseg>\n  </trk>\n")
	}
	b.WriteString("</gpx>\n")
	return b.Bytes()
}

// about writes the metadata of an identifiable trace.
func about(b *bytes.Buffer, t *upload) {
	if t == nil || t.Visibility != identifiable {
		return
	}
	text := func(s string) string {
		var out bytes.Buffer
		_ = xml.EscapeText(&out, []byte(s)) // memory takes everything
		return out.String()
	}
	fmt.Fprintf(b, "    <name>%s</name>\n    <desc>%s</desc>\n    <url>%s</url>\n", text(t.Name), text(t.Desc),
		text("/user/"+url.PathEscape(t.User)+"/traces/"+strconv.Itoa(t.ID)))
}

// number writes a coordinate: seven decimals, or as Ruby does.
func (s *server) number(v float64) string {
	if s.o.Pages {
		return strconv.FormatFloat(v, 'f', 7, 64)
	}
	v = math.Round(v*1e7) / 1e7
	if v != 0 && v < 1e-4 && v > -1e-4 {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		return mantissa + "e" + exponent
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
