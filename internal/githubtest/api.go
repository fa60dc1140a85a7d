package githubtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/fakehost"
)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, map[string]any{"login": s.login(r), "id": 7})
	})
	for pattern, handle := range s.issues.Routes() {
		mux.HandleFunc(pattern, s.ofPull(pattern, handle))
	}
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request, *repository){
		"GET /repos/{owner}/{repo}":                                   s.describe,
		"GET /repos/{owner}/{repo}/branches/{branch...}":              s.branch,
		"GET /repos/{owner}/{repo}/hooks":                             s.listHooks,
		"POST /repos/{owner}/{repo}/hooks":                            s.addHook,
		"GET /repos/{owner}/{repo}/commits/{sha}/status":              s.combined,
		"GET /repos/{owner}/{repo}/commits/{sha}/check-runs":          s.checkRuns,
		"GET /repos/{owner}/{repo}/commits/{sha}/check-suites":        s.checkSuites,
		"GET /repos/{owner}/{repo}/rules/branches/{branch...}":        s.rules,
		"GET /repos/{owner}/{repo}/check-runs/{id}/annotations":       s.annotations,
		"GET /repos/{owner}/{repo}/actions/jobs/{id}/logs":            s.jobLog,
		"GET /repos/{owner}/{repo}/pulls/{number}/comments":           s.lineComments,
		"GET /repos/{owner}/{repo}/commits/{sha}/branches-where-head": s.whereHead,
		"GET /repos/{owner}/{repo}/pulls":                             s.listPulls,
		"POST /repos/{owner}/{repo}/pulls":                            s.createPull,
		"GET /repos/{owner}/{repo}/pulls/{number}":                    s.getPull,
		"GET /repos/{owner}/{repo}/pulls/{number}/reviews":            s.listReviews,
		"PUT /repos/{owner}/{repo}/pulls/{number}/merge":              s.putMerge,
		"GET /repos/{owner}/{repo}/collaborators/{login}/permission":  s.permission,
		"DELETE /repos/{owner}/{repo}/git/refs/heads/{branch...}":     s.deleteRef,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if repo := s.named(w, r); repo != nil {
				handle(w, r, repo)
			}
		})
	}
	mux.HandleFunc("GET "+files+"{id}", s.logFile)
	mux.HandleFunc("GET /app", s.getApp)
	mux.HandleFunc("GET /repos/{owner}/{repo}/installation", s.installation)
	mux.HandleFunc("DELETE /installation/token", s.revokeToken)
	mux.HandleFunc("POST /app/installations/{id}/access_tokens", s.accessToken)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fail(w, http.StatusNotFound, "Not Found") })
	return mux
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if v != nil {
		_ = json.NewEncoder(w).Encode(v) // a client that hung up needs no answer
	}
}

func fail(w http.ResponseWriter, status int, message string, details ...string) {
	var list []map[string]string
	for _, d := range details {
		list = append(list, map[string]string{"resource": "PullRequest", "code": "custom", "message": d})
	}
	reply(w, status, map[string]any{
		"message": message, "errors": list, "status": strconv.Itoa(status),
		"documentation_url": "https://docs.github.com/rest",
	})
}

func (s *Server) combined(w http.ResponseWriter, r *http.Request, repo *repository) {
	list := s.statuses[repo.name+" "+r.PathValue("sha")]
	state, rows := "pending", []any{}
	if len(list) > 0 {
		state = "success"
	}
	for i, st := range list {
		rows = append(rows, map[string]any{"id": i + 1, "context": st.context, "state": st.state, "description": st.description})
		if st.state != "success" {
			state = st.state
		}
	}
	reply(w, http.StatusOK, map[string]any{"state": state, "sha": r.PathValue("sha"), "total_count": len(rows), "statuses": rows})
}

func (s *Server) checkRuns(w http.ResponseWriter, r *http.Request, repo *repository) {
	rows := []any{}
	for _, c := range s.checks[repo.name+" "+r.PathValue("sha")] {
		rows = append(rows, wireCheck(c, r.PathValue("sha"), ""))
	}
	reply(w, http.StatusOK, map[string]any{"total_count": len(rows), "check_runs": rows})
}

func (s *Server) whereHead(w http.ResponseWriter, r *http.Request, repo *repository) {
	rows := []any{}
	for branch, head := range repo.Heads() {
		if head == r.PathValue("sha") {
			rows = append(rows, map[string]any{"name": branch, "commit": map[string]any{"sha": head}, "protected": branch == "main"})
		}
	}
	reply(w, http.StatusOK, rows)
}

