// Package mappage is a page that hosts the layer of public GPS tracks: a map with
// a terrain popup, on a plain style that needs no other server. It shows how a
// page of another service mounts the layer.
package mappage

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/gpstracks/web"
)

//go:embed page
var page embed.FS

// Policy is the content security policy of the page.
const Policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// maplibreFiles are what the page loads of MapLibre: version 6 first, then 5.
var maplibreFiles = []string{
	"maplibre-gl.css", "maplibre-gl.mjs", "maplibre-gl-shared.mjs", "maplibre-gl-worker.mjs",
	"maplibre-gl-csp.js", "maplibre-gl-csp-worker.js",
}

// Handler serves the page at the path prefix, which begins and ends with a
// slash, with its scripts below. The tracks are read from api/gps-tracks below the
// prefix. maplibre is the dist directory of MapLibre GL JS 5 or 6; without it
// (nil) the page says what is missing.
func Handler(prefix string, maplibre fs.FS) http.Handler {
	mux := http.NewServeMux()
	look := template.Must(template.ParseFS(page, "page/index.html"))
	mux.HandleFunc("GET "+prefix+"{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", Policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_ = look.Execute(w, map[string]bool{"Map": has(maplibre, "maplibre-gl.css"), "Five": !has(maplibre, "maplibre-gl.mjs")}) // a client that has gone away needs no page
	})
	for _, name := range []string{"host.js", "style.js", "host.css"} {
		mux.HandleFunc("GET "+prefix+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, page, "page/"+name) })
	}
	mux.Handle("GET "+prefix+"gpstracks/", http.StripPrefix(prefix+"gpstracks/", web.Handler()))
	for _, name := range maplibreFiles {
		mux.HandleFunc("GET "+prefix+"maplibre/"+name, func(w http.ResponseWriter, r *http.Request) {
			if !has(maplibre, name) {
				http.NotFound(w, r)
				return
			}
			if strings.HasSuffix(name, "js") {
				w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			}
			http.ServeFileFS(w, r, maplibre, name)
		})
	}
	return mux
}

func has(files fs.FS, name string) bool {
	if files == nil {
		return false
	}
	_, err := fs.Stat(files, name)
	return err == nil
}
