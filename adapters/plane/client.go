package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
)

// bodyMax bounds an answer, in bytes.
const bodyMax = 16 << 20

// retryKey marks requests that may be made again, with a retry.
type retryKey struct{}

// retry is when a request may be made again at once.
type retry int

// Values of retry.
const (
	never    retry = iota
	answered       // after a failure that the server has reported
	always
)

// timeout bounds one request, its answer included.
const timeout = 20 * time.Second

// transport makes the HTTP client: redirects are refused (a redirected POST
// would become a GET), and what is safe is tried a second and third time.
func transport(given *http.Client, m metered) *http.Client {
	if given == nil {
		given = &http.Client{}
	}
	own := *given
	if m.RoundTripper = own.Transport; m.RoundTripper == nil {
		m.RoundTripper = http.DefaultTransport
	}
	own.Transport = m
	if own.Timeout <= 0 {
		own.Timeout = timeout
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	rc := retryablehttp.NewClient()
	rc.HTTPClient, rc.Logger = &own, nil
	rc.RetryMax, rc.RetryWaitMin, rc.RetryWaitMax = 2, 100*time.Millisecond, time.Second
	rc.ErrorHandler = giveUp
	rc.CheckRetry, rc.Backoff = checkRetry, backoff
	out := rc.StandardClient()
	out.CheckRedirect = own.CheckRedirect
	return out
}

// giveUp returns what came last. An answer beside an error, which the end of the context is, is
// nobody's to read.
func giveUp(resp *http.Response, err error, _ int) (*http.Response, error) {
	if err != nil && resp != nil {
		_ = resp.Body.Close()
		resp = nil
	}
	return resp, err
}

// backoff doubles the wait. The library's own would sleep for as long as a
// Retry-After says, which is for the caller's queue to do.
func backoff(shortest, longest time.Duration, attempt int, _ *http.Response) time.Duration {
	return min(shortest<<min(attempt, 10), longest)
}

// checkRetry tries again at once only what is safe and may pass quickly: a
// request to wait is for the caller's queue.
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true, nil // nothing was sent
	}
	may, _ := ctx.Value(retryKey{}).(retry)
	if may == never || may == answered && err != nil {
		return false, nil
	}
	return err != nil || resp.StatusCode >= 500 && resp.Header.Get("Retry-After") == "", nil
}

// Error is an answer of Plane that is not a success or cannot be read, or the lack
// of one.
type Error struct {
	Status   int    // HTTP status; 0 when there was no answer
	ID       string // of what exists already, with 409
	what     string
	unserved bool // Plane itself says that it has no such address
	after    time.Duration
	cause    error
}

// Error names the call and what was answered.
func (e *Error) Error() string { return "plane: " + e.what }

// Unwrap gives tracker.ErrNotFound for a 404, or the transport's error.
func (e *Error) Unwrap() error { return e.cause }

// Retryable and RetryAfter implement the contract of package fault.
func (e *Error) Retryable() bool { return fault.Passes(e.Status) }

// RetryAfter is the wait that Plane requires; 0 when it names none.
func (e *Error) RetryAfter() time.Duration { return e.after }

// unreadable is a success of Plane without what was to be read.
func unreadable(path, why string) error {
	return &Error{Status: http.StatusOK, what: shorten(path) + " answers " + why}
}

// call is one request.
type call struct {
	method, path string // below /api/v1/, with a slash at the end
	query        url.Values
	token        string
	in, out      any
	again        bool // idempotent although it writes
	once         bool // but not while an attempt may be under way
	listing      bool // of a whole project
	priority     priority
}

func (c *Client) call(ctx context.Context, r call) error {
	if r.token == "" {
		r.token = c.opt.Token
	}
	r.priority = c.priorityOf(r)
	err := c.answer(ctx, r)
	if r.method == http.MethodGet && ctx.Err() == nil {
		c.unanswered.note(itemOf(r.path), err)
	}
	return err
}