func (s *Server) listPulls(w http.ResponseWriter, r *http.Request, repo *repository) {
	q := r.URL.Query()
	_, branch, _ := strings.Cut(q.Get("head"), ":")
	rows := []any{}
	for i := len(s.pulls) - 1; i >= 0; i-- { // newest first
		p := s.pulls[i]
		listed := q.Get("state") == "all" || p.Open == (q.Get("state") != "closed")
		if p.Repo == repo.name && (branch == "" || p.Head == branch) && listed {
			rows = append(rows, s.wirePull(p))
		}
	}
	reply(w, http.StatusOK, rows)
}

func (s *Server) createPull(w http.ResponseWriter, r *http.Request, repo *repository) {
	var in struct{ Title, Head, Base, Body string }
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		fail(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	heads := repo.Heads()
	switch {
	case in.Title == "" || heads[in.Head] == "" || heads[in.Base] == "":
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", "head, base or title is invalid")
		return
	case heads[in.Head] == heads[in.Base]:
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", fmt.Sprintf("No commits between %s and %s", in.Base, in.Head))
		return
	}
	if p := s.pull(repo.name, in.Head); p != nil && p.Open {
		exists := fmt.Sprintf("A pull request already exists for %s:%s.", strings.Split(repo.name, "/")[0], in.Head)
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", exists)
		return
	}
	number := 1 + s.issues.Count(repo.name)
	for _, p := range s.pulls {
		if p.Repo == repo.name {
			number++
		}
	}
	p := &Pull{
		Repo: repo.name, Number: number, Title: in.Title, Body: in.Body,
		Head: in.Head, Base: in.Base, HeadSHA: heads[in.Head],
		Author: Self, Open: true, Created: s.opt.Now(),
	}
	s.pulls = append(s.pulls, p)
	s.hook("pull_request", s.wirePullEvent(p, "opened"))
	s.runCI(repo, p.Head, p.HeadSHA)
	reply(w, http.StatusCreated, s.wirePull(p))
}

// numbered finds the pull request of a path; it has answered when there is none.
func (s *Server) numbered(w http.ResponseWriter, r *http.Request, repo *repository) *Pull {
	n, _ := strconv.Atoi(r.PathValue("number"))
	for _, p := range s.pulls {
		if p.Repo == repo.name && p.Number == n {
			return p
		}
	}
	fail(w, http.StatusNotFound, "Not Found")
	return nil
}

func (s *Server) getPull(w http.ResponseWriter, r *http.Request, repo *repository) {
	if p := s.numbered(w, r, repo); p != nil {
		reply(w, http.StatusOK, s.wirePull(p))
	}
}

func (s *Server) listReviews(w http.ResponseWriter, r *http.Request, repo *repository) {
	p := s.numbered(w, r, repo)
	if p == nil {
		return
	}
	rows := []any{}
	for _, v := range s.reviews[fmt.Sprintf("%s#%d", p.Repo, p.Number)] {
		rows = append(rows, s.wireReview(v, v.State))
	}
	reply(w, http.StatusOK, rows)
}

// refusals are GitHub's words for methods that a repository does not allow.
var refusals = map[string]string{
	"merge": "Merge commits are not allowed on this repository.", "squash": "Squash merges are not allowed on this repository.",
	"rebase": "Rebase merges are not allowed on this repository.",
}

func (s *Server) putMerge(w http.ResponseWriter, r *http.Request, repo *repository) {
	p := s.numbered(w, r, repo)
	if p == nil {
		return
	}
	var in struct {
		SHA    string `json:"sha"`
		Title  string `json:"commit_title"`
		Method string `json:"merge_method"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		fail(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	if in.Method == "" {
		in.Method = "merge"
	}
	if words := refusals[in.Method]; words == "" {
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", "merge_method is not a member of [\"merge\", \"squash\", \"rebase\"].")
		return
	} else if repo.settings.Queue {
		fail(w, http.StatusMethodNotAllowed, "Repository rule violations found\n\nChanges must be made through the merge queue\n\n")
		return
	} else if repo.settings.Refusal != "" {
		fail(w, http.StatusMethodNotAllowed, repo.settings.Refusal)
		return
	} else if !slices.Contains(repo.settings.Methods, in.Method) {
		fail(w, http.StatusMethodNotAllowed, words)
		return
	}
	sha, err := s.merge(p, in.Title, in.SHA, in.Method)
	switch {
	case errors.Is(err, fakehost.ErrMoved):
		fail(w, http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	case errors.Is(err, errNotMergeable), errors.Is(err, fakehost.ErrConflict):
		fail(w, http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	case err != nil:
		fail(w, http.StatusInternalServerError, err.Error())
	default:
		reply(w, http.StatusOK, map[string]any{"sha": sha, "merged": true, "message": "Pull Request successfully merged"})
	}
}

func (s *Server) deleteRef(w http.ResponseWriter, r *http.Request, repo *repository) {
	branch := r.PathValue("branch")
	if repo.Heads()[branch] == "" {
		fail(w, http.StatusUnprocessableEntity, "Reference does not exist")
		return
	}
	if err := repo.Remove(branch); err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
