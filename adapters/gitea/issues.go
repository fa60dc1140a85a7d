package gitea

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
)

// Issues is how a board of labels reaches the server's issues. Labels are called by their ids. The server
// bounds the rows of a page by a setting of its own, and not every list has a count or a link: only an
// empty page proves that the one before was the last.
func (c *Client) Issues() labelboard.Issues {
	return labelboard.Issues{
		REST: c.rest, Web: c.base.String(), Habits: c.Habits(),
		Page:  url.Values{"limit": {strconv.Itoa(pageSize)}},
		More:  func(_ http.Header, rows int) bool { return rows > 0 },
		List:  url.Values{"state": {"all"}, "type": {"issues"}},
		Whole: true, Log: "/timeline", Blockers: "/dependencies",
		Label: func(id int64, _ string) any { return id },
		NewLabel: func(name, colour string) any {
			return map[string]any{"name": name, "color": "#" + colour, "exclusive": true}
		},
		HookType: "gitea", Events: []string{"issues", "issue_label", "issue_comment"},
	}
}
