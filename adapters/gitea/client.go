package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Error is a failure of the API.
type Error struct {
	Status int    // HTTP; 0 when there was no answer
	Text   string // the server's own words
	what   string
	cause  error
	after  time.Duration
	again  bool
}

// Error names the request and the answer.
func (e *Error) Error() string { return "gitea: " + e.what }

// Unwrap gives githost's sentinel, if one applies.
func (e *Error) Unwrap() error { return e.cause }

// Retryable and RetryAfter implement the contract of package fault.
func (e *Error) Retryable() bool { return e.again }

// RetryAfter is the wait that the server requires; 0 when it names none.
func (e *Error) RetryAfter() time.Duration { return e.after }

// limitWait is how long to wait for a limit that names no moment. Gitea has none of its
// own; a proxy in front of it may.
const limitWait = time.Minute

// bodyMax bounds an answer, in bytes, and textMax what is passed on of a refusal's words.
const (
	bodyMax = 16 << 20
	textMax = 500
)

func (c *Client) get(ctx context.Context, what, path string, q url.Values, out any) error {
	_, err := c.call(ctx, what, http.MethodGet, path, q, nil, out)
	return err
}

// call makes one request. A nil out means that a success has nothing to be read.
func (c *Client) call(ctx context.Context, what, method, path string, q url.Values, in, out any) (http.Header, error) {
	resp, body, err := c.do(ctx, method, path, q, in) //nolint:bodyclose // it is read and closed there
	switch {
	case err != nil && ctx.Err() != nil: // stays what it is
		return nil, ctx.Err()
	case err != nil:
		return nil, &Error{what: what + ": " + err.Error(), cause: err, again: true}
	case resp.StatusCode/100 != 2:
		return nil, c.refused(what, resp, body)
	case len(body) > bodyMax:
		return nil, &Error{Status: resp.StatusCode, what: fmt.Sprintf("%s: the answer has more than %d bytes", what, bodyMax), again: true}
	}
	if out != nil && json.Unmarshal(body, out) != nil {
		return nil, unreadable(what)
	}
	return resp.Header, nil
}

// do sends a request and reads its answer. An error has no address in it.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, in any) (*http.Response, []byte, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, nil, err
		}
		body = bytes.NewReader(text)
	}
	address := c.api + path
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "token "+c.opt.Token)
	req.Header.Set("Accept", "application/json")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err
		}
		return nil, nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, bodyMax+1))
	if err != nil {
		return nil, nil, fmt.Errorf("the answer broke off: %w", err)
	}
	return resp, got, nil
}

// refused makes a typed error of an answer that is no success.
func (c *Client) refused(what string, resp *http.Response, body []byte) *Error {
	out := &Error{Status: resp.StatusCode, Text: message(body)}
	out.what = strings.TrimSpace(fmt.Sprintf("%s: %d %s", what, out.Status, out.Text))
	moment, named := fault.Moment(resp.Header.Get("Retry-After"), c.opt.Now())
	switch {
	case resp.StatusCode/100 == 3 && movedTo(resp) != "":
		out.what = fmt.Sprintf("%s: the repository is called %s now: correct its name", what, movedTo(resp))
	case resp.StatusCode == http.StatusTooManyRequests:
		out.again, out.after = true, limitWait
		if named {
			out.after = moment
		}
	case fault.Passes(resp.StatusCode):
		out.again = true
		if named {
			out.after = moment
		}
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		out.cause = githost.ErrNotFound
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusLocked:
		out.cause = githost.ErrDenied
	case resp.StatusCode/100 == 3:
		out.what += " (moved: correct BaseURL or the repository's name)"
	}
	return out
}

// message reads the words of a refusal.
func message(body []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(body, &e) != nil {
		return "" // a page of something in front of it
	}
	text := strings.Join(strings.Fields(e.Message), " ")
	return strings.ToValidUTF8(text[:min(len(text), textMax)], "")
}

var inRepo = regexp.MustCompile(`/repos/([^/]+/[^/?]+)`)

// movedTo is the repository that a redirect leads to: one that was renamed, or whose
// owner was.
func movedTo(resp *http.Response) string {
	if m := inRepo.FindStringSubmatch(resp.Header.Get("Location")); m != nil {
		return m[1]
	}
	return ""
}

// unreadable is a success without what was to be read: it is a page of something in
// front of the server.
func unreadable(what string) *Error {
	return &Error{Status: http.StatusOK, what: what + ": the answer says nothing of it", again: true}
}

// Pages. Servers give fewer than pageSize where their own maximum is lower.
const (
	pageSize = 50
	pagesMax = 100 // more than anybody has
)

// list reads the pages of a list until add has seen enough, a page is empty or add finds
// nothing new on it; or until all have come that the server counts. More pages than
// anybody has are an error: what is missing could be what failed.
func list[T any](ctx context.Context, c *Client, what, path string, q url.Values, add func([]T) (fresh bool)) error {
	if q == nil {
		q = url.Values{}
	}
	q.Set("limit", strconv.Itoa(pageSize))
	read := 0
	for page := 1; page <= pagesMax; page++ {
		q.Set("page", strconv.Itoa(page))
		var rows []T
		header, err := c.call(ctx, what, http.MethodGet, path, q, nil, &rows)
		if err != nil {
			return err
		}
		total, bad := strconv.Atoi(header.Get("X-Total-Count"))
		if rows == nil && bad != nil {
			return unreadable(what) // an empty list of Gitea may be null, but is counted
		}
		read += len(rows)
		if len(rows) == 0 || !add(rows) || bad == nil && read >= total {
			return nil
		}
	}
	return endless(what)
}

func endless(what string) *Error {
	return &Error{Status: http.StatusOK, what: fmt.Sprintf("%s: more than %d pages", what, pagesMax), again: true}
}
