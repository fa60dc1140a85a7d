package trackhttp

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// maxSeen bounds the tracks that a request reads, when it passes over some.
const maxSeen = 2_000

// maxLook bounds the tracks among which the store looks for those of a request.
const maxLook = 60_000

// maxCount is the number of tracks up to which a list says how many there are.
const maxCount = 10_000

// flushAt bounds the bytes of a list that are held back before they are sent.
const flushAt = 64 << 10

// list answers the tracks of a box as GeoJSON, the longest first.
func (h *Handler) list(w http.ResponseWriter, r *http.Request) {
	known := []string{"bbox", "at", "zoom", "activity", "source", "limit", "cursor", "profile", "full"}
	q, err := h.parseQuery(r.URL.RawQuery, known...)
	if err == nil {
		err = checkSpelling(r.URL.Query(), known)
	}
	at := r.URL.Query().Get("at")
	if err == nil && at != "" {
		q.at, err = parsePoint(at)
	} else if err == nil {
		q.filter.Bounds, err = parseBox(r.URL.Query().Get("bbox"))
	}
	if err != nil {
		problem(w, http.StatusBadRequest, "query", err.Error())
		return
	}
	l := &lister{
		w: w, r: r, coding: codingOf(r), encoder: featureEncoder{tolerance: tolerance(q.zoom), profile: q.profile},
		buffer: []byte(`{"type":"FeatureCollection","features":[`),
	}
	l.tail = l.listTail
	if h.listed(w, r, l.coding) {
		return
	}
	if !q.full {
		l.encoder.clip = around(q.filter.Bounds)
	}
	if at != "" && !q.none {
		if err := h.here(r.Context(), &q); err != nil {
			h.failed(w, r, "a list", err)
			return
		}
	}
	l.run(h, q)
}

// here looks which tracks pass through the place of a query.
func (h *Handler) here(ctx context.Context, q *query) error {
	return h.maker.with(ctx, func(w *worker) (err error) {
		zoom := int(math.Round(q.zoom))
		q.filter.IDs, err = w.encoder.Through(ctx, h.o.Tiles, q.at, zoom, q.filter)
		q.none = len(q.filter.IDs) == 0
		return err
	})
}

// run sends the tracks of a query.
func (l *lister) run(h *Handler, q query) {
	ctx := l.r.Context()
	var err error
	if !q.none {
		err = l.features(h, q.filter)
	}
	if err != nil && l.out == nil {
		h.failed(l.w, l.r, "a list", err)
		return
	}
	if err != nil && ctx.Err() == nil {
		h.o.Log.Error("gps tracks: a list broke off", "err", err, "sent", l.count)
		if l.w.Header().Get("ETag") != "" { // clients would keep the part as the whole, until some track changes
			panic(http.ErrAbortHandler)
		}
	}
	if counter, ok := h.o.Store.(gpstracks.Counter); ok && l.truncated && l.passes == nil && err == nil {
		if l.matched, err = counter.CountMatching(ctx, q.filter, maxCount); err != nil && ctx.Err() == nil {
			h.o.Log.Error("gps tracks: the tracks of a list were not counted", "err", err)
		}
	}
	l.end()
}

// listed answers 304 to a client that has a list already, without a look at the tracks: a list is the same
// until some track changes. Stores that are no gpstracks.Versioned have lists without tags.
func (h *Handler) listed(w http.ResponseWriter, r *http.Request, c coding) bool {
	tag := ""
	if versioned, ok := h.o.Store.(gpstracks.Versioned); ok {
		if version, err := versioned.Version(r.Context()); err == nil { // else the list says what is wrong
			tag = tagged(sumOf([]byte(listFormat+"|"+version+"|"+strings.Join(h.withheld(), ",")+"|"+r.URL.RequestURI())), c)
		}
	}
	return unchanged(w, r, h.scope()+", no-cache", tag)
}

// listFormat is a text that changes with what lists look like.
const listFormat = "1"

// tolerance is half a pixel of a 512-pixel tile, in degrees at the equator.
func tolerance(zoom float64) float64 { return 180.0 / 512 / math.Exp2(zoom) }

// lister streams one list.
type lister struct {
	w         http.ResponseWriter
	r         *http.Request
	out       io.Writer // nil until the first part is sent
	zip       compressor
	coding    coding
	encoder   featureEncoder
	buffer    []byte
	sent      int
	count     int
	last      gpstracks.Cursor
	truncated bool
	passes    func(*gpstracks.Track) bool // what the store does not look at; nil: everything passes
	tail      func([]byte) []byte         // fields after the numbers
	matched   int                         // all tracks that pass, if a list is truncated and the store is a Counter; else 0
}

