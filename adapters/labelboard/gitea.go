package labelboard

import (
	"net/http"
	"time"
)

// gitea is the interface of Gitea and Forgejo: labels are called by their ids. The server
// bounds the rows of a page by a setting of its own, and not every list has a count or a link:
// only an empty page proves that the one before was the last.
func gitea() dialect {
	return dialect{
		api:  "api/v1/",
		web:  func(address string) string { return address },
		size: "limit", rows: 50,
		more:  func(_ http.Header, rows int) bool { return rows > 0 },
		whole: true,
		log:   "/timeline", blockers: "/dependencies",
		hold:  4 * time.Second, // it waits 5 s
		label: func(l wireLabel) any { return l.ID },
		newLabel: func(name, colour string) any {
			return map[string]any{"name": name, "color": "#" + colour, "exclusive": true}
		},
		move: func(e wireEntry) (move, bool) { // a label that is taken away has no body
			return move{id: e.ID, label: e.Label.Name, added: e.Body == "1", by: e.User.Login, at: e.CreatedAt.Time}, e.Type == "label"
		},
	}
}
