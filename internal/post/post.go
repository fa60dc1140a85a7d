// Package post sends something to another program at an address that an operator has set, which
// may hold a token: it is in no error.
package post

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// IsAddress reports whether a text is an address of HTTP.
func IsAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// Client is one that follows no redirect: another with that; nil = one with a limit of 10 s.
func Client(given *http.Client) *http.Client {
	own := http.Client{Timeout: 10 * time.Second}
	if given != nil {
		own = *given
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// Send sends a request to who, a name for people. Its errors are to be tried again, but for the
// statuses that are about what was sent. All others, such as 404 and 401, are about the address, which
// somebody will mend.
func Send(ctx context.Context, c *http.Client, r *http.Request, who string, now time.Time, refusals ...int) error {
	r.Header.Set("User-Agent", "signalbox")
	resp, err := c.Do(r.WithContext(ctx))
	if err != nil { // a *url.Error, whose own words have the address
		return &fault.Error{Text: who + " does not answer: " + fault.Words(errors.Unwrap(err).Error()), Again: true}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	if resp.StatusCode/100 == 2 {
		return nil
	}
	wait, _ := fault.Moment(resp.Header.Get("Retry-After"), now)
	return &fault.Error{Text: who + " answered " + resp.Status, Again: !slices.Contains(refusals, resp.StatusCode), Wait: wait}
}
