package labelboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
)

// bodyMax bounds an answer, in bytes.
const bodyMax = 16 << 20

// Error is an answer of the host that is not a success or cannot be read, or the lack of one.
type Error struct {
	Status int // HTTP status; 0 when there was no answer
	what   string
	again  bool
	after  time.Duration
	cause  error
}

// Error names the call and what was answered.
func (e *Error) Error() string { return "labelboard: " + e.what }

// Unwrap gives tracker.ErrNotFound for what the host does not have, or the transport's error.
func (e *Error) Unwrap() error { return e.cause }

// Retryable and RetryAfter implement the contract of package fault.
func (e *Error) Retryable() bool { return e.again }

// RetryAfter is the wait that the host requires; 0 when it names none.
func (e *Error) RetryAfter() time.Duration { return e.after }

// unreadable is a success without what was to be read: it is a page of something in front of
// the host.
func unreadable(path, why string) error {
	return &Error{Status: http.StatusOK, what: path + " answers " + why, again: true}
}

// isStatus reports whether err is an answer of the host with that HTTP status.
func isStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// call is one request.
type call struct {
	method, path string // below the address of the API
	query        url.Values
	token        string // "" = Options.Token
	in, out      any
}

func (c *Client) call(ctx context.Context, r call) (http.Header, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	what := r.method + " " + r.path
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &Error{what: fmt.Sprintf("%s: %v", what, bare(err)), cause: bare(err), again: true}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyMax+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &Error{what: what + ": the answer broke off", cause: err, again: true}
	case len(body) > bodyMax:
		return nil, &Error{Status: resp.StatusCode, what: fmt.Sprintf("%s: the answer has more than %d bytes", what, bodyMax)}
	case resp.StatusCode/100 != 2:
		return nil, c.failed(what, resp, body)
	}
	if err := json.Unmarshal(body, r.out); err != nil {
		what = fmt.Sprintf("%s: the answer cannot be read: %v", what, err)
		return nil, &Error{Status: resp.StatusCode, what: what, cause: err, again: true}
	}
	return resp.Header, nil
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
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if r.token == "" {
		r.token = c.opt.Token
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "signalbox")
	if r.in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// textMax bounds what an error quotes of an answer, in bytes.
const textMax = 300

// failed is the error that an answer means.
func (c *Client) failed(what string, resp *http.Response, body []byte) error {
	e := &Error{Status: resp.StatusCode, what: what + ": " + resp.Status, again: fault.Passes(resp.StatusCode)}
	var said struct{ Message string }
	theirs := json.Unmarshal(body, &said) == nil && said.Message != ""
	if theirs {
		e.what += ": " + strings.ToValidUTF8(said.Message[:min(len(said.Message), textMax)], "")
	}
	wait, named := c.wait(resp.Header)
	switch {
	case limited(resp, said.Message):
		e.again, e.after = true, wait
		if !named {
			e.after = limitWait
		}
	case e.again:
		e.after = wait
	case (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone) && theirs:
		e.cause = tracker.ErrNotFound
	case resp.StatusCode == http.StatusNotFound: // of something in front of the host
		e.what += ": not an address of the API; correct BaseURL"
	case resp.StatusCode/100 == 3:
		e.what += ": moved; correct the repository's name or BaseURL"
	}
	return e
}

// limitWait is how long to wait for a limit that names no moment.
const limitWait = time.Minute

// limited reports whether an answer is a limit of calls: GitHub's may be a refusal (403).
func limited(resp *http.Response, message string) bool {
	if resp.StatusCode == http.StatusTooManyRequests {
		return true
	}
	message = strings.ToLower(message)
	return resp.StatusCode == http.StatusForbidden &&
		(resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-RateLimit-Remaining") == "0" ||
			strings.Contains(message, "rate limit") || strings.Contains(message, "abuse detection"))
}

// wait is how long an answer requires to wait; named is false when it names no moment.
func (c *Client) wait(h http.Header) (wait time.Duration, named bool) {
	if wait, named = fault.Moment(h.Get("Retry-After"), c.opt.Now()); named {
		return wait, true
	}
	at, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || h.Get("X-RateLimit-Remaining") != "0" {
		return 0, false
	}
	return min(max(time.Unix(at, 0).Sub(c.opt.Now()), time.Second), waitMax), true
}

// waitMax bounds the moment that a host may name.
const waitMax = 24 * time.Hour

// bare is a transport's error without the URL.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// pagesMax bounds a listing.
const pagesMax = 200

// each reads all pages of a list. A part of one would be no list: what is missing could be
// what counts.
func each[T any](ctx context.Context, c *Client, path string, query url.Values, f func(T)) error {
	q := url.Values{c.host.size: {strconv.Itoa(c.host.rows)}}
	for name, values := range query {
		q[name] = values
	}
	for page := 1; page <= pagesMax; page++ {
		q.Set("page", strconv.Itoa(page))
		var rows []T
		head, err := c.call(ctx, call{method: http.MethodGet, path: path, query: q, out: &rows})
		if err != nil {
			return err
		}
		for _, row := range rows {
			f(row)
		}
		if !c.host.more(head, len(rows)) {
			return nil
		}
	}
	return &Error{Status: http.StatusOK, what: fmt.Sprintf("%s has more than %d pages", path, pagesMax), again: true}
}
