// Package trackhttp serves tracks to maps: a list as GeoJSON, vector tiles,
// their TileJSON and a style, OGC API Features, the health of the layer, and a way to clear its cache. A
// Handler is mounted in any net/http server:
//
//	mux.Handle("/api/gps-tracks", h)
//	mux.Handle("/api/gps-tracks/", h)
//
// Refusals are problem documents (RFC 9457) that never repeat what was sent.
package trackhttp

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/defaults"
)

// Source is a source as health reports it.
type Source struct {
	Name     string `json:"name"`
	Enabled  bool   `json:"enabled"`
	Decision string `json:"decision"` // status of its decision record: others than accepted are not shown; "" if nobody keeps such: shown

	Licence    string `json:"licence,omitempty"`
	LicenceURL string `json:"licence_url,omitempty"`
	Download   bool   `json:"download,omitempty"` // the licence allows files of its tracks
}

// Options of a Handler. Only Store and Tiles are required.
type Options struct {
	Store        gpstracks.Store
	Tiles        tile.Source
	Runs         gpstracks.RunStore // of the collector, for health
	Sources      []Source           // if given, another name in a filter is refused; see SetSources
	Prefix       string             `envDefault:"/api/gps-tracks"` // path of the list
	BaseURL      string             `env:"GPS_BASE_URL" form:"url" doc:"address of this server as maps reach it, for tiles.json, style.json and ogc; unset: the host that was asked"`
	ClearToken   string             // bearer token of cache/clear; without one nobody may
	AllowOrigins []string           `env:"GPS_CORS_ORIGINS" doc:"pages that may read tracks, as https://example.org,… or * for all"`
	AllowHeaders []string           // that pages of AllowOrigins may send beside If-None-Match, such as Authorization
	Private      bool               // answers are kept by the client alone, and pages of named origins may send cookies: behind a login
	TileMaxAge   time.Duration      `env:"GPS_TILE_MAX_AGE" envDefault:"5m" doc:"how long a map may keep a tile"`
	Limits       tile.Limits
	// CacheTiles take Limits.Bytes each at most, and much less when compressed.
	CacheTiles int          `env:"GPS_CACHE_TILES" envDefault:"1024" min:"1" doc:"tiles that are kept in memory"`
	Encoders   int          // tiles made at a time; default one a processor
	ListBytes  int          `envDefault:"4194304"` // length at which a list ends, before compression
	Log        *slog.Logger // nil discards
}

// Handler serves one layer. It is safe for concurrent use.
type Handler struct {
	o     Options
	cache *cache
	maker *maker

	sources  atomic.Pointer[[]Source]
	overview overview
}

// New makes a handler. Its error names the option that is wrong.
func New(o Options) (*Handler, error) {
	switch {
	case o.Store == nil:
		return nil, errors.New("trackhttp: Options.Store is missing: pass the store that the list is read from")
	case o.Tiles == nil:
		return nil, errors.New("trackhttp: Options.Tiles is missing: pass the source of tiles, often the same value as Store")
	case o.TileMaxAge < 0, o.CacheTiles < 0, o.Encoders < 0, o.ListBytes < 0:
		return nil, errors.New("trackhttp: TileMaxAge, CacheTiles, Encoders and ListBytes of Options cannot be negative: leave them 0 " +
			"for their defaults")
	case o.Prefix != "" && (!strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/")):
		return nil, errors.New("trackhttp: Options.Prefix must begin with a slash and not end with one")
	}
	if u, err := url.Parse(o.BaseURL); o.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return nil, errors.New("trackhttp: Options.BaseURL is not an address: write it like https://example.org")
	}
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	defaults.Fill(&o)
	o.Encoders = cmp.Or(o.Encoders, runtime.GOMAXPROCS(0))
	tiles, err := lru.New[key, *entry](o.CacheTiles)
	if err != nil {
		return nil, err
	}
	c := &cache{tiles: tiles, capacity: o.CacheTiles}
	h := &Handler{o: o, cache: c, maker: newMaker(o, c)}
	h.sources.Store(&o.Sources)
	return h, nil
}

