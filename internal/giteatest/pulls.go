package giteatest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/fakehost"
)

func (s *Server) pullRoutes() routes {
	return routes{
		"GET /pulls": s.listPulls, "POST /pulls": s.createPull, "GET /pulls/{number}": s.getPull, "POST /pulls/{number}/merge": s.postMerge,
	}
}

// pull is the newest pull request of a branch.
func (s *Server) pull(repo, branch string) *pull {
	for _, p := range slices.Backward(s.pulls) {
		if strings.EqualFold(p.Repo, repo) && p.Head == branch && !p.fork {
			return p
		}
	}
	return nil
}

// listPulls lists the newest first, those of forks with them.
func (s *Server) listPulls(w http.ResponseWriter, r *http.Request, repo *repository) {
	state := r.URL.Query().Get("state")
	rows := []any{}
	for _, p := range slices.Backward(s.pulls) {
		if p.Repo == repo.name && (state == "all" || p.Open == (state != "closed")) {
			rows = append(rows, s.wirePull(p))
		}
	}
	pages(w, r, rows)
}

func (s *Server) createPull(w http.ResponseWriter, r *http.Request, repo *repository) {
	var in struct{ Title, Head, Base, Body string }
	if !decode(w, r, &in) {
		return
	}
	heads := repo.Heads()
	switch {
	case in.Title == "":
		fail(w, http.StatusUnprocessableEntity, "[Title]: Required")
		return
	case in.Head == in.Base:
		fail(w, http.StatusUnprocessableEntity, "Invalid PullRequest: There are no changes between the head and the base")
		return
	case heads[in.Head] == "" || heads[in.Base] == "":
		notFound(w)
		return
	}
	for _, p := range s.pulls {
		if p.Repo == repo.name && p.Head == in.Head && p.Base == in.Base && p.Open && !p.fork {
			fail(w, http.StatusConflict, fmt.Sprintf("pull request already exists for these targets "+
				"[id: %d, issue_id: %d, head_repo_id: %d, base_repo_id: %d, head_branch: %s, base_branch: %s]",
				p.Number, p.Number, repo.id, repo.id, p.Head, p.Base))
			return
		}
	}
	p := s.open(repo, &pull{Pull: Pull{
		Title: in.Title, Body: in.Body, Head: in.Head, Base: in.Base, HeadSHA: heads[in.Head], Author: Self,
	}})
	s.runCI(repo, p.Head, p.HeadSHA)
	reply(w, http.StatusCreated, s.wirePull(p))
}

// open numbers a pull request and shows it.
func (s *Server) open(repo *repository, p *pull) *pull {
	p.Repo, p.Number, p.Open, p.Created = repo.name, 1+s.issues.Count(repo.name), true, s.opt.Now()
	for _, other := range s.pulls {
		if other.Repo == repo.name {
			p.Number++
		}
	}
	s.pulls = append(s.pulls, p)
	s.hook("pull_request", "pull_request", s.wirePullEvent(p, "opened"))
	return p
}

// numbered finds the pull request of a path; it has answered when there is none.
func (s *Server) numbered(w http.ResponseWriter, r *http.Request, repo *repository) *pull {
	n, _ := strconv.Atoi(r.PathValue("number"))
	for _, p := range s.pulls {
		if p.Repo == repo.name && p.Number == n {
			return p
		}
	}
	notFound(w)
	return nil
}

func (s *Server) getPull(w http.ResponseWriter, r *http.Request, repo *repository) {
	if p := s.numbered(w, r, repo); p != nil {
		reply(w, http.StatusOK, s.wirePull(p))
	}
}

// refusal is a merge that is not made, as it is answered.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// refused makes the answer 405, which is for most of what is in a merge's way.
func refused(format string, args ...any) error {
	return &refusal{http.StatusMethodNotAllowed, fmt.Sprintf(format, args...)}
}

func (s *Server) postMerge(w http.ResponseWriter, r *http.Request, repo *repository) {
	p := s.numbered(w, r, repo)
	if p == nil {
		return
	}
	var in struct {
		Do, MergeTitleField string
		Head                string `json:"head_commit_id"`
	}
	if !decode(w, r, &in) {
		return
	}
	err := s.mayMerge(repo, p)
	if err == nil {
		_, err = s.merge(repo, p, in.Do, in.MergeTitleField, in.Head)
	}
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusNotFound:
		notFound(w)
	case errors.As(err, &no):
		fail(w, no.status, no.text)
	case errors.Is(err, fakehost.ErrMoved):
		fail(w, http.StatusConflict, "merge push out of date")
	case err != nil:
		fail(w, http.StatusInternalServerError, err.Error())
	default:
		w.WriteHeader(http.StatusOK) // and nothing else
	}
}

