// Package web is the layer of public GPS tracks for the browser: ES modules and a
// style sheet, written by hand and embedded as they are. They import nothing from
// elsewhere; the page gives MapLibre GL JS, version 5 or 6:
//
//	import * as maplibregl from './maplibre-gl.mjs'
//	import { PublicTracksLayer } from './gpstracks/gpstracks.js'
//	import { mountControls } from './gpstracks/controls.js'
//
//	const layer = new PublicTracksLayer({ map, Popup: maplibregl.Popup, baseURL: 'api/gps-tracks' })
//	mountControls(layer, document.querySelector('#terrain'))
//
// A policy of script-src 'self', style-src 'self' and connect-src 'self' is
// enough for them. types.d.ts describes the options.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed *.js *.css *.d.ts
var files embed.FS

// Files are the modules, the style sheet and the types, by name.
func Files() fs.FS { return files }

// Handler serves the files by their names, wherever it is mounted:
//
//	mux.Handle("/map/gpstracks/", http.StripPrefix("/map/gpstracks/", web.Handler()))
//
// Modules go out without their comments and indents. A browser keeps a file and revalidates
// it (ETag).
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "These files can only be read.", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		body, err := files.ReadFile(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		kind := "text/plain"
		switch path.Ext(name) {
		case ".js":
			kind, body = "text/javascript", bare(body)
		case ".css":
			kind = "text/css"
		}
		sum := sha256.Sum256(body)
		header := w.Header()
		header.Set("Content-Type", kind+"; charset=utf-8")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	})
}

// comments are documentation, and what follows // after a space. No text of the
// modules looks like one.
var comments = regexp.MustCompile(`(?s:/\*\*.*?\*/ ?)|(?m:(?:^|[ \t])// .*$)`)

// breaks are the ends of lines with empty lines and indents.
var breaks = regexp.MustCompile(`\s*\n\s*`)

// bare is a module without comments, indents and empty lines. No text of the modules goes over more than one line.
func bare(module []byte) []byte {
	return breaks.ReplaceAll(comments.ReplaceAll(module, nil), []byte("\n"))
}
