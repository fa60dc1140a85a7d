// Package githubtest is a GitHub server for tests and demonstrations. It keeps
// pull requests, reviews and checks in memory, and branches in real bare
// repositories: a push with git is seen, a merge makes a real merge commit. CI is
// a function. Webhooks are signed and, as with the real one, never sent again.
// It can be made to fail in the usual ways.
package githubtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehost"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Outcome holds what CI says of a commit.
type Outcome = fakehost.Outcome

// Push is a branch head that CI is called with.
type Push = fakehost.Push

// Options of a Server.
type Options struct {
	Token    string             // empty = any
	Accounts map[string]string  // by further tokens, which have issues alone
	App      *App               // whose installations may sign in beside Token
	Secret   string             // of the webhooks
	HookURL  string             // empty = nowhere; see SetHookURL
	CI       func(Push) Outcome // called in the background, for each head of an open pull request
	Poll     time.Duration      // how often the repositories are looked at for pushes; default 25 ms
	Seed     uint64             // of chance
	Now      func() time.Time
}

// Pull is a pull request.
type Pull = fakehost.Pull

// Review is a review of a pull request.
type Review struct {
	ID                       int
	Author, State, SHA, Body string // State in capitals
	At                       time.Time
}

type checkRun struct {
	id                              int
	app                             string
	name, status, conclusion, title string
}

type status struct{ context, state, description string }

type repository struct {
	*fakehost.Repo
	name     string // of AddRepo, and of the methods of a Server
	called   string // see Rename
	settings Settings
}

// Server is an http.Handler.
type Server struct {
	opt   Options
	group *run.Group
	api   *fakehost.API
	hooks *fakehost.Sender

	mu       sync.Mutex
	ids      int
	repos    []*repository
	pulls    []*Pull
	reviews  map[string][]Review   // by pull request
	roles    map[string]string     // by account: admin, write, read or none
	checks   map[string][]checkRun // by repo and commit
	suites   map[string][]suite    // that have no run, by repo and commit
	statuses map[string][]status
	issued   []issued                 // tokens of installations
	shown    map[string]shown         // of failures, by number of the check run
	lines    map[string][]LineComment // by pull request
	said     map[string][]string      // comments, by pull request
	started  map[string]bool          // CI, by repo and commit
	merges   int
	issues   *Issues
}

// New makes a server without repositories. Close ends its goroutines.
func New(o Options) *Server {
	if o.Poll <= 0 {
		o.Poll = 25 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{
		opt: o, group: run.New(context.Background(), nil),
		reviews: map[string][]Review{}, roles: map[string]string{Self: "write"}, checks: map[string][]checkRun{},
		suites: map[string][]suite{}, statuses: map[string][]status{}, started: map[string]bool{},
		shown: map[string]shown{}, lines: map[string][]LineComment{}, said: map[string][]string{},
	}
	s.issues = s.newIssues()
	s.api = &fakehost.API{Mux: s.routes(), World: &s.mu, Done: s.group.Context().Done(), Admit: s.admit, Refuse: s.refuse}
	s.api.Seed(o.Seed)
	s.hooks = fakehost.NewSender(s.group, o.Seed, s.head)
	s.hooks.SetURL(o.HookURL)
	s.group.Go("pushes", s.watch)
	return s
}

// Close stops CI and webhooks and waits for those under way.
func (s *Server) Close() { s.group.Stop() }

// SetHookURL sets where webhooks go from now on.
func (s *Server) SetHookURL(url string) { s.hooks.SetURL(url) }

// AddRepo serves a bare repository under owner/name.
func (s *Server) AddRepo(name, bareDir string) error {
	bare, err := fakehost.Open(bareDir)
	if err != nil {
		return fmt.Errorf("githubtest: %w", err)
	}
	s.issues.AddRepo(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos = append(s.repos, &repository{
		Repo: bare, name: name, called: name,
		settings: Settings{
			Push: true, Methods: []string{"merge", "squash", "rebase"},
			Required: map[string][]string{}, Rules: map[string][]string{},
		},
	})
	return nil
}

// Rename gives a repository another name in all that is served and sent. The old one leads there:
// reads with 301, all else with 307.
func (s *Server) Rename(name, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repo(name).called = to
}

// named finds the repository of a path; it has answered when there is none, or when it is called
// otherwise now.
func (s *Server) named(w http.ResponseWriter, r *http.Request) *repository {
	name := r.PathValue("owner") + "/" + r.PathValue("repo")
	for i, repo := range s.repos {
		switch {
		case strings.EqualFold(repo.called, name), name == fmt.Sprintf("repositories/%d", i):
			return repo
		case strings.EqualFold(repo.name, name):
			rest := strings.TrimPrefix(r.URL.RequestURI(), "/repos/"+name)
			w.Header().Set("Location", strings.Repeat("../", strings.Count(r.URL.Path, "/")-1)+fmt.Sprintf("repos/repositories/%d", i)+rest)
			w.WriteHeader(map[bool]int{true: http.StatusMovedPermanently, false: http.StatusTemporaryRedirect}[r.Method == http.MethodGet])
			return nil
		}
	}
	fail(w, http.StatusNotFound, "Not Found")
	return nil
}

func (s *Server) repo(name string) *repository {
	for _, r := range s.repos {
		if strings.EqualFold(r.name, name) {
			return r
		}
	}
	return nil
}

// watch looks for pushes.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(s.opt.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.look()
		}
	}
}

// look compares every repository's heads with those that were seen last.
func (s *Server) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repos {
		for _, c := range r.Changes() {
			if c.After == "" {
				s.hook("push", s.wirePush(r, c.Branch, c.Before, strings.Repeat("0", 40)))
			} else {
				s.pushed(r, c.Branch, c.Before, c.After)
			}
		}
		s.orphans(r)
	}
}

