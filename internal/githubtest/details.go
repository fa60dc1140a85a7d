package githubtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Annotation is a finding of a check run in a file.
type Annotation struct {
	Path    string
	Line    int
	Message string
}

// shown holds what a check run shows of its failure.
type shown struct {
	annotations []Annotation
	log         string
}

// ShowFailure makes a check run of a commit, which has been reported, have annotations and a log.
func (s *Server) ShowFailure(repo, sha, name, log string, annotations ...Annotation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.checks[repo+" "+sha] {
		if c.name == name {
			s.shown[strconv.Itoa(c.id)] = shown{annotations, log}
			return nil
		}
	}
	return errors.New("githubtest: the commit has no check run of that name")
}

// LineComment is a comment on a line of a pull request.
type LineComment struct {
	Author, Path, Body, SHA string
	Line                    int // 0 = of the file
}

// Comment comments on a line of a branch's pull request, as a person would.
func (s *Server) Comment(repo, branch string, c LineComment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pull(repo, branch)
	if p == nil {
		return errors.New("githubtest: the branch has no pull request")
	}
	key := fmt.Sprintf("%s#%d", p.Repo, p.Number)
	s.lines[key] = append(s.lines[key], c)
	return nil
}

func (s *Server) annotations(w http.ResponseWriter, r *http.Request, _ *repository) {
	rows := []any{}
	for _, a := range s.shown[r.PathValue("id")].annotations {
		rows = append(rows, map[string]any{
			"path": a.Path, "start_line": a.Line, "end_line": a.Line, "annotation_level": "failure", "message": a.Message,
		})
	}
	reply(w, http.StatusOK, rows)
}

// files is where logs are, at another host than the API.
const files = "/_files/"

func (s *Server) jobLog(w http.ResponseWriter, r *http.Request, _ *repository) {
	if s.shown[r.PathValue("id")].log == "" {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	w.Header().Set("Location", "http://"+strings.Replace(r.Host, "127.0.0.1", "localhost", 1)+files+r.PathValue("id")+"?sig=secret")
	w.WriteHeader(http.StatusFound)
}

// logFile answers as the store of files does: it refuses a request with a token.
func (s *Server) logFile(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "secret" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte(s.shown[r.PathValue("id")].log)) // a client that hung up needs no answer
}

// lineComments answers with the newest first, as it is called.
func (s *Server) lineComments(w http.ResponseWriter, r *http.Request, repo *repository) {
	p := s.numbered(w, r, repo)
	if p == nil {
		return
	}
	rows := []any{}
	list := s.lines[fmt.Sprintf("%s#%d", p.Repo, p.Number)]
	for i := len(list) - 1; i >= 0; i-- {
		c, line := list[i], any(nil)
		if c.Line > 0 {
			line = c.Line
		}
		rows = append(rows, map[string]any{
			"id": i + 1, "user": wireUser(c.Author), "author_association": "NONE",
			"path": c.Path, "line": line, "body": c.Body, "commit_id": c.SHA,
			"created_at": s.opt.Now().UTC().Format(time.RFC3339),
		})
	}
	reply(w, http.StatusOK, rows)
}

// Comments are the comments on a pull request, in order.
func (s *Server) Comments(repo string, number int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.said[fmt.Sprintf("%s#%d", repo, number)])
}

func wireComment(id int, body string) map[string]any {
	return map[string]any{"id": id, "body": body, "user": wireUser(Self)}
}

// ofPull is a handler of the issues, which has pull requests answered beside them where they have
// comments.
func (s *Server) ofPull(pattern string, issue http.HandlerFunc) http.HandlerFunc {
	own := map[string]func(http.ResponseWriter, *http.Request, *Pull){
		"GET /repos/{owner}/{repo}/issues/{number}/comments":  s.listComments,
		"POST /repos/{owner}/{repo}/issues/{number}/comments": s.addComment,
	}[pattern]
	return func(w http.ResponseWriter, r *http.Request) {
		repo, number := r.PathValue("owner")+"/"+r.PathValue("repo"), r.PathValue("number")
		for _, p := range s.pulls {
			if own != nil && strings.EqualFold(p.Repo, repo) && strconv.Itoa(p.Number) == number {
				own(w, r, p)
				return
			}
		}
		issue(w, r)
	}
}

func (s *Server) listComments(w http.ResponseWriter, _ *http.Request, p *Pull) {
	rows := []any{}
	for i, body := range s.said[fmt.Sprintf("%s#%d", p.Repo, p.Number)] {
		rows = append(rows, wireComment(i+1, body))
	}
	reply(w, http.StatusOK, rows)
}

func (s *Server) addComment(w http.ResponseWriter, r *http.Request, p *Pull) {
	var in struct{ Body string }
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Body == "" || len([]rune(in.Body)) > 65536 {
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", "body is too long (maximum is 65536 characters)")
		return
	}
	key := fmt.Sprintf("%s#%d", p.Repo, p.Number)
	s.said[key] = append(s.said[key], in.Body)
	reply(w, http.StatusCreated, wireComment(len(s.said[key]), in.Body))
}
