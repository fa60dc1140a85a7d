package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"time"
)

//go:embed assets pages
var files embed.FS

// asset is an embedded file, named by what it holds.
type asset struct {
	body []byte
	tag  string
	kind string
}

// load reads templates and assets.
func (s *server) load() error {
	kinds := map[string]string{
		"dash.js":   "text/javascript; charset=utf-8",
		"cards.js":  "text/javascript; charset=utf-8",
		"follow.js": "text/javascript; charset=utf-8",
		"keys.js":   "text/javascript; charset=utf-8",
		"dash.css":  "text/css; charset=utf-8",
		"icon.svg":  "image/svg+xml",
	}
	for name, kind := range kinds {
		body, err := files.ReadFile("assets/" + name)
		if err != nil {
			return err
		}
		s.assets[name] = asset{body, fmt.Sprintf("%.8x", sha256.Sum256(body)), kind}
	}
	shared := []string{"pages/layout.html", "pages/parts.html", "pages/steps.html", "pages/cardparts.html"}
	base, err := template.New("").Funcs(s.funcs()).ParseFS(files, shared...)
	if err != nil {
		return err
	}
	for _, name := range []string{
		"board", "queue", "task", "run", "repos", "cost", "history", "journal", "moment", "session", "arrived", "confirm", "failed",
		"cards", "card", "cardform", "unsent", "document", "review", "line",
	} {
		clone, err := base.Clone()
		if err != nil {
			return err
		}
		if s.pages[name], err = clone.ParseFS(files, "pages/"+name+".html"); err != nil {
			return err
		}
	}
	return nil
}

// asset serves a file; a browser may keep it for a year when the request names its
// tag, else it has to check again each time.
func (s *server) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("ETag", `"`+a.tag+`"`)
	w.Header().Set("Content-Type", a.kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}
