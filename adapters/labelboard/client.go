package labelboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
)

const service = "labelboard"

// Error is an answer of the host that is not a success or cannot be read, or the lack of one. Its cause is
// tracker.ErrNotFound for what the host does not have, or the transport's error.
type Error = restclient.Error

// unreadable is a success without what was to be read: it is a page of something in front of
// the host.
func unreadable(path, why string) error {
	return &Error{Service: service, Status: http.StatusOK, What: path + " answers " + why, Again: true}
}

// refuse completes the error of an answer that is no success.
func (c *Client) refuse(r restclient.Call, e *Error, resp *http.Response, _ []byte) error {
	e.What = r.What + ": " + resp.Status
	if e.Text != "" {
		e.What += ": " + e.Text
	}
	wait, named := c.wait(resp.Header)
	switch {
	case limited(resp, e.Text):
		e.Again = true
		if e.After = limitWait; named {
			e.After = wait
		}
	case e.Again:
		e.After = wait
	case (e.Status == http.StatusNotFound || e.Status == http.StatusGone) && e.Text != "":
		e.Cause = tracker.ErrNotFound
	case e.Status == http.StatusNotFound: // of something in front of the host
		e.What += ": not an address of the API; correct BaseURL"
	case e.Status/100 == 3:
		e.What += ": moved; correct the repository's name or BaseURL"
	}
	return nil
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
		head, err := c.rest.Do(ctx, restclient.Call{Method: http.MethodGet, Path: path, Query: q, Out: &rows})
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
	return unreadable(path, fmt.Sprintf("with more than %d pages", pagesMax))
}
