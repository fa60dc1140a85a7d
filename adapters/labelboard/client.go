package labelboard

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/tracker"
)

const service = "labelboard"

// Error is an answer of the host that is not a success or cannot be read, or the lack of one. Its cause is
// tracker.ErrNotFound for what the host does not have, or the transport's error.
type Error = restclient.Error

// Issues is how the issues of a git host are reached: the clients of adapters/github and adapters/gitea have it
// in their Issues. The interfaces of the hosts are one but for what the fields behind REST say.
type Issues struct {
	REST     *restclient.Client // signs in as the account of the host's token; nil = there is none
	Web      string             // address of the pages, without a slash at its end
	Habits   signature.Habits   // of the webhooks
	Page     url.Values         // parameters for pages that are as long as they may be
	List     url.Values         // parameters of a list of issues, the newest changes first where the host can
	More     func(h http.Header, rows int) bool
	Whole    bool   // comments of an issue have no pages
	Log      string // of an issue's changes, below the issue
	Blockers string // of an issue's prerequisites, below the issue
	// Label names a label in a request.
	Label func(id int64, name string) any
	// NewLabel is the request for a label; the colour is six hexadecimal digits.
	NewLabel func(name, colour string) any
	HookType string   // that a request for a webhook names; empty = none
	Events   []string // of webhooks that tell of issues
}

// calls makes a host's calls with errors of the board's.
func calls(host *restclient.Client) *restclient.Client {
	own := *host
	own.Service = service
	own.Refuse = func(r restclient.Call, e *Error, resp *http.Response, body []byte) error {
		if err := host.Refuse(r, e, resp, body); err != nil {
			return err
		}
		e.Cause = nil
		switch gone := e.Status == http.StatusNotFound || e.Status == http.StatusGone; {
		case gone && e.Text != "":
			e.Cause = tracker.ErrNotFound
		case gone: // of something in front of the host
			e.What += ": not an address of the API; correct BaseURL"
		}
		return nil
	}
	return &own
}

// unreadable is a success without what was to be read: it is a page of something in front of the host.
func unreadable(path, why string) error {
	return &Error{Service: service, Status: http.StatusOK, What: path + " answers " + why, Again: true}
}

// call calls the host. What goes in and comes out is JSON; nil is neither.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	_, err := c.rest.Do(ctx, restclient.Call{Method: method, Path: path, In: in, Out: out})
	return err
}

// pagesMax bounds a listing.
const pagesMax = 200

// each reads all pages of a list. A part of one would be no list: what is missing could be what counts.
func each[T any](ctx context.Context, c *Client, path string, query url.Values, f func(T)) error {
	q := maps.Clone(c.opt.Issues.Page)
	maps.Copy(q, query)
	for page := 1; page <= pagesMax; page++ {
		q.Set("page", strconv.Itoa(page))
		var rows []T
		head, err := c.rest.Do(ctx, restclient.Call{Method: http.MethodGet, Path: path, Query: q, Out: &rows})
		if err != nil {
			return err
		}
		for _, row := range rows {
			f(row)
		}
		if !c.opt.Issues.More(head, len(rows)) {
			return nil
		}
	}
	return unreadable(path, fmt.Sprintf("with more than %d pages", pagesMax))
}
