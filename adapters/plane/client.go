package plane

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/tracker"
)

const service = "plane"

// timeout bounds one request, its answer included.
const timeout = 20 * time.Second

type answer = restclient.Error

// Error is an answer of Plane that is not a success or cannot be read, or the lack of one. Its cause is
// tracker.ErrNotFound for what Plane does not have, or the transport's error.
type Error struct {
	answer
	ID       string // of what exists already, with 409
	unserved bool   // Plane itself says that it has no such address
}

// unreadable is a success of Plane without what was to be read.
func unreadable(path, why string) error {
	return &Error{answer: answer{Service: service, Status: http.StatusOK, What: shorten(path) + " answers " + why, Again: true}}
}

// call is one request.
type call struct {
	method, path string // GET without one; below /api/v1/, with a slash at the end
	query        url.Values
	token        string
	in, out      any
	again        bool // idempotent although it writes
	once         bool // but not while an attempt may be under way
}

// call makes a call when its turn has come.
func (c *Client) call(ctx context.Context, r call) error {
	r.method, r.token = cmp.Or(r.method, http.MethodGet), cmp.Or(r.token, c.opt.Token)
	if err := c.admit(ctx, r); err != nil {
		return err
	}
	may := restclient.Never
	switch {
	case r.once && r.again:
		may = restclient.Answered
	case allowance.Of(ctx) == allowance.Retry:
	case r.again || r.method == http.MethodGet:
		may = restclient.Always
	}
	_, err := c.rest.Do(ctx, restclient.Call{
		Method: r.method, Path: r.path, What: r.method + " " + shorten(r.path), Query: r.query, Token: r.token,
		In: r.in, Out: r.out, Retry: may,
	})
	var failed *restclient.Error
	if errors.As(err, &failed) {
		return &Error{answer: *failed}
	}
	return err
}

// noRoute holds Plane's words for an address that it does not serve. It must not
// be taken for a work item that is gone, and nor must a proxy's 404.
const noRoute = "Page not found."

// refuse makes the error of an answer that is no success.
func refuse(r restclient.Call, said *restclient.Error, resp *http.Response, body []byte) error {
	e := &Error{answer: *said}
	e.What = r.What + ": " + resp.Status
	var more struct {
		ID, Detail, Error string
		Message           string   `json:"error_message"`
		Fields            []string `json:"non_field_errors"`
	}
	readable := json.Unmarshal(body, &more) == nil
	e.ID = more.ID
	for _, text := range append(append(more.Fields, more.Detail, more.Error, more.Message), ofFields(body)...) {
		if text != "" {
			e.What += ": " + restclient.Words(text)
		}
	}
	switch e.Status {
	case http.StatusNotFound:
		if id, is := wrongID(r.Path); is && more.Error == noRoute {
			e.What += fmt.Sprintf(": %q is not the id of a project, which is a UUID, as in the address of its pages (/projects/<id>/)", id)
			break
		}
		if item := itemOf(r.Path); more.Error == noRoute && item != "" && !uuid.MatchString(item) {
			e.Cause = tracker.ErrNotFound // Plane serves work items, and no id has that form
			break
		}
		if !readable || more.Error == noRoute {
			e.What += ": not an address of Plane's API; BaseURL must be the server's address without /api, and Plane 1.1 or newer"
			e.unserved = readable
			break
		}
		e.Cause = tracker.ErrNotFound
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		e.What += " to " + resp.Header.Get("Location") + ": BaseURL must be the address that Plane itself answers at"
	}
	return e
}

// wrongID is the id of the project in a path when it has not the form of one.
func wrongID(path string) (id string, is bool) {
	_, rest, _ := strings.Cut(path, "/projects/")
	id, _, inside := strings.Cut(rest, "/")
	text, err := url.PathUnescape(id)
	return text, inside && (err != nil || !uuid.MatchString(text))
}

// uuid is the form of Plane's ids.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// ofFields returns what Plane says of single fields, as in {"state": ["Invalid pk …"]}.
func ofFields(body []byte) (out []string) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(body, &all) // what cannot be read says nothing
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var list []string
		if name != "non_field_errors" && json.Unmarshal(all[name], &list) == nil && len(list) > 0 {
			out = append(out, name+": "+strings.Join(list, " "))
		}
	}
	return out[:min(len(out), 5)]
}

// shorten keeps the end of a path, which names the resource.
func shorten(path string) string {
	if _, rest, ok := strings.Cut(path, "/projects/"); ok {
		return rest
	}
	return path
}

// page is one page of a list. Next is always set; More reports whether it counts.
type page[T any] struct {
	Next    string `json:"next_cursor"`
	More    bool   `json:"next_page_results"`
	Total   int    `json:"total_count"`
	Results []T
}

// pagesMax bounds a listing.
const pagesMax = 200

// each reads all pages of a list.
func each[T any](ctx context.Context, c *Client, path string, f func(T)) error {
	values := url.Values{"per_page": {"100"}}
	for range pagesMax {
		var p page[T]
		if err := c.call(ctx, call{path: path, query: values, out: &p}); err != nil {
			return err
		}
		if p.Results == nil {
			return unreadable(path, "without results")
		}
		for _, v := range p.Results {
			f(v)
		}
		if !p.More {
			return nil
		}
		values.Set("cursor", p.Next)
	}
	return unreadable(path, fmt.Sprintf("with more than %d pages", pagesMax))
}