// answer makes a call when its turn has come.
func (c *Client) answer(ctx context.Context, r call) error {
	if err := c.admit(ctx, r); err != nil {
		return err
	}
	req, err := c.request(ctx, r)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &Error{what: fmt.Sprintf("%s %s: %v", r.method, shorten(r.path), bare(err)), cause: bare(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyMax+1))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &Error{what: fmt.Sprintf("%s %s: the answer broke off", r.method, shorten(r.path)), cause: err}
	case len(body) > bodyMax:
		what := fmt.Sprintf("%s %s: the answer has more than %d bytes", r.method, shorten(r.path), bodyMax)
		return &Error{Status: resp.StatusCode, what: what}
	}
	if resp.StatusCode/100 != 2 {
		return c.failed(r, resp, body)
	}
	if r.out == nil {
		return nil
	}
	if err := json.Unmarshal(body, r.out); err != nil {
		what := fmt.Sprintf("%s %s: the answer cannot be read: %v", r.method, shorten(r.path), err)
		return &Error{Status: resp.StatusCode, what: what, cause: err}
	}
	return nil
}

func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
	var body io.Reader
	if r.in != nil {
		raw, err := json.Marshal(r.in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(raw)
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	may := never
	switch {
	case r.once && r.again:
		may = answered
	case r.priority == retries:
	case r.again || r.method == http.MethodGet:
		may = always
	}
	ctx = context.WithValue(context.WithValue(ctx, priorityKey{}, r.priority), retryKey{}, may)
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", r.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "signalbox")
	if r.in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// noRoute holds Plane's words for an address that it does not serve. It must not
// be taken for a work item that is gone, and nor must a proxy's 404.
const noRoute = "Page not found."

// textMax bounds what an error quotes of an answer, in bytes.
const textMax = 300

func cut(text string) string {
	if len(text) <= textMax {
		return text
	}
	return strings.ToValidUTF8(text[:textMax], "") + "…"
}

func (c *Client) failed(r call, resp *http.Response, body []byte) error {
	e := &Error{Status: resp.StatusCode, what: fmt.Sprintf("%s %s: %s", r.method, shorten(r.path), resp.Status)}
	var said struct {
		ID, Detail, Error string
		Message           string   `json:"error_message"`
		Fields            []string `json:"non_field_errors"`
	}
	readable := json.Unmarshal(body, &said) == nil
	e.ID = said.ID
	for _, text := range append(append(said.Fields, said.Detail, said.Error, said.Message), ofFields(body)...) {
		if text != "" {
			e.what += ": " + cut(text)
		}
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		if id, is := wrongID(r.path); is && said.Error == noRoute {
			e.what += fmt.Sprintf(": %q is not the id of a project, which is a UUID, as in the address of its pages (/projects/<id>/)", id)
			break
		}
		if item := itemOf(r.path); said.Error == noRoute && item != "" && !uuid.MatchString(item) {
			e.cause = tracker.ErrNotFound // Plane serves work items, and no id has that form
			break
		}
		if !readable || said.Error == noRoute {
			e.what += ": not an address of Plane's API; BaseURL must be the server's address without /api, and Plane 1.1 or newer"
			e.unserved = readable
			break
		}
		e.cause = tracker.ErrNotFound
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		e.what += " to " + resp.Header.Get("Location") + ": BaseURL must be the address that Plane itself answers at"
	}
	var named bool
	if e.after, named = fault.Moment(resp.Header.Get("Retry-After"), c.opt.Now()); !named && resp.StatusCode == http.StatusTooManyRequests {
		e.after = time.Minute
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

// bare is a transport's error without the URL.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
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
	Results []T    `json:"results"`
}

// pagesMax bounds a listing.
const pagesMax = 200

// each reads all pages of a list.
func each[T any](ctx context.Context, c *Client, path string, f func(T)) error {
	values := url.Values{"per_page": {"100"}}
	for range pagesMax {
		var p page[T]
		if err := c.call(ctx, call{method: http.MethodGet, path: path, query: values, out: &p}); err != nil {
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
