package trackhttp

import (
	"context"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// overview keeps what the store has until something in it changes.
type overview struct {
	mu         sync.Mutex
	known      bool
	generation uint64
	tile.Summary
}

// summary reads what the store has, if it is not known any more.
func (h *Handler) summary(ctx context.Context) (tile.Summary, error) {
	h.cache.mu.Lock()
	generation := h.cache.generation
	h.cache.mu.Unlock()
	h.overview.mu.Lock()
	known, s := h.overview.known && h.overview.generation == generation, h.overview.Summary
	h.overview.mu.Unlock()
	if known {
		return s, nil
	}
	s, err := tile.Summarize(ctx, h.o.Tiles, gpstracks.Filter{Without: h.withheld()})
	if err == nil {
		h.overview.mu.Lock()
		h.overview.known, h.overview.generation, h.overview.Summary = true, generation, s
		h.overview.mu.Unlock()
	}
	return s, err
}

// manyNames bounds the attributions that a map names; it counts the others.
const manyNames = 8

// attribution writes the names that the tracks' licences require, as HTML.
func attribution(names []string) string {
	var out []string
	for _, name := range names[:min(len(names), manyNames)] {
		out = append(out, html.EscapeString(name))
	}
	if n := len(names) - manyNames; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, " | ")
}

// hostName is the form of a host that can stand in an address.
var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?$`)

// base is the address of the server as the client reaches it; ok is false after a refusal.
func (h *Handler) base(w http.ResponseWriter, r *http.Request) (base string, ok bool) {
	switch {
	case h.o.BaseURL != "":
		return h.o.BaseURL, true
	case !hostName.MatchString(r.Host):
		problem(w, http.StatusBadRequest, "host", "The host that was asked is not one that an address can name.")
		return "", false
	case r.TLS != nil:
		return "https://" + r.Host, true
	}
	return "http://" + r.Host, true
}

// tileJSON answers the TileJSON 3 of the tiles: with the bounds of all tracks and the names
// that their licences require. Filters are carried over.
func (h *Handler) tileJSON(w http.ResponseWriter, r *http.Request) {
	q, err := h.parseQuery(r.URL.RawQuery, "activity", "source")
	if err != nil {
		problem(w, http.StatusBadRequest, "query", err.Error())
		return
	}
	base, ok := h.base(w, r)
	if !ok {
		return
	}
	s, err := h.summary(r.Context())
	if err != nil {
		h.failed(w, r, "tiles.json", err)
		return
	}
	carried := url.Values{}
	for _, a := range q.filter.Activities {
		carried.Add("activity", string(a))
	}
	for _, s := range q.filter.Sources {
		carried.Add("source", s)
	}
	address := base + h.o.Prefix + "/tiles/{z}/{x}/{y}.mvt"
	if len(carried) > 0 {
		address += "?" + carried.Encode()
	}
	h.sendJSON(w, r, "application/json", TileJSON(s, address))
}

// TileJSON describes the tiles of a store at an address with {z}, {x} and {y}.
func TileJSON(s tile.Summary, address string) map[string]any {
	doc := map[string]any{
		"tilejson": "3.0.0", "name": "Public GPS tracks", "scheme": "xyz", "tiles": []string{address},
		"minzoom": 0, "maxzoom": tile.MaxLevel, "attribution": attribution(s.Attributions),
		"vector_layers": []any{map[string]any{"id": tile.Layer, "fields": map[string]string{
			"id": "Number", "name": "String", "activity": "String", "source": "String",
			"length_m": "Number", "recorded_on": "String", "url": "String", "attribution": "String",
		}}, map[string]any{"id": tile.DensityLayer, "minzoom": 0, "maxzoom": tile.DensityZoom, "fields": map[string]string{
			"count": "Number", "activity": "String",
		}}},
	}
	if s.Tracks == 0 {
		doc["bounds"] = []float64{-180, -mercatorEdge, 180, mercatorEdge}
		return doc
	}
	west, south, east, north := s.Bounds.Min[0], max(s.Bounds.Min[1], -mercatorEdge), s.Bounds.Max[0], min(s.Bounds.Max[1], mercatorEdge)
	doc["bounds"] = []float64{west, south, east, north}
	zoom := math.Log2(360 / max(east-west, 2*(north-south), 0.01)) // latitudes are stretched, twice at 60 degrees
	doc["center"] = []float64{(west + east) / 2, (south + north) / 2, math.Floor(max(0, min(zoom, tile.MaxLevel)))}
	return doc
}

// mercatorEdge is the latitude where the world of tiles ends.
const mercatorEdge = 85.05112877980659
