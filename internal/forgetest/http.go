package forgetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// call is a request, with what its path names.
type call struct {
	*Server

	w  http.ResponseWriter
	r  *http.Request
	at *repository
	p  *pull
	i  *Issue
}

func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, table := range []map[string]func(*call){common(), s.routes} {
		for pattern, handle := range table {
			method, path, _ := strings.Cut(pattern, " ")
			mux.HandleFunc(method+" "+s.prefix+path, func(w http.ResponseWriter, r *http.Request) {
				if c := (&call{Server: s, w: w, r: r}); c.found(method, path) {
					handle(c)
				}
			})
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { (&call{Server: s, w: w, r: r}).fail(s.notFound) })
	return mux
}

// found finds what a path names; it has answered when that is not there.
func (c *call) found(method, path string) bool {
	below, ofRepo := strings.CutPrefix(path, "/repos/{owner}/{repo}")
	if !ofRepo {
		return true
	}
	if c.at = c.named(); c.at == nil {
		return false
	}
	number, _ := strconv.Atoi(c.r.PathValue("number"))
	for _, p := range c.Server.pulls {
		if p.repo == c.at && p.Number == number {
			c.p = p
		}
	}
	switch rest, ofIssue := strings.CutPrefix(below, "/issues/{number}"); {
	case ofIssue:
		return c.foundIssue(method+" "+rest, number)
	case strings.HasPrefix(below, "/issues") || strings.HasPrefix(below, "/labels"):
		return true
	case c.at.Repo == nil || c.p == nil && strings.HasPrefix(below, "/pulls/{number}"):
		c.fail(c.notFound)
		return false
	}
	return true
}

// named finds the repository of a path; it has answered when there is none, or when it is called
// otherwise now: GitHub leads reads there with 301 and all else with 307, Gitea all with 301.
func (c *call) named() *repository {
	name := c.r.PathValue("owner") + "/" + c.r.PathValue("repo")
	numbered := func(r *repository) string { return fmt.Sprintf("repositories/%d", r.id) }
	to, status := "", http.StatusMovedPermanently
	for _, r := range c.repos {
		switch {
		case strings.EqualFold(r.called, name), name == numbered(r) && !c.gitea:
			if r.settings.Archived && c.gitea && c.r.Method != http.MethodGet {
				c.fail(refusal{status: http.StatusLocked, text: "repo.archive.title"})
				return nil
			}
			return r
		case r.was(name) && c.gitea:
			to = strings.Replace(c.r.URL.RequestURI(), "/"+name, "/"+r.called, 1)
		case r.was(name):
			to = strings.Repeat("../", strings.Count(c.r.URL.Path, "/")-1) + "repos/" + numbered(r) +
				strings.TrimPrefix(c.r.URL.RequestURI(), "/repos/"+name)
			if c.r.Method != http.MethodGet {
				status = http.StatusTemporaryRedirect
			}
		}
	}
	if to == "" {
		c.fail(c.notFound)
		return nil
	}
	c.w.Header().Set("Location", to)
	c.w.WriteHeader(status)
	return nil
}

// token proves the account of a request.
func (s *Server) token(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !slices.Contains(s.schemes, scheme) {
		return ""
	}
	return token
}

// login is the account of a request's token; empty: it is none of a server that takes some only.
func (s *Server) login(r *http.Request) string {
	if s.opt.Token != "" && s.token(r) != s.opt.Token {
		return ""
	}
	return Self
}

func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if !s.mayEnter(r) {
		(&call{Server: s, w: w, r: r}).fail(s.badToken)
		return false
	}
	return true
}

func (c *call) reply(status int, v any) {
	c.w.Header().Set("Content-Type", c.media)
	c.w.WriteHeader(status)
	_ = json.NewEncoder(c.w).Encode(v) // a client that hung up needs no answer
}

func (c *call) ok(v any) { c.reply(http.StatusOK, v) }

// fail answers with a refusal, or with what another error comes to.
func (c *call) fail(err error) {
	no := refusal{status: http.StatusInternalServerError, text: err.Error()}
	switch {
	case errors.As(err, &no):
	case errors.Is(err, ErrMoved):
		no = c.raced
	case errors.Is(err, ErrConflict):
		no = c.conflict
	}
	c.reply(no.status, c.wireRefuse(no))
}

// invalid is GitHub's refusal of a value; Gitea's has its words alone.
func invalid(details ...string) refusal {
	return refusal{http.StatusUnprocessableEntity, "Validation Failed", details}
}

// decode reads a request; it has answered when that cannot be read.
func (c *call) decode(into any) bool {
	err := json.NewDecoder(c.r.Body).Decode(into)
	if err != nil {
		no := c.unreadable
		if no.text == "" {
			no.text = err.Error()
		}
		c.fail(no)
	}
	return err == nil
}

// page is the part of a list that a request is for.
func page[T any](c *call, rows []T) (part []T, number, last int) {
	q := c.r.URL.Query()
	number, _ = strconv.Atoi(q.Get("page"))
	size, _ := strconv.Atoi(q.Get(c.size))
	number = max(number, 1)
	if size <= 0 {
		size = 30
	}
	size = min(size, c.pageMax)
	from := min((number-1)*size, len(rows))
	return rows[from:min(from+size, len(rows))], number, (len(rows) + size - 1) / size
}

// list answers with a page of a list that is linked to the others.
func (c *call) list(rows []any) {
	part, number, last := page(c, rows)
	var links []string
	link := func(to int, rel string) {
		at := url.URL{Scheme: "http", Host: c.r.Host, Path: c.r.URL.Path}
		q := c.r.URL.Query()
		q.Set("page", strconv.Itoa(to))
		at.RawQuery = q.Encode()
		links = append(links, fmt.Sprintf(`<%s>; rel="%s"`, at.String(), rel))
	}
	if number < last {
		link(number+1, "next")
		link(last, "last")
	}
	if number > 1 {
		link(1, "first")
		link(number-1, "prev")
	}
	if links != nil {
		c.w.Header().Set("Link", strings.Join(links, ","))
	}
	if c.gitea {
		c.w.Header().Set("X-Total-Count", strconv.Itoa(len(rows)))
	}
	c.ok(append([]any{}, part...))
}

// listIn answers with a page of an issue's list. Gitea links none, and writes null for one that is empty.
func (c *call) listIn(rows []any) {
	if !c.gitea {
		c.list(rows)
		return
	}
	part, _, _ := page(c, rows)
	c.ok(append([]any(nil), part...))
}
