package fakeissues

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Routes are the calls that are served, by their patterns below the address of the API. They
// run while the lock is held.
func (s *Issues) Routes() map[string]func(http.ResponseWriter, *http.Request) {
	log, blockers := "/events", "/dependencies/blocked_by"
	if s.host.Gitea {
		log, blockers = "/timeline", "/dependencies"
	}
	out := map[string]func(http.ResponseWriter, *http.Request){"GET /users/{login}": s.getUser}
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request, *repository){
		"GET /labels":                 s.listLabels,
		"POST /labels":                s.postLabel,
		"GET /issues":                 s.listIssues,
		"PATCH /issues/comments/{id}": s.patchComment,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		out[method+" /repos/{owner}/{repo}"+path] = func(w http.ResponseWriter, r *http.Request) {
			repo := s.find(r.PathValue("owner") + "/" + r.PathValue("repo"))
			if repo == nil {
				fail(w, http.StatusNotFound, "Not Found")
				return
			}
			handle(w, r, repo)
		}
	}
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request, *Issue){
		"GET ":            s.getIssue,
		"PATCH ":          s.patchIssue,
		"PUT /labels":     s.putLabels,
		"GET /comments":   s.listComments,
		"POST /comments":  s.postComment,
		"GET " + blockers: s.listBlockers,
		"GET " + log:      func(w http.ResponseWriter, r *http.Request, i *Issue) { s.paginate(w, r, s.wireLog(i)) },
	} {
		method, path, _ := strings.Cut(pattern, " ")
		out[method+" /repos/{owner}/{repo}/issues/{number}"+path] = func(w http.ResponseWriter, r *http.Request) {
			number, _ := strconv.Atoi(r.PathValue("number"))
			repo := r.PathValue("owner") + "/" + r.PathValue("repo")
			i := s.issue(repo, number)
			switch p := s.pull(repo, number); {
			case i != nil:
				handle(w, r, i)
			case p != nil && pattern == "GET ":
				reply(w, http.StatusOK, s.wirePull(repo, *p))
			case s.host.Gitea && slices.Contains([]string{"GET /comments", "GET /timeline", "POST /comments"}, pattern):
				// It looks no closer.
				fail(w, http.StatusInternalServerError, "issue does not exist")
			default:
				fail(w, http.StatusNotFound, "Not Found")
			}
		}
	}
	return out
}

func (s *Issues) pull(repo string, number int) *Pull {
	for _, p := range s.host.Pulls(repo) {
		if p.Number == number {
			return &p
		}
	}
	return nil
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that hung up needs no answer
}

func fail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"message": message, "url": "https://git.example.org/api"})
}

// read decodes the body of a request; it has answered when ok is false.
func read(w http.ResponseWriter, r *http.Request, into any) (ok bool) {
	if json.NewDecoder(r.Body).Decode(into) != nil {
		fail(w, http.StatusBadRequest, "Problems parsing JSON")
		return false
	}
	return true
}

// paginate answers with one page. GitHub links the next one; Gitea's last page is empty.
func (s *Issues) paginate(w http.ResponseWriter, r *http.Request, rows []any) {
	q, name := r.URL.Query(), "per_page"
	if s.host.Gitea {
		name = "limit"
	}
	size, _ := strconv.Atoi(q.Get(name))
	if size <= 0 {
		size = 30
	}
	size = min(size, s.pageMax)
	page, _ := strconv.Atoi(q.Get("page"))
	page = max(page, 1)
	from := min((page-1)*size, len(rows))
	to := min(from+size, len(rows))
	if !s.host.Gitea && to < len(rows) {
		next := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}
		q.Set("page", strconv.Itoa(page+1))
		next.RawQuery = q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, next.String()))
	}
	if s.host.Gitea && from == to {
		reply(w, http.StatusOK, nil) // null, as it writes a list that is empty
		return
	}
	reply(w, http.StatusOK, append([]any{}, rows[from:to]...))
}

