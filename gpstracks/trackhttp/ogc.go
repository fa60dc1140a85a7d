package trackhttp

import (
	"bytes"
	_ "embed" // ogc.json
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// The tracks as OGC API Features, Part 1: Core, which GIS programs open by its landing page. There
// is one collection, and its items are GeoJSON with every point.

const (
	ogcPath   = "/ogc" // below Prefix
	itemsPath = "/collections/tracks/items"
	crs84     = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
	geoJSON   = "application/geo+json"
)

// ogcLink is a link of a document.
type ogcLink struct {
	Href  string `json:"href"`
	Rel   string `json:"rel"`
	Type  string `json:"type,omitempty"`
	Title string `json:"title,omitempty"`
}

// ogc answers a path below the landing page.
func (h *Handler) ogc(w http.ResponseWriter, r *http.Request, path string) {
	root, ok := h.base(w, r)
	if !ok {
		return
	}
	root += h.o.Prefix + ogcPath
	item, isItem := strings.CutPrefix(path, itemsPath+"/")
	switch {
	case path == itemsPath:
		h.items(w, r, root)
		return
	case isItem:
		h.item(w, r, root, item)
		return
	case r.URL.RawQuery != "" && r.URL.RawQuery != "f=json" && r.URL.RawQuery != "f=html":
		problem(w, http.StatusBadRequest, "query", "This document takes no parameters.")
		return
	}
	switch path {
	case "", "/":
		h.landing(w, r, root)
	case "/conformance":
		const classes = "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/"
		h.sendJSON(w, r, "application/json", map[string]any{"conformsTo": []string{classes + "core", classes + "geojson"}})
	case "/api":
		h.sendJSON(w, r, openAPI, with(definition, "servers", []any{map[string]any{"url": root}}))
	case "/collections", "/collections/tracks":
		h.collections(w, r, root, path)
	default:
		notFound(w)
	}
}

// landingPage is the landing page as people read it.
const landingPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.title}}</title>
<h1>{{.title}}</h1><p>{{.description}} Open this address in QGIS or another program as OGC API Features.</p>
<ul>{{range .links}}<li><a href="{{.Href}}">{{.Title}}</a></li>{{end}}</ul></html>
`

// landing answers the landing page: to browsers, which prefer it, as HTML.
func (h *Handler) landing(w http.ResponseWriter, r *http.Request, root string) {
	links := []ogcLink{
		{root, "self", "application/json", "This document"},
		{root + "?f=html", "alternate", "text/html", "This document as HTML"},
		{root + "/api", "service-desc", openAPI, "Its definition"},
		{root + "/conformance", "conformance", "application/json", "What it conforms to"},
		{root + "/collections", "data", "application/json", "The collections"},
	}
	doc := map[string]any{"title": "Public GPS tracks", "description": "Tracks that people have recorded and made public.", "links": links}
	w.Header().Add("Vary", "Accept")
	accept, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	if r.URL.RawQuery == "f=json" || r.URL.RawQuery == "" && accept != "text/html" {
		h.sendJSON(w, r, "application/json", doc)
		return
	}
	var page bytes.Buffer
	if err := template.Must(template.New("landing").Parse(landingPage)).Execute(&page, doc); err != nil {
		h.failed(w, r, "the landing page", err)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.send(w, r, "text/html; charset=utf-8", page.Bytes())
}

// collections answers the one collection, alone or as a list.
func (h *Handler) collections(w http.ResponseWriter, r *http.Request, root, path string) {
	s, err := h.summary(r.Context())
	if err != nil {
		h.failed(w, r, "the collections", err)
		return
	}
	one := map[string]any{
		"id": "tracks", "title": "Public GPS tracks", "attribution": attribution(s.Attributions), "itemType": "feature",
		"crs":    []string{crs84},
		"extent": map[string]any{"spatial": map[string]any{"bbox": []any{TileJSON(s, "")["bounds"]}, "crs": crs84}},
	}
	links := []ogcLink{{root + "/collections/tracks", "self", "application/json", ""}, {root + itemsPath, "items", geoJSON, "The tracks"}}
	for _, source := range *h.sources.Load() {
		if link := (ogcLink{source.LicenceURL, "license", "text/html", source.Licence}); link.Href != "" && !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	one["links"] = links
	if path == "/collections/tracks" {
		h.sendJSON(w, r, "application/json", one)
		return
	}
	h.sendJSON(w, r, "application/json", map[string]any{"collections": []any{one},
		"links": []ogcLink{{root + "/collections", "self", "application/json", ""}}})
}

// items answers tracks as features, the longest first.
func (h *Handler) items(w http.ResponseWriter, r *http.Request, root string) {
	raw, values, err := itemsQuery(r.URL.RawQuery)
	var q query
	if err == nil {
		q, err = h.parseQuery(raw.Encode(), "limit", "cursor", "activity", "source")
	}
	if box := values.Get("bbox"); err == nil && box != "" {
		parts := strings.Split(box, ",")
		if len(parts) == 6 { // with heights
			parts = slices.Concat(parts[:2], parts[3:5])
		}
		q.filter.Bounds, err = parseBox(strings.Join(parts, ","))
	}
	var during interval
	if err == nil {
		during, err = parseInterval(values.Get("datetime"))
	}
	if err != nil {
		problem(w, http.StatusBadRequest, "query", err.Error())
		return
	}
	c := codingOf(r)
	if h.listed(w, r, c) {
		return
	}
	l := &lister{w: w, r: r, coding: c, buffer: []byte(`{"type":"FeatureCollection","features":[`)}
	if values.Get("datetime") != "" {
		l.passes = during.meets
	}
	here := root + itemsPath
	l.tail = func(b []byte) []byte {
		links := []ogcLink{{address(here, r.URL.RawQuery), "self", geoJSON, ""},
			{root + "/collections/tracks", "collection", "application/json", ""}}
		if l.truncated && l.last.ID > 0 {
			on := r.URL.Query()
			on.Set("cursor", formatCursor(l.last))
			links = append(links, ogcLink{address(here, on.Encode()), "next", geoJSON, ""})
		}
		return appendLinks(append(b, ','), links)
	}
	l.run(h, q)
}

// itemsQuery divides the parameters into those that the list has too and others. A limit that is too
// large is the largest one, as the standard has it.
func itemsQuery(query string) (lists, values url.Values, err error) {
	if values, err = url.ParseQuery(query); err != nil {
		return nil, nil, badQuery("The query is not a valid one.")
	}
	lists = url.Values{}
	for name, given := range values {
		switch {
		case name == "bbox" || name == "datetime":
			if len(given) > 1 {
				return nil, nil, badQuery("The parameter " + name + " is given more than once.")
			}
		case slices.Contains([]string{"limit", "cursor", "activity", "source"}, name):
			lists[name] = given
		case name != "f":
			return nil, nil, badQuery("A parameter is unknown. Known are: bbox, datetime, limit, cursor, activity, source, f.")
		}
	}
	if n, ok := whole(lists.Get("limit"), 12); ok && n > maxLimit {
		lists.Set("limit", strconv.Itoa(maxLimit))
	}
	return lists, values, nil
}

func address(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}

func appendLinks(b []byte, links []ogcLink) []byte {
	text, _ := json.Marshal(links) // texts always have a JSON form
	return append(append(b, `"links":`...), text...)
}

// item answers one track.
func (h *Handler) item(w http.ResponseWriter, r *http.Request, root, name string) {
	t, ok := h.read(w, r, name)
	if !ok {
		return
	}
	body := append(bytes.TrimSuffix(h.feature(&t, h.source(t.Source)), []byte("}\n")), ',')
	body = appendLinks(body, []ogcLink{{root + itemsPath + "/" + name, "self", geoJSON, ""},
		{root + "/collections/tracks", "collection", "application/json", ""}})
	h.send(w, r, geoJSON, append(body, "}\n"...))
}

// interval is a time from and to, each zero if it is open.
type interval struct{ from, to time.Time }

// parseInterval reads a time or a/b, where .. or nothing stands for an open end.
func parseInterval(text string) (v interval, err error) {
	wrong := badQuery("The parameter datetime is neither a time of RFC 3339, nor two with / between, of which one may be ...")
	from, to, isRange := strings.Cut(text, "/")
	switch {
	case text == "":
		return v, nil
	case strings.Trim(text, "./") == "": // open at both ends
		return v, wrong
	case !isRange:
		to = from
	}
	for i, end := range []string{from, to} {
		if end == "" || end == ".." {
			continue
		}
		at, err := time.Parse(time.RFC3339, end)
		if err != nil {
			if at, err = time.Parse(time.DateOnly, end); err != nil {
				return v, wrong
			}
			if i == 1 {
				at = at.Add(24*time.Hour - time.Nanosecond)
			}
		}
		if i == 0 {
			v.from = at
		} else {
			v.to = at
		}
	}
	if !v.from.IsZero() && !v.to.IsZero() && v.to.Before(v.from) {
		return v, wrong
	}
	return v, nil
}

// meets reports a track of that time; one of no time that is known is of every time.
func (v interval) meets(t *gpstracks.Track) bool {
	from, to := t.StartedAt, t.EndedAt
	if from.IsZero() {
		from, to = t.RecordedOn, t.RecordedOn.Add(24*time.Hour-time.Nanosecond)
	}
	return t.StartedAt.IsZero() && t.RecordedOn.IsZero() || (v.to.IsZero() || !from.After(v.to)) && (v.from.IsZero() || !to.Before(v.from))
}

// openAPI is the media type of a definition.
const openAPI = "application/vnd.oai.openapi+json;version=3.0"

// definition describes the addresses in OpenAPI 3.0, but for their server.
//
//go:embed ogc.json
var definition []byte
