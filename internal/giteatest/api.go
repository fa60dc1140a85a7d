package giteatest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Prefix begins the path of every call of the interface, as in Break.
const Prefix = "/api/v1"

// routes are calls of the interface below a repository, by method and path.
type routes map[string]func(http.ResponseWriter, *http.Request, *repository)

// mux serves the tables of routes, one of each file.
func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Prefix+"/version", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"version": "1.26.0"})
	})
	mux.HandleFunc("GET "+Prefix+"/user", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, wireUser(s.login(r)))
	})
	for call, handle := range s.issues.Routes() {
		method, path, _ := strings.Cut(call, " ")
		mux.HandleFunc(method+" "+Prefix+path, handle)
	}
	for _, table := range []routes{s.repoRoutes(), s.branchRoutes(), s.statusRoutes(), s.pullRoutes(), s.reviewRoutes()} {
		for call, handle := range table {
			method, path, _ := strings.Cut(call, " ")
			mux.HandleFunc(method+" "+Prefix+"/repos/{owner}/{repo}"+path, func(w http.ResponseWriter, r *http.Request) {
				if repo := s.named(w, r); repo != nil {
					handle(w, r, repo)
				}
			})
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return mux
}

// named finds the repository of a path; it has answered when there is none, or when it is
// called otherwise now.
func (s *Server) named(w http.ResponseWriter, r *http.Request) *repository {
	name := r.PathValue("owner") + "/" + r.PathValue("repo")
	if repo := s.repo(name); repo != nil {
		if repo.settings.Archived && r.Method != http.MethodGet {
			fail(w, http.StatusLocked, "repo.archive.title")
			return nil
		}
		return repo
	}
	for _, repo := range s.repos {
		for _, former := range repo.former {
			if strings.EqualFold(former, name) {
				now := strings.Replace(r.URL.RequestURI(), "/"+name, "/"+repo.name, 1)
				http.Redirect(w, r, now, http.StatusMovedPermanently) // before 1.26 a temporary one
				return nil
			}
		}
	}
	notFound(w)
	return nil
}

func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if s.login(r) == "" {
		fail(w, http.StatusUnauthorized, "invalid username, password or token")
		return false
	}
	return true
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(status)
	if v != nil {
		_ = json.NewEncoder(w).Encode(v) // a client that hung up needs no answer
	}
}

func fail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"message": message, "url": "https://git.example.org/api/swagger"})
}

func notFound(w http.ResponseWriter) {
	reply(w, http.StatusNotFound, map[string]any{
		"errors": []string{}, "message": "The target couldn't be found.", "url": "https://git.example.org/api/swagger",
	})
}

// decode reads a request; it has answered when that cannot be read.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		fail(w, http.StatusUnprocessableEntity, err.Error())
		return false
	}
	return true
}

// Pages.
const (
	limitUsual = 30
	limitMax   = 50
)

// page is the part of a list that a request is for.
func page[T any](r *http.Request, rows []T) (part []T, number, limit int) {
	number, _ = strconv.Atoi(r.URL.Query().Get("page"))
	limit, _ = strconv.Atoi(r.URL.Query().Get("limit"))
	number = max(number, 1)
	if limit <= 0 {
		limit = limitUsual
	}
	limit = min(limit, limitMax)
	from := min((number-1)*limit, len(rows))
	return rows[from:min(from+limit, len(rows))], number, limit
}

// pages answers with a page of a list, and counts all of it.
func pages(w http.ResponseWriter, r *http.Request, rows []any) {
	part, number, limit := page(r, rows)
	var links []string
	last := (len(rows) + limit - 1) / limit
	link := func(to int, rel string) {
		q := r.URL.Query()
		q.Set("page", strconv.Itoa(to))
		links = append(links, fmt.Sprintf(`<http://%s%s?%s>; rel="%s"`, r.Host, r.URL.Path, q.Encode(), rel))
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
		w.Header().Set("Link", strings.Join(links, ","))
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(rows)))
	if part == nil {
		part = []any{}
	}
	reply(w, http.StatusOK, part)
}
