package trackhttp

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// maxWaiting is the number of tiles that may wait for an encoder.
const maxWaiting = 256

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
	out     bytes.Buffer
	zips    map[coding]compressor
}

func newMaker(o Options, c *cache) *maker {
	m := &maker{tiles: o.Tiles, cache: c, flights: flights{running: map[string]*flight{}}, workers: make(chan *worker, o.Encoders)}
	for range o.Encoders {
		m.workers <- &worker{encoder: tile.NewEncoder(o.Limits), zips: map[coding]compressor{gzipped: newCompressor(gzipped),
			brotlied: newCompressor(brotlied)}}
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
		e, err := m.make(ctx, k, f)
		if err == nil {
			m.cache.put(k, e, generation)
		}
		return e, err
	})
}

func (m *maker) make(ctx context.Context, k key, f gpstracks.Filter) (e *entry, err error) {
	return e, m.with(ctx, func(w *worker) error {
		e, err = w.make(ctx, m.tiles, k, f)
		return err
	})
}

// with runs f with a worker when one is free.
func (m *maker) with(ctx context.Context, f func(*worker) error) (err error) {
	if m.waiting.Add(1) > maxWaiting {
		m.waiting.Add(-1)
		return errBusy
	}
	var w *worker
	select {
	case w = <-m.workers:
		m.waiting.Add(-1)
	case <-ctx.Done():
		m.waiting.Add(-1)
		return ctx.Err()
	}
	defer func() { m.workers <- w }()
	if panicked := run.Guard("gps tile", func() { err = f(w) }); panicked != nil {
		return panicked
	}
	return err
}

func (w *worker) make(ctx context.Context, src tile.Source, k key, f gpstracks.Filter) (*entry, error) {
	body, stats, err := w.encoder.Encode(ctx, w.body[:0], src, k.id, f)
	if err != nil {
		return nil, err
	}
	w.body = body
	e := &entry{dropped: stats.Dropped}
	if len(body) == 0 {
		return e, nil
	}
	e.sum = sumOf(body)
	body, e.coding = squeeze(&w.out, w.zips[k.coding], k.coding, body)
	e.body = bytes.Clone(body)
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
	e, c := &entry{}, codingOf(r)
	if !q.none {
		k := key{id, cmp.Or(c, gzipped), join(q.filter.Activities) + "|" + strings.Join(q.filter.Sources, ",") + "|" +
			strings.Join(q.filter.Without, ",")}
		if e, err = h.maker.get(r.Context(), k, q.filter); err != nil {
			h.failed(w, r, "a tile", err)
			return
		}
	}
	h.sendTile(w, r, e, c)
}

// sendTile sends a tile in the coding that the client likes; one that it takes as it is comes from
// what is kept for others.
func (h *Handler) sendTile(w http.ResponseWriter, r *http.Request, e *entry, likes coding) {
	header, c := w.Header(), e.coding
	if likes == plain {
		c = plain
	}
	if e.dropped > 0 {
		header.Set(droppedHeader, strconv.Itoa(e.dropped))
	}
	if e.body == nil {
		unchanged(w, r, h.maxAge(), "")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if unchanged(w, r, h.maxAge(), tagged(e.sum, c)) {
		return
	}
	body := e.body
	if c != e.coding {
		var err error
		if body, err = expand(body, e.coding); err != nil {
			h.failed(w, r, "a tile", err)
			return
		}
	}
	header.Set("Content-Type", tile.ContentType)
	if c != plain {
		header.Set("Content-Encoding", string(c))
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // a client that has gone away needs no answer
}