func (s *Issues) getUser(w http.ResponseWriter, r *http.Request) {
	n := slices.IndexFunc(s.people, func(p Person) bool { return strings.EqualFold(p.Login, r.PathValue("login")) })
	if n < 0 {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	out := s.wireUser(s.people[n].Login)
	out["name"], out["email"] = s.people[n].Name, s.people[n].Email
	if s.host.Gitea {
		delete(out, "name")
	}
	reply(w, http.StatusOK, out)
}

func (s *Issues) listLabels(w http.ResponseWriter, r *http.Request, repo *repository) {
	s.paginate(w, r, s.wireLabels(repo.labels))
}

func (s *Issues) postLabel(w http.ResponseWriter, r *http.Request, repo *repository) {
	var in struct {
		Name, Color string
		Exclusive   bool
	}
	if !read(w, r, &in) {
		return
	}
	hash := strings.HasPrefix(in.Color, "#")
	switch {
	case in.Name == "" || len(strings.TrimPrefix(in.Color, "#")) != 6 || hash != s.host.Gitea:
		fail(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	case !s.host.Gitea && slices.ContainsFunc(repo.labels, called(in.Name)): // Gitea has several of one name
		exists := map[string]string{"resource": "Label", "code": "already_exists", "field": "name"}
		reply(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed", "errors": []any{exists}})
		return
	}
	l := s.addLabel(repo, Label{Name: in.Name, Color: strings.TrimPrefix(in.Color, "#"), Exclusive: in.Exclusive && s.host.Gitea})
	reply(w, http.StatusCreated, s.wireLabel(l))
}

// listIssues answers newest change first at GitHub, on request, and newest first at Gitea,
// which has no choice of orders.
func (s *Issues) listIssues(w http.ResponseWriter, r *http.Request, repo *repository) {
	q := r.URL.Query()
	since, _ := time.Parse(time.RFC3339, q.Get("since"))
	var list []*Issue
	for _, i := range slices.Backward(repo.issues) {
		has := true
		for name := range strings.SplitSeq(q.Get("labels"), ",") {
			has = has && (name == "" || slices.ContainsFunc(i.Labels, called(name)))
		}
		state := q.Get("state") == "all" || i.Open == (q.Get("state") != "closed")
		if has && state && !i.Updated.Before(since) {
			list = append(list, i)
		}
	}
	if !s.host.Gitea && q.Get("sort") == "updated" {
		slices.SortStableFunc(list, func(a, b *Issue) int { return b.Updated.Compare(a.Updated) })
	}
	var rows []any
	if q.Get("labels") == "" && q.Get("type") != "issues" {
		for _, p := range s.host.Pulls(repo.name) {
			rows = append(rows, s.wirePull(repo.name, p))
		}
	}
	for _, i := range list {
		rows = append(rows, s.wireIssue(i))
	}
	s.paginate(w, r, rows)
}

func (s *Issues) getIssue(w http.ResponseWriter, _ *http.Request, i *Issue) {
	reply(w, http.StatusOK, s.wireIssue(i))
}

// patchIssue opens and closes; Gitea closes nothing that waits for an open issue.
func (s *Issues) patchIssue(w http.ResponseWriter, r *http.Request, i *Issue) {
	var in struct{ State string }
	if !read(w, r, &in) {
		return
	}
	if in.State == "closed" && s.host.Gitea {
		for _, n := range i.BlockedBy {
			if by := s.issue(i.Repo, n); by != nil && by.Open {
				fail(w, http.StatusPreconditionFailed, "cannot close this issue because it still has open dependencies")
				return
			}
		}
	}
	s.setOpen(i, s.host.Login(r), in.State != "closed")
	status := http.StatusOK
	if s.host.Gitea {
		status = http.StatusCreated
	}
	reply(w, status, s.wireIssue(i))
}

// putLabels takes names at GitHub, where a new name makes a label, and ids at Gitea, where an
// unknown id is left out.
func (s *Issues) putLabels(w http.ResponseWriter, r *http.Request, i *Issue) {
	var in struct{ Labels []any }
	if !read(w, r, &in) {
		return
	}
	repo := s.repo(i.Repo)
	var list []Label
	for _, one := range in.Labels {
		at := -1
		switch v := one.(type) {
		case string:
			if at = slices.IndexFunc(repo.labels, called(v)); at < 0 && !s.host.Gitea {
				s.addLabel(repo, Label{Name: v, Color: "ededed"})
				at = len(repo.labels) - 1
			}
		case float64:
			at = slices.IndexFunc(repo.labels, func(l Label) bool { return l.ID == int(v) })
		}
		if at >= 0 {
			list = append(list, repo.labels[at])
		}
	}
	s.setLabels(i, s.host.Login(r), list)
	reply(w, http.StatusOK, s.wireLabels(i.Labels))
}

// listComments has pages at GitHub alone.
func (s *Issues) listComments(w http.ResponseWriter, r *http.Request, i *Issue) {
	rows := []any{}
	for _, c := range i.Comments {
		rows = append(rows, s.wireComment(c))
	}
	if s.host.Gitea {
		reply(w, http.StatusOK, rows)
		return
	}
	s.paginate(w, r, rows)
}

// bodyMax is the length of a comment, in characters.
const bodyMax = 65536

func (s *Issues) postComment(w http.ResponseWriter, r *http.Request, i *Issue) {
	var in struct{ Body string }
	if !read(w, r, &in) {
		return
	}
	if in.Body == "" || len(in.Body) > bodyMax {
		fail(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	reply(w, http.StatusCreated, s.wireComment(s.say(i, s.host.Login(r), in.Body)))
}

func (s *Issues) patchComment(w http.ResponseWriter, r *http.Request, repo *repository) {
	var in struct{ Body string }
	if !read(w, r, &in) {
		return
	}
	id, _ := strconv.Atoi(r.PathValue("id"))
	for _, i := range repo.issues {
		for n := range i.Comments {
			if c := &i.Comments[n]; c.ID == id {
				c.Body, c.Edited = in.Body, s.host.Now()
				i.Updated = c.Edited
				s.sendComment(i, *c, "edited", s.host.Login(r))
				reply(w, http.StatusOK, s.wireComment(*c))
				return
			}
		}
	}
	fail(w, http.StatusNotFound, "Not Found")
}

func (s *Issues) listBlockers(w http.ResponseWriter, r *http.Request, i *Issue) {
	if !s.related {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	rows := []any{}
	for _, n := range i.BlockedBy {
		if by := s.issue(i.Repo, n); by != nil {
			rows = append(rows, s.wireIssue(by))
		}
	}
	s.paginate(w, r, rows)
}