// mayMerge looks at what Gitea looks at before it merges, in its order.
func (s *Server) mayMerge(repo *repository, p *pull) error {
	heads := repo.Heads()
	_, protected := repo.settings.Required[p.Base]
	switch {
	case p.Merged:
		return refused("The PR is already merged") // older ones answer without a word
	case !p.Open:
		return &refusal{http.StatusNotFound, ""}
	case !repo.settings.Push:
		return refused("User not allowed to merge PR")
	case strings.HasPrefix(strings.ToUpper(p.Title), "WIP:"):
		return refused("Work in progress PRs cannot be merged")
	case !mergeable(repo, p):
		return refused("Please try again later") // also what conflicts
	case repo.settings.Refusal != "":
		return refused("%s", repo.settings.Refusal)
	case !s.green(repo, p.Base, heads[p.Head]):
		return refused("Not all required status checks successful")
	case protected && s.approvals(p) < repo.settings.Approvals:
		return refused("Does not have enough approvals")
	default:
		return nil
	}
}

// mergeable reports whether the branches of an open pull request can be merged.
func mergeable(repo *repository, p *pull) bool {
	heads := repo.Heads()
	if !p.Open || p.fork || heads[p.Head] == "" || heads[p.Base] == "" {
		return false
	}
	_, err := repo.Tree(heads[p.Base], heads[p.Head])
	return err == nil
}

// green reports whether what the base requires has reported success. Here a star stands
// for anything, at the end of a pattern alone.
func (s *Server) green(repo *repository, base, sha string) bool {
	for _, pattern := range repo.settings.Required[base] {
		start, star := strings.CutSuffix(pattern, "*")
		if !slices.ContainsFunc(s.latest(repo, sha), func(st status) bool {
			return st.state == "success" && (st.context == pattern || star && strings.HasPrefix(st.context, start))
		}) {
			return false
		}
	}
	return true
}

// merge merges by a style; the lock is held. An empty value of wanted means any head.
func (s *Server) merge(repo *repository, p *pull, style, title, wanted string) (string, error) {
	heads := repo.Heads()
	head, base := heads[p.Head], heads[p.Base]
	if !slices.Contains(repo.settings.Methods, style) {
		return "", refused("%s is not allowed an allowed merge style for this repository", style)
	}
	if wanted != "" && wanted != head {
		return "", &refusal{http.StatusConflict, "head out of date"}
	}
	tree, err := repo.Tree(base, head)
	if err != nil {
		return "", err
	}
	sha := head
	linear := repo.MergeBase(base, head) == base
	switch {
	case linear && (style == "rebase" || style == "fast-forward-only"):
		err = repo.Move(p.Base, base, head)
	case style == "fast-forward-only":
		return "", errors.New("Merge DivergingFastForwardOnly Error: not possible to fast-forward")
	case style == "squash" || style == "rebase": // what cannot be fast-forwarded becomes one commit
		sha, err = repo.Commit(p.Base, tree, title, base)
	default:
		sha, err = repo.Commit(p.Base, tree, title, base, head)
	}
	if err != nil {
		return "", err
	}
	p.Open, p.Merged, p.MergeSHA, p.HeadSHA, p.MergeTime = false, true, sha, head, s.opt.Now()
	s.merges++
	s.hook("pull_request", "pull_request", s.wirePullEvent(p, "closed"))
	return sha, nil
}

// SetOpen closes or reopens a branch's pull request, as somebody would.
func (s *Server) SetOpen(repo, branch, who string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pull(repo, branch); p != nil && !p.Merged {
		p.Open = open
		event := s.wirePullEvent(p, map[bool]string{true: "reopened", false: "closed"}[open])
		event["sender"] = wireUser(who)
		s.hook("pull_request", "pull_request", event)
	}
}

// Merge merges a branch's open pull request, as a person would.
func (s *Server) Merge(repo, branch string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pull(repo, branch)
	if p == nil || !p.Open {
		return errors.New("giteatest: the branch has no open pull request")
	}
	r := s.repo(repo)
	_, err := s.merge(r, p, r.settings.Methods[0], "Merge pull request", "")
	return err
}
