package osm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"fmt"
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
	trace   *upload
	segment int
}

// rows are the points of a box in the order of the API.
func (s *server) rows(q query) (ordered []row) {
	s.mu.Lock()
	traces := slices.Clone(s.traces)
	s.mu.Unlock()
	slices.SortStableFunc(traces, func(a, b upload) int { return b.ID - a.ID })
	for i := range traces {
		for n, segment := range traces[i].Segments {
			begin := len(ordered)
			for _, p := range segment {
				if p.Lon >= q.west && p.Lon <= q.east && p.Lat >= q.south && p.Lat <= q.north {
					ordered = append(ordered, row{p, &traces[i], n})
				}
			}
			slices.SortStableFunc(ordered[begin:], func(a, b row) int { return a.At.Compare(b.At) })
		}
	}
	return ordered
}

// answer sends a page.
func (s *server) answer(w http.ResponseWriter, r *http.Request, q query, f fault) {
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
		fmt.Fprintf(&b, `      <trkpt lat="%.7f" lon="%.7f"><time>%s</time></trkpt>`+"\n", r.Lat, r.Lon, r.At.UTC().Format(time.RFC3339))
	}
	if len(rows) > 0 {
		b.WriteString("    </trkseg>\n  </trk>\n")
	}
	b.WriteString("</gpx>\n")
	return b.Bytes()
}

// about writes the metadata of an identifiable trace.
func about(b *bytes.Buffer, t *upload) {
	if t.Visibility != identifiable {
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
