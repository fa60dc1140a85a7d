package trackhttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/guard"
)

// maxWaiting is the number of tiles that may wait for an encoder.
const maxWaiting = 256

// worthZipping is the size from which compression saves a packet.
const worthZipping = 1024

// maker makes tiles, some at a time.
type maker struct {
	tiles   tile.Source
	cache   *cache
	flights flights
	workers chan *worker
	waiting atomic.Int64
}

// worker is an encoder with the memory that it works in.
type worker struct {
	encoder *tile.Encoder
	body    []byte
	zipped  bytes.Buffer
	zip     *gzip.Writer
}

func newMaker(o Options, c *cache) *maker {
	m := &maker{tiles: o.Tiles, cache: c, flights: flights{running: map[string]*flight{}}, workers: make(chan *worker, o.Encoders)}
	for range o.Encoders {
		m.workers <- &worker{encoder: tile.NewEncoder(o.Limits), zip: fastGzip()}
	}
	return m
}

// get returns a tile from the cache, or makes it.
func (m *maker) get(ctx context.Context, k key, f gpstracks.Filter) (*entry, error) {
	e, generation, ok := m.cache.get(k)
	if ok {
		return e, nil
	}
	return m.flights.do(ctx, k.name(generation), func(ctx context.Context) (*entry, error) {
		e, err := m.make(ctx, k.id, f)
		if err == nil {
			m.cache.put(k, e, generation)
		}
		return e, err
	})
}

func (m *maker) make(ctx context.Context, id tile.ID, f gpstracks.Filter) (e *entry, err error) {
	if m.waiting.Add(1) > maxWaiting {
		m.waiting.Add(-1)
		return nil, errBusy
	}
	var w *worker
	select {
	case w = <-m.workers:
		m.waiting.Add(-1)
	case <-ctx.Done():
		m.waiting.Add(-1)
		return nil, ctx.Err()
	}
	defer func() { m.workers <- w }()
	if panicked := guard.Do("gps tile", func() { e, err = w.make(ctx, m.tiles, id, f) }); panicked != nil {
		return nil, panicked
	}
	return e, err
}

func (w *worker) make(ctx context.Context, src tile.Source, id tile.ID, f gpstracks.Filter) (*entry, error) {
	body, stats, err := w.encoder.Encode(ctx, w.body[:0], src, id, f)
	if err != nil {
		return nil, err
	}
	w.body = body
	e := &entry{dropped: stats.Dropped}
	if len(body) == 0 {
		return e, nil
	}
	if len(body) >= worthZipping {
		w.zipped.Reset()
		w.zip.Reset(&w.zipped)
		if _, err := w.zip.Write(body); err != nil {
			return nil, err
		}
		if err := w.zip.Close(); err != nil {
			return nil, err
		}
		body, e.zipped = w.zipped.Bytes(), true
	}
	e.body = bytes.Clone(body)
	e.etag = etagOf(e.body)
	return e, nil
}

// tile answers one tile.
func (h *Handler) tile(w http.ResponseWriter, r *http.Request, path string) {
	id, ok := parseTile(path)
	if !ok {
		problem(w, http.StatusBadRequest, "tile", "There is no such tile: z is from 0 to 22, x and y are from 0 to 2^z-1.")
		return
	}
	q, err := h.parseQuery(r.URL.RawQuery, "activity", "source")
	if err != nil {
		problem(w, http.StatusBadRequest, "query", err.Error())
		return
	}
	e := &entry{}
	if !q.none {
		k := key{id, join(q.filter.Activities) + "|" + strings.Join(q.filter.Sources, ",")}
		if e, err = h.maker.get(r.Context(), k, q.filter); err != nil {
			h.failed(w, r, "a tile", err)
			return
		}
	}
	h.sendTile(w, r, e)
}

func (h *Handler) sendTile(w http.ResponseWriter, r *http.Request, e *entry) {
	header := w.Header()
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(h.o.TileMaxAge.Seconds())))
	header.Add("Vary", "Accept-Encoding")
	if e.dropped > 0 {
		header.Set(droppedHeader, strconv.Itoa(e.dropped))
	}
	if e.body == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	header.Set("ETag", e.etag)
	if matches(r.Header.Values("If-None-Match"), e.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := e.body
	header.Set("Content-Type", tile.ContentType)
	switch {
	case e.zipped && zips(r):
		header.Set("Content-Encoding", "gzip")
	case e.zipped:
		var err error
		if body, err = unzip(body); err != nil {
			h.failed(w, r, "a tile", err)
			return
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone away needs no answer
}

func unzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// matches compares weakly, as RFC 9110 requires for If-None-Match.
func matches(lists []string, etag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(etag, "W/") {
				return true
			}
		}
	}
	return false
}

// zips reports whether the client takes gzip.
func zips(r *http.Request) bool {
	takes := false
	for _, list := range r.Header.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(list, ",") {
			name, weight, _ := strings.Cut(one, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "gzip" && name != "*" {
				continue
			}
			q, isWeight := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			v, err := strconv.ParseFloat(q, 64)
			yes := !isWeight || err == nil && v > 0
			if name == "gzip" {
				return yes
			}
			takes = takes || yes
		}
	}
	return takes
}

// fastGzip compresses quickly: making a tile takes less time than compressing
// it well would.
func fastGzip() *gzip.Writer {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil { // the level exists
		return gzip.NewWriter(nil)
	}
	return z
}
