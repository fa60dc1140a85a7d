// Package restclient makes the calls of adapters to REST interfaces: a request with JSON, an answer
// that is bounded and read, and an error whose type says whether a later try may succeed. What is
// safe to repeat is tried again at once, within tight bounds; a longer wait is for the caller's queue.
// What the servers send on their own is verified by an Edge.
package restclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

const (
	bodyMax   = 16 << 20    // of an answer, in bytes
	wordsMax  = 500         // of what an error quotes of one, in bytes
	limitWait = time.Minute // for a limit that names no moment
)

// Error is an answer that is not a success or cannot be read, or the lack of one. Whoever makes one sets
// all fields that apply.
type Error struct {
	Service string // whose answer it is, such as gitea
	Status  int    // HTTP; 0 when there was no answer
	Text    string // the server's own words
	What    string // the call and what was answered, for people
	Cause   error  // of the port or the transport
	Again   bool
	After   time.Duration
}

// Error names the service, the call and the answer.
func (e *Error) Error() string { return e.Service + ": " + e.What }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Retryable and RetryAfter implement the contract of package fault.
func (e *Error) Retryable() bool { return e.Again }

// RetryAfter is the wait that the server requires; 0 when it names none.
func (e *Error) RetryAfter() time.Duration { return e.After }

// IsStatus reports whether err is an answer with that HTTP status.
func IsStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// Call is one request.
type Call struct {
	Method, Path string // below Client.Base
	What         string // names the call in errors; empty = method and path
	Query        url.Values
	Token        string
	In           any // JSON; nil = no body
	Out          any // is filled from JSON; nil = the answer is not read
	Retry        Retry
}

// Client calls one server.
type Client struct {
	Service string // begins errors
	Base    string // of addresses
	HTTP    *http.Client
	Sign    func(r *http.Request, token string)
	Now     func() time.Time
	// Refuse completes the error of an answer that is no success: with a cause, with words for people. Its
	// result is the error of the call; nil = no more is said.
	Refuse func(c Call, e *Error, resp *http.Response, body []byte) error
}

// Do makes a call. Its error is that of the context when that has ended, and has no address in it.
func (c *Client) Do(ctx context.Context, r Call) (http.Header, error) {
	r.What = cmp.Or(r.What, r.Method+" "+r.Path)
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.HTTP.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		err = Bare(err)
		return nil, &Error{Service: c.Service, What: r.What + ": " + err.Error(), Cause: err, Again: true}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyMax+1))
	e := &Error{Service: c.Service, Status: resp.StatusCode, What: r.What}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, &Error{Service: c.Service, What: r.What + ": the answer broke off", Cause: err, Again: true}
	case resp.StatusCode/100 != 2:
		return nil, c.refused(r, e, resp, body)
	case len(body) > bodyMax: // it would be as long the next time
		e.What += fmt.Sprintf(": the answer has more than %d bytes", bodyMax)
		return nil, e
	}
	if r.Out != nil {
		if e.Cause = json.Unmarshal(body, r.Out); e.Cause != nil { // a page of something in front of the server
			e.What, e.Again = e.What+": the answer cannot be read: "+e.Cause.Error(), true
			return nil, e
		}
	}
	return resp.Header, nil
}

func (c *Client) request(ctx context.Context, r Call) (*http.Request, error) {
	var body io.Reader
	if r.In != nil {
		text, err := json.Marshal(r.In)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	address := c.Base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, retryKey{}, r.Retry), r.Method, address, body)
	if err != nil {
		return nil, err
	}
	c.Sign(req, r.Token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "signalbox")
	if r.In != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// refused makes the error of an answer that is no success.
func (c *Client) refused(r Call, e *Error, resp *http.Response, body []byte) error {
	e.Again = fault.Passes(e.Status)
	if wait, named := fault.Moment(resp.Header.Get("Retry-After"), c.Now()); e.Again && named {
		e.After = wait
	} else if e.Status == http.StatusTooManyRequests {
		e.After = limitWait
	}
	var said struct{ Message string }
	if json.Unmarshal(body, &said) == nil {
		e.Text = Words(said.Message)
	}
	if err := c.Refuse(r, e, resp, body); err != nil {
		return err
	}
	return e
}

// Words are a server's in one line, cut.
func Words(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > wordsMax {
		text = text[:wordsMax] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// Bare is a transport's error without the address, which may hold a token.
func Bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