// SetSources replaces Options.Sources. Tracks of one whose Decision is neither accepted nor empty are in no
// answer from then on.
func (h *Handler) SetSources(sources []Source) {
	if !slices.Equal(*h.sources.Load(), sources) {
		h.sources.Store(&sources)
		h.cache.clear()
	}
}

// withheld are the sources whose tracks are not shown.
func (h *Handler) withheld() (names []string) {
	for _, s := range *h.sources.Load() {
		if s.Decision != accepted && s.Decision != "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// accepted is the decision that lets tracks be shown.
const accepted = "accepted"

// Invalidate removes from the cache the tiles that touch any of the bounds: call
// it with what gpstracks.Store reports as changed.
func (h *Handler) Invalidate(changed ...orb.Bound) {
	if len(changed) > 0 {
		h.cache.forget(changed)
	}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	h.origin(w, r)
	path, ok := strings.CutPrefix(r.URL.Path, h.o.Prefix)
	if !ok || path != "" && path[0] != '/' {
		notFound(w)
		return
	}
	path = strings.TrimPrefix(path, "/")
	if r.Method == http.MethodOptions {
		h.preflight(w)
		return
	}
	answer, method := h.route(path), http.MethodGet
	if path == "cache/clear" {
		answer, method = h.clear, http.MethodPost
	}
	switch {
	case answer == nil:
		notFound(w)
	case method == http.MethodPost && allowed(w, r, method), method == http.MethodGet && allowed(w, r, method, http.MethodHead):
		answer(w, r)
	}
}

// route finds what answers a path below the prefix.
func (h *Handler) route(path string) http.HandlerFunc {
	first, rest, deeper := strings.Cut(path, "/")
	below := func(answer func(http.ResponseWriter, *http.Request, string), rest string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { answer(w, r, rest) }
	}
	tile, isTile := strings.CutSuffix(rest, ".mvt")
	switch {
	case first == "ogc":
		return below(h.ogc, strings.TrimPrefix(path, "ogc"))
	case first == "tracks" && deeper:
		return below(h.track, rest)
	case first == "tiles" && isTile:
		return below(h.tile, tile)
	}
	return map[string]http.HandlerFunc{
		"": h.list, "health": h.health, "tiles.json": h.tileJSON, "style.json": h.style,
		"openapi.json": func(w http.ResponseWriter, r *http.Request) { h.send(w, r, "application/json", description) },
	}[path]
}

func allowed(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	problem(w, http.StatusMethodNotAllowed, "method", "This address takes "+strings.Join(methods, " and ")+" only.")
	return false
}

func notFound(w http.ResponseWriter) {
	problem(w, http.StatusNotFound, "not-found", "There is nothing here. The layer has its list, tracks/{id}, tiles/{z}/{x}/{y}.mvt, "+
		"tiles.json, style.json, ogc, health, openapi.json and cache/clear.")
}

// droppedHeader is the header with how many tracks a tile leaves out because of its limits.
const droppedHeader = "Gps-Tracks-Dropped"

// origin lets pages of other origins read, where that is switched on.
func (h *Handler) origin(w http.ResponseWriter, r *http.Request) {
	if len(h.o.AllowOrigins) == 0 {
		return
	}
	if slices.Contains(h.o.AllowOrigins, "*") {
		w.Header().Set("Access-Control-Allow-Origin", "*")
	} else {
		w.Header().Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !slices.Contains(h.o.AllowOrigins, origin) {
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", origin)
		if h.o.Private { // a login's cookie may come along
			w.Header().Set("Access-Control-Allow-Credentials", "true")
		}
	}
	w.Header().Set("Access-Control-Expose-Headers", "ETag, "+droppedHeader)
}

func (h *Handler) preflight(w http.ResponseWriter) {
	w.Header().Set("Allow", "GET, HEAD, POST, OPTIONS")
	if w.Header().Get("Access-Control-Allow-Origin") != "" {
		w.Header().Set("Access-Control-Allow-Methods", "GET, HEAD")
		w.Header().Set("Access-Control-Allow-Headers", strings.Join(append([]string{"If-None-Match"}, h.o.AllowHeaders...), ", "))
		w.Header().Set("Access-Control-Max-Age", "86400")
	}
	w.WriteHeader(http.StatusNoContent)
}
