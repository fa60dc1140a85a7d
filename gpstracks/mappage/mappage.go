// Package mappage is a page with a map of the public GPS tracks: complete, with MapLibre GL JS
// and its licence built in, and with no request to another host but for the bases that it is
// given. It also shows how a page of another service mounts the layer.
package mappage

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gpstracks/web"
	"github.com/signalbox-dev/signalbox/internal/defaults"
)

//go:embed page
var page embed.FS

//go:embed maplibre pmtiles world
var builtIn embed.FS

// Options of a page. Only Prefix is required.
type Options struct {
	Prefix string // path of the page, which begins and ends with a slash
	API    string `envDefault:"api/gps-tracks"` // address of the list, seen from the page
	Bases  []Base // what people choose from, the first one first; default Plain
	On     bool   // tracks are shown before anybody has ticked their box
}

// Handler serves the page, with all it loads below it.
func Handler(o Options) http.Handler {
	defaults.Fill(&o)
	if len(o.Bases) == 0 {
		o.Bases = []Base{Plain()}
	}
	mux := http.NewServeMux()
	o.Bases = slices.Clone(o.Bases)
	archives := false
	for i := range o.Bases {
		b := &o.Bases[i]
		archives = archives || b.Kind == KindPMTiles
		if b.File != "" {
			b.URL = fmt.Sprintf("base-%d.pmtiles", i)
			mux.HandleFunc("GET "+o.Prefix+b.URL, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/vnd.pmtiles")
				http.ServeFile(w, r, b.File) // ranges of it
			})
		}
	}
	look := template.Must(template.ParseFS(page, "page/index.html"))
	mux.HandleFunc("GET "+o.Prefix+"{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy(o.Bases))
		w.Header().Set("X-Content-Type-Options", "nosniff")
		// servers of tiles want one
		w.Header().Set("Referrer-Policy", "strict-origin-when-cross-origin")
		// a client that has gone away needs no page
		_ = look.Execute(w, map[string]bool{"Archives": archives})
	})
	config, err := json.Marshal(map[string]any{"api": o.API, "bases": o.Bases, "on": o.On})
	mux.HandleFunc("GET "+o.Prefix+"config.json", func(w http.ResponseWriter, _ *http.Request) {
		if err != nil { // strings and booleans always have a JSON form
			http.Error(w, "The page has no settings.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(config) // as above
	})
	for _, name := range []string{"host.js", "style.js", "host.css"} {
		mux.HandleFunc("GET "+o.Prefix+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, page, "page/"+name) })
	}
	mux.Handle("GET "+o.Prefix+"gpstracks/", http.StripPrefix(o.Prefix+"gpstracks/", web.Handler()))
	mux.HandleFunc("GET "+o.Prefix+"world.json", func(w http.ResponseWriter, r *http.Request) { serveBuiltIn(w, r, "world/world.json") })
	for _, dir := range []string{"maplibre/", "pmtiles/"} {
		mux.HandleFunc("GET "+o.Prefix+dir+"{name}", func(w http.ResponseWriter, r *http.Request) { serveBuiltIn(w, r, dir+r.PathValue("name")) })
	}
	return mux
}

// head sets the headers of a file.
func head(w http.ResponseWriter, name string) {
	if strings.HasSuffix(name, "js") {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	w.Header().Set("Cache-Control", "no-cache")
}

// policy is the content security policy of the page with bases.
func policy(bases []Base) string {
	from := map[string]bool{}
	var hosts bytes.Buffer
	for _, b := range bases {
		if host := b.origin(); host != "" && !from[host] {
			from[host] = true
			hosts.WriteString(" " + host)
		}
	}
	return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:" + hosts.String() +
		"; connect-src 'self'" + hosts.String() + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