// pushed does what GitHub does after a push.
func (s *Server) pushed(r *repository, branch, before, sha string) {
	if before == "" {
		before = strings.Repeat("0", 40)
	}
	s.hook("push", s.wirePush(r, branch, before, sha))
	for _, p := range s.pulls {
		if p.Repo == r.name && p.Head == branch && p.Open {
			p.HeadSHA = sha
			s.hook("pull_request", s.wirePullEvent(p, "synchronize"))
			s.runCI(r, branch, sha)
		}
	}
}

// orphans closes what is open from branches that are gone.
func (s *Server) orphans(r *repository) {
	heads := r.Heads()
	for _, p := range s.pulls {
		if p.Repo == r.name && p.Open && heads[p.Head] == "" && !r.Has(p.Head) {
			p.Open = false
			s.hook("pull_request", s.wirePullEvent(p, "closed"))
		}
	}
}

// runCI starts CI on a commit, once.
func (s *Server) runCI(r *repository, branch, sha string) {
	key := r.name + " " + sha
	if s.opt.CI == nil || s.started[key] || len(s.checks[key]) > 0 {
		return
	}
	s.started[key] = true
	push := Push{Repo: r.name, Branch: branch, SHA: sha, File: func(path string) ([]byte, error) { return r.File(sha, path) }}
	s.group.Go("ci", func(ctx context.Context) {
		outcome := s.opt.CI(push) // without the lock: it may call the server
		if outcome.Conclusion == "" {
			return
		}
		c := s.ciReports(r, push, checkRun{app: Actions, name: "ci / build and test", status: "in_progress", title: outcome.Title})
		if run.Sleep(ctx, run.Real{}, outcome.After) != nil {
			return
		}
		c.status, c.conclusion = "completed", outcome.Conclusion
		s.ciReports(r, push, c)
	})
}

// ciReports stores a check run, and sends a webhook.
func (s *Server) ciReports(r *repository, p Push, c checkRun) checkRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	action := c.status
	if c.id == 0 {
		s.ids++
		c.id, action = s.ids, "created"
	}
	s.replace(p.Repo+" "+p.SHA, c)
	s.hook("check_run", s.wireCheckEvent(r, p.Branch, p.SHA, c, action))
	if c.status == "completed" {
		s.hook("check_suite", s.wireSuiteEvent(r, p.Branch, p.SHA, c))
	}
	return c
}

func (s *Server) replace(key string, c checkRun) {
	list := s.checks[key]
	for i := range list {
		if list[i].name == c.name && list[i].app == c.app {
			list[i] = c
			return
		}
	}
	s.checks[key] = append(list, c)
}

// SetCheckRun reports a check run of a commit, as a job of a workflow does.
func (s *Server) SetCheckRun(repo, sha, name, statusWord, conclusion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	s.replace(repo+" "+sha, checkRun{id: s.ids, app: Actions, name: name, status: statusWord, conclusion: conclusion})
}

// SetStatus reports a commit status (pending, success, failure or error).
func (s *Server) SetStatus(repo, sha, contextName, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := repo + " " + sha
	others := slices.DeleteFunc(s.statuses[key], func(o status) bool { return o.context == contextName })
	s.statuses[key] = append(others, status{contextName, state, ""})
	if r := s.repo(repo); r != nil {
		s.hook("status", s.wireStatusEvent(r, sha, contextName, state))
	}
}

// Review submits a review of a branch's open pull request, as a person would.
// The state is APPROVED, CHANGES_REQUESTED, COMMENTED or DISMISSED; an empty sha
// is the head.
func (s *Server) Review(repo, branch, author, state, sha, body string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pull(repo, branch)
	if p == nil {
		return errors.New("githubtest: the branch has no pull request")
	}
	if sha == "" {
		sha = p.HeadSHA
	}
	s.ids++
	r := Review{ID: s.ids, Author: author, State: state, SHA: sha, Body: body, At: s.opt.Now()}
	key := fmt.Sprintf("%s#%d", p.Repo, p.Number)
	s.reviews[key] = append(s.reviews[key], r)
	s.hook("pull_request_review", s.wireReviewEvent(p, r))
	return nil
}

// SetOpen closes or reopens a branch's pull request, as somebody would.
func (s *Server) SetOpen(repo, branch, who string, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pull(repo, branch); p != nil && !p.Merged {
		p.Open = open
		event := s.wirePullEvent(p, map[bool]string{true: "reopened", false: "closed"}[open])
		event["sender"] = wireUser(who)
		s.hook("pull_request", event)
	}
}

// Merge merges a branch's open pull request, as a person would.
func (s *Server) Merge(repo, branch string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pull(repo, branch)
	if p == nil || !p.Open {
		return errors.New("githubtest: the branch has no open pull request")
	}
	_, err := s.merge(p, "Merge pull request", "", "merge")
	return err
}

// pull is the newest pull request of a branch.
func (s *Server) pull(repo, branch string) *Pull {
	for _, p := range slices.Backward(s.pulls) {
		if strings.EqualFold(p.Repo, repo) && p.Head == branch {
			return p
		}
	}
	return nil
}

// Pulls lists the pull requests, oldest first.
func (s *Server) Pulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Pull
	for _, p := range s.pulls {
		out = append(out, *p)
	}
	return out
}

// Merges counts the merges that were made.
func (s *Server) Merges() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.merges
}

// Heads lists a repository's branches with their heads.
func (s *Server) Heads(repo string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.repo(repo); r != nil {
		return r.Heads()
	}
	return nil
}