// features writes the tracks, and notes whether there are more. After an error
// in the middle there are: a list without a tag says so and where to go on.
func (l *lister) features(h *Handler, f gpstracks.Filter) error {
	limit, read, seen := f.Limit, 0, 0
	if f.Limit++; l.passes != nil { // one more shows whether there is more
		f.Limit = 0
	}
	f.Look = maxLook
	for t, err := range h.o.Store.List(l.r.Context(), f) {
		var partial *gpstracks.PartialError
		if errors.As(err, &partial) {
			l.truncated, l.last = true, partial.After
			return nil
		}
		if err != nil {
			l.truncated = true
			return err
		}
		if read == limit || seen == maxSeen || l.sent+len(l.buffer) >= h.o.ListBytes {
			l.truncated = true
			return nil
		}
		if seen++; l.passes != nil && !l.passes(&t) {
			l.last = t.Cursor()
			continue
		}
		read, l.last = read+1, t.Cursor()
		if l.encoder.draw(&t); l.encoder.parts == 0 { // its bounds are in the view, and nothing else
			continue
		}
		if l.count++; l.count > 1 {
			l.buffer = append(l.buffer, ',')
		}
		l.buffer = l.encoder.append(l.buffer, &t)
		if len(l.buffer) >= flushAt {
			if err := l.flush(); err != nil {
				return err
			}
		}
	}
	return l.r.Context().Err()
}

// flush sends what is in the buffer, after the headers.
func (l *lister) flush() error {
	if l.out == nil {
		header := l.w.Header()
		header.Set("Content-Type", "application/geo+json")
		l.out = l.w
		if l.coding != plain {
			header.Set("Content-Encoding", string(l.coding))
			l.zip = newCompressor(l.coding)
			l.zip.Reset(l.w)
			l.out = l.zip
		}
	}
	n, err := l.out.Write(l.buffer)
	l.sent += n
	l.buffer = l.buffer[:0]
	return err
}

// end writes what is known at the end only.
func (l *lister) end() {
	if l.r.Context().Err() != nil {
		return
	}
	b := append(l.buffer, `],"numberReturned":`...)
	b = strconv.AppendInt(b, int64(l.count), 10)
	if l.matched > 0 && l.matched <= maxCount {
		b = strconv.AppendInt(append(b, `,"numberMatched":`...), int64(l.matched), 10)
	}
	l.buffer = append(l.tail(b), '}', '\n')
	if l.flush() == nil && l.zip != nil {
		_ = l.zip.Close() // the client has gone away
	}
}

// listTail writes whether there is more, and the cursor to go on with.
func (l *lister) listTail(b []byte) []byte {
	b = append(b, `,"truncated":`...)
	b = strconv.AppendBool(b, l.truncated)
	b = append(b, `,"next":`...)
	if l.truncated && l.last.ID > 0 {
		return append(append(append(b, '"'), formatCursor(l.last)...), '"')
	}
	return append(b, "null"...)
}

// featureEncoder writes tracks as GeoJSON features.
type featureEncoder struct {
	tolerance  float64     // degrees of longitude; 0 keeps every point
	clip       []orb.Bound // what is written of the lines; none = all
	profile    bool        // write elevation profiles
	simplifier gpstracks.Simplifier
	plane      []gpstracks.XY

	coordinates []byte // of the parts of a track
	parts       int
	x, y        int64 // where the part under way is
	points      int   // in it
}

// AppendFeature appends a track as a GeoJSON feature, with every point and its elevation profile.
func AppendFeature(dst []byte, t *gpstracks.Track) []byte {
	e := featureEncoder{profile: true}
	e.draw(t)
	return e.append(dst, t)
}

// append writes the track that was drawn.
func (e *featureEncoder) append(b []byte, t *gpstracks.Track) []byte {
	b = append(b, `{"type":"Feature","id":`...)
	b = strconv.AppendInt(b, t.ID, 10)
	if e.parts == 1 {
		b = append(append(b, `,"geometry":{"type":"LineString","coordinates":`...), e.coordinates...)
	} else {
		b = append(append(append(b, `,"geometry":{"type":"MultiLineString","coordinates":[`...), e.coordinates...), ']')
	}
	b = append(b, `},"properties":{"id":`...)
	b = strconv.AppendInt(b, t.ID, 10)
	b = appendString(append(b, `,"name":`...), t.Name)
	b = appendString(append(b, `,"activity":`...), string(t.Activity))
	b = appendString(append(b, `,"source":`...), t.Source)
	b = strconv.AppendInt(append(b, `,"length_m":`...), t.Cursor().Metres, 10)
	b = append(b, `,"recorded_on":`...)
	if t.RecordedOn.IsZero() {
		b = append(b, "null"...)
	} else {
		b = t.RecordedOn.UTC().AppendFormat(b, `"2006-01-02"`)
	}
	b = appendString(append(b, `,"url":`...), t.URL)
	b = appendString(append(b, `,"attribution":`...), t.Attribution)
	return append(appendMeasures(b, t, e.profile), "}}"...)
}

// weights weighs the points of a line; nil if all of them are kept.
func (e *featureEncoder) weights(t *gpstracks.Track, line orb.LineString) []float64 {
	if e.tolerance <= 0 {
		return nil
	}
	stretch := 1 / math.Cos(min(math.Abs(t.Bounds.Center()[1]), 89)*math.Pi/180) // of a Mercator map
	e.plane = slices.Grow(e.plane[:0], len(line))
	for _, p := range line {
		e.plane = append(e.plane, gpstracks.XY{X: p[0], Y: p[1] * stretch})
	}
	return e.simplifier.Weights(e.plane)
}
