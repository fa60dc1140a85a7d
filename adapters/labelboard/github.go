package labelboard

import (
	"net/http"
	"strings"
	"time"
)

// dialect is where the interfaces of the hosts differ.
type dialect struct {
	api      string                             // path of the API below BaseURL, with a slash at its end
	web      func(address string) string        // address of the pages
	size     string                             // parameter for the rows of a page
	rows     int                                // how many there may be
	more     func(h http.Header, rows int) bool // whether there is a page behind one
	whole    bool                               // comments of an issue have no pages
	log      string                             // of an issue's changes, below the issue
	blockers string                             // of an issue's prerequisites, below the issue
	label    func(wireLabel) any                // names a label in a request
	newLabel func(name, colour string) any      // request for a label; the colour is six hexadecimal digits
	move     func(wireEntry) (m move, ok bool)  // of an entry of the log
	hold     time.Duration                      // how long a webhook may wait for its answer
}

// github is the interface of GitHub: labels are called by their names, and a header links the
// next page.
func github() dialect {
	return dialect{
		web: func(address string) string {
			if address == "https://api.github.com" {
				return "https://github.com"
			}
			return strings.TrimSuffix(address, "/api/v3")
		},
		size: "per_page", rows: 100,
		more: func(h http.Header, _ int) bool { return strings.Contains(h.Get("Link"), `rel="next"`) },
		log:  "/events", blockers: "/dependencies/blocked_by",
		hold:     8 * time.Second, // it waits 10 s
		label:    func(l wireLabel) any { return l.Name },
		newLabel: func(name, colour string) any { return map[string]any{"name": name, "color": colour} },
		move: func(e wireEntry) (move, bool) {
			added := e.Event == "labeled"
			moved := move{id: e.ID, label: e.Label.Name, added: added, by: e.Actor.Login, at: e.CreatedAt.Time}
			return moved, added || e.Event == "unlabeled"
		},
	}
}
