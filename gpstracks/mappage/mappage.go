// Package mappage is a page with a map of the public GPS tracks: complete, with MapLibre GL JS
// and its licence built in, and with no request to another host but for the bases that it is
// given. It also shows how a page of another service mounts the layer.
package mappage

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks/web"
	"github.com/signalbox-dev/signalbox/internal/defaults"
)

//go:embed page
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
	for i := range o.Bases {
		b := &o.Bases[i]
		if b.File != "" {
			b.URL = fmt.Sprintf("base-%d.pmtiles", i)
			mux.HandleFunc("GET "+o.Prefix+b.URL, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/vnd.pmtiles")
				http.ServeFile(w, r, b.File) // ranges of it
			})
		}
	}
	mux.HandleFunc("GET "+o.Prefix+"{name...}", func(w http.ResponseWriter, r *http.Request) {
		name, header := cmp.Or(r.PathValue("name"), "index.html"), w.Header()
		if name == "index.html" { // pages of others may have MapLibre's worker from here, for tiles of any origin
			header.Set("Content-Security-Policy", policy(o.Bases))
			header.Set("X-Content-Type-Options", "nosniff")
			// servers of tiles want one
			header.Set("Referrer-Policy", "strict-origin-when-cross-origin")
		}
		serve(w, r, "page/"+name)
	})
	mux.HandleFunc("GET "+o.Prefix+"config.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-cache")
		// a client that has gone away needs none
		_ = json.NewEncoder(w).Encode(map[string]any{"api": o.API, "bases": o.Bases, "on": o.On})
	})
	mux.Handle("GET "+o.Prefix+"gpstracks/", http.StripPrefix(o.Prefix+"gpstracks/", web.Handler()))
	return mux
}

// serve serves a file that is built in as it is kept, or unpacked to a client that takes no gzip.
func serve(w http.ResponseWriter, r *http.Request, name string) {
	header := w.Header()
	body, err := builtIn.ReadFile(name + ".gz")
	zipped := err == nil
	if !zipped {
		if body, err = builtIn.ReadFile(name); err != nil {
			http.NotFound(w, r)
			return
		}
	}
	sum := sha256.Sum256(body)
	header.Set("ETag", `W/"`+hex.EncodeToString(sum[:12])+`"`)
	header.Set("Cache-Control", "no-cache")
	if strings.HasSuffix(name, "js") {
		header.Set("Content-Type", "text/javascript; charset=utf-8")
	}
	if zipped {
		header.Add("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			header.Set("Content-Encoding", "gzip")
		} else if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(z) // vendor.sh has written it, and tests have read it
		}
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}

// policy is the content security policy of the page with bases.
func policy(bases []Base) string {
	from := "'self'"
	for _, b := range bases {
		from = strings.TrimSpace(from + " " + b.origin())
	}
	return "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src data: blob: " + from +
		"; connect-src " + from + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
