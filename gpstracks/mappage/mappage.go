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
	"io/fs"
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
	Prefix   string // path of the page, which begins and ends with a slash
	API      string `envDefault:"api/gps-tracks"` // address of the list, seen from the page
	Bases    []Base // what people choose from, the first one first; default Plain
	On       bool   // tracks are shown before anybody has ticked their box
	MapLibre fs.FS  // dist directory of another MapLibre GL JS 5 or 6, instead of the built-in one
}

// mapLibreFiles lists the files of MapLibre that the page loads: version 6 first, then 5.
var mapLibreFiles = []string{
	"maplibre-gl.css", "maplibre-gl.mjs", "maplibre-gl-shared.mjs", "maplibre-gl-worker.mjs",
	"maplibre-gl-csp.js", "maplibre-gl-csp-worker.js", "LICENSE.txt",
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
		_ = look.Execute(w, map[string]bool{"Five": o.MapLibre != nil && !has(o.MapLibre, "maplibre-gl.mjs"), "Archives": archives})
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
	mux.HandleFunc("GET "+o.Prefix+"world.json", func(w http.ResponseWriter, r *http.Request) {
		serveBuiltIn(w, r, "world/world.json")
	})
	mux.Handle("GET "+o.Prefix+"gpstracks/", http.StripPrefix(o.Prefix+"gpstracks/", web.Handler()))
	for _, name := range []string{"pmtiles.js", "LICENSE.txt", "LICENSE-fflate.txt"} {
		mux.HandleFunc("GET "+o.Prefix+"pmtiles/"+name, func(w http.ResponseWriter,
			r *http.Request) {
			serveBuiltIn(w, r, "pmtiles/"+name)
		})
	}
	for _, name := range mapLibreFiles {
		mux.HandleFunc("GET "+o.Prefix+"maplibre/"+name, func(w http.ResponseWriter, r *http.Request) { o.serveMapLibre(w, r, name) })
	}
	return mux
}

// serveMapLibre serves a file of MapLibre: those that are built in are compressed.
func (o *Options) serveMapLibre(w http.ResponseWriter, r *http.Request, name string) {
	if o.MapLibre != nil {
		head(w, name)
		if !has(o.MapLibre, name) {
			http.NotFound(w, r)
			return
		}
		http.ServeFileFS(w, r, o.MapLibre, name)
		return
	}
	if name == "maplibre-gl-shared.mjs" { // empty in this version
		head(w, name)
		return
	}
	serveBuiltIn(w, r, "maplibre/"+name)
}

// head sets the headers of a file.
func head(w http.ResponseWriter, name string) {
	if strings.HasSuffix(name, "js") {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	w.Header().Set("Cache-Control", "no-cache")
}

func has(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return err == nil
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
