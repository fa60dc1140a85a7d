package github

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

// Issues is how a board of labels reaches GitHub's issues: labels are called by their names, and a header
// links the next page. An app has none: its installations have no account to recognise its comments by.
func (c *Client) Issues() labelboard.Issues {
	base := strings.TrimSuffix(c.api.BaseURL.String(), "/")
	out := labelboard.Issues{
		Web: strings.TrimSuffix(strings.Replace(base, "//api.github.com", "//github.com", 1), "/api/v3"), Habits: c.Habits(),
		Page: url.Values{"per_page": {"100"}},
		List: url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"desc"}},
		More: func(h http.Header, _ int) bool { return strings.Contains(h.Get("Link"), `rel="next"`) },
		Log:  "/events", Blockers: "/dependencies/blocked_by",
		Label:    func(_ int64, name string) any { return name },
		NewLabel: func(name, colour string) any { return map[string]any{"name": name, "color": colour} },
		Events:   []string{"issues", "issue_comment"},
	}
	if c.app == nil {
		out.REST = &restclient.Client{
			Service: service, Base: base, HTTP: c.api.Client(), Now: c.opt.Now, Refuse: c.refuse,
			Sign: func(*http.Request, string) {}, // its transport does
		}
	}
	return out
}

// refuse completes the error of an answer that is no success, as those of go-github are made.
func (c *Client) refuse(r restclient.Call, e *Error, resp *http.Response, body []byte) error {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var made *Error
	err := c.convert(resp.Request.Context(), r.What, gh.CheckResponse(resp))
	if !errors.As(err, &made) {
		return err
	}
	made.Service, made.Text = e.Service, e.Text
	*e = *made
	return nil
}
