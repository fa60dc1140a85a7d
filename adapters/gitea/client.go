package gitea

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

const service = "gitea"

// Error is a failure of the API. Its cause is githost's sentinel, if one applies.
type Error = restclient.Error

func (c *Client) get(ctx context.Context, what, path string, out any) error {
	return c.call(ctx, what, http.MethodGet, path, nil, out)
}

// call makes one request. A nil out means that a success has nothing to be read.
func (c *Client) call(ctx context.Context, what, method, path string, in, out any) error {
	_, err := c.rest.Do(ctx, restclient.Call{What: what, Method: method, Path: path, In: in, Out: out})
	return err
}

// renaming sends what is for a repository to where that is called now. Gitea leads reads there alone: a write that it
// answers with the new name has done nothing, and is sent again, on the same server.
type renaming struct {
	http.RoundTripper
	names *githost.Names
}

// RoundTrip implements http.RoundTripper.
func (t renaming) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := t.renamed(r)
	resp, err := t.RoundTripper.RoundTrip(sent)
	was := inRepo.FindStringSubmatch(r.URL.Path)
	if err != nil || r.Method == http.MethodGet || resp.StatusCode/100 != 3 || was == nil || !stays(resp) {
		return resp, err
	}
	if t.names.Learn(was[1], movedTo(resp), 0); t.names.Now(was[1]) == inRepo.FindStringSubmatch(sent.URL.Path)[1] {
		return resp, nil
	}
	again := t.renamed(r)
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // the redirect says enough
		}
	}
	_ = resp.Body.Close() // it has nothing that is read
	return t.RoundTripper.RoundTrip(again)
}

// renamed is a request to the repository as it is called now.
func (t renaming) renamed(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	if was := inRepo.FindStringSubmatch(r.URL.Path); was == nil || t.names.Now(was[1]) == was[1] {
		return out
	}
	out.URL.RawPath, out.URL.Path = "", inRepo.ReplaceAllStringFunc(r.URL.Path, func(m string) string {
		return inRepoPrefix + t.names.Now(m[len(inRepoPrefix):])
	})
	return out
}

// refuse completes the error of an answer that is no success.
func refuse(r restclient.Call, e *Error, resp *http.Response, _ []byte) error {
	e.What = fmt.Sprintf("%s: %d", r.What, e.Status)
	if e.Text != "" {
		e.What += " " + e.Text
	}
	switch {
	case e.Status/100 == 3 && movedTo(resp) != "":
		e.Again, e.What = false, fmt.Sprintf("%s: the repository is called %s now: correct its name", r.What, movedTo(resp))
	case e.Again:
	case e.Status == http.StatusNotFound, e.Status == http.StatusGone:
		e.Cause = githost.ErrNotFound
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden, e.Status == http.StatusLocked:
		e.Cause = githost.ErrDenied
	case e.Status/100 == 3:
		e.What += " (moved: correct BaseURL or the repository's name)"
	}
	return nil
}

// inRepo finds the repository of a path, behind the prefix.
var inRepo = regexp.MustCompile(inRepoPrefix + `([^/]+/[^/?]+)`)

const inRepoPrefix = "/repos/"

// stays reports whether a redirect leads to the server that has answered.
func stays(resp *http.Response) bool {
	to, err := resp.Location()
	return err == nil && to.Host == resp.Request.URL.Host && to.Scheme == resp.Request.URL.Scheme
}

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
	return &Error{Service: service, Status: http.StatusOK, What: what + ": the answer says nothing of it", Again: true}
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
		header, err := c.rest.Do(ctx, restclient.Call{What: what, Method: http.MethodGet, Path: path, Query: q, Out: &rows})
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
	return &Error{Service: service, Status: http.StatusOK, What: fmt.Sprintf("%s: more than %d pages", what, pagesMax), Again: true}
}
