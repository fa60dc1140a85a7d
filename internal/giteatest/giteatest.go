// Package giteatest is a Gitea server for tests and demonstrations, or a Forgejo one. It
// keeps pull requests, reviews and statuses in memory, and branches in real bare
// repositories: a push with git is seen, a merge makes real commits. CI is a function.
// Webhooks are signed and, as with the real one, never sent again. It can be made to fail
// in the usual ways; internal/fakehttp in front of it makes it sick as a whole.
//
// Its methods are called as githubtest's where they mean the same.
package giteatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehost"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Outcome holds what CI reports of a commit.
type Outcome = fakehost.Outcome

// Push is a branch head that CI is called with.
type Push = fakehost.Push

// Options of a Server.
type Options struct {
	Token    string             // empty = any
	Accounts map[string]string  // by further tokens, which have issues alone
	Secret   string             // of the webhooks
	HookURL  string             // empty = nowhere; see SetHookURL
	Forgejo  bool               // webhooks come with Forgejo's headers too
	CI       func(Push) Outcome // called in the background, for each head of an open pull request
	Poll     time.Duration      // how often the repositories are looked at for pushes; default 25 ms
	Seed     uint64             // of chance
	Now      func() time.Time
}

// Pull is a pull request.
type Pull = fakehost.Pull

type pull struct {
	Pull
	fork bool // the branch is another repository's
}

// Review is a review of a pull request.
type Review struct {
	ID                       int
	Author, State, SHA, Body string // State in Gitea's words: APPROVED, REQUEST_CHANGES, COMMENT, PENDING, REQUEST_REVIEW
	Official, Dismissed      bool
	At                       time.Time
}

type status struct {
	id                          int
	context, state, description string
	target                      string // page of the run
	at                          time.Time
}

type repository struct {
	*fakehost.Repo
	id       int
	name     string
	former   []string // names that lead here
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
	pulls    []*pull
	reviews  map[string][]Review // by pull request
	roles    map[string]string   // by account: admin, write, read or none
	statuses map[string][]status // by repo and commit, oldest first
	started  map[string]bool     // CI, by repo and commit
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
		reviews: map[string][]Review{}, roles: map[string]string{Self: "write"},
		statuses: map[string][]status{}, started: map[string]bool{},
	}
	s.issues = s.newIssues()
	s.api = &fakehost.API{Mux: s.mux(), World: &s.mu, Done: s.group.Context().Done(), Admit: s.admit, Refuse: refuse}
	s.api.Seed(o.Seed)
	s.hooks = fakehost.NewSender(s.group, o.Seed, s.head)
	s.hooks.SetURL(o.HookURL)
	s.group.Go("pushes", s.watch)
	return s
}

// Close stops CI and webhooks and waits for those under way.
func (s *Server) Close() { s.group.Stop() }

// AddRepo serves a bare repository under owner/name.
func (s *Server) AddRepo(name, bareDir string) error {
	bare, err := fakehost.Open(bareDir)
	if err != nil {
		return fmt.Errorf("giteatest: %w", err)
	}
	s.issues.AddRepo(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	s.repos = append(s.repos, &repository{
		Repo: bare, id: s.ids, name: name,
		settings: Settings{Push: true, Methods: []string{"merge", "squash", "rebase", "rebase-merge"}, Required: map[string][]string{}},
	})
	return nil
}

// Rename gives a repository another name. The old one leads to it.
func (s *Server) Rename(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(from)
	if r == nil {
		return
	}
	r.former, r.name = append(r.former, r.name), to
	for _, p := range s.pulls {
		if p.Repo == from {
			p.Repo = to
		}
	}
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
			s.changed(r, c)
		}
		s.orphans(r)
	}
}

// none is the commit of a branch that is not there.
const none = "0000000000000000000000000000000000000000"

// changed does what Gitea does after a push.
func (s *Server) changed(r *repository, c fakehost.Change) {
	switch {
	case c.After == "": // no push is sent
		s.hook("delete", "delete", s.wireDelete(r, c.Branch))
		return
	case c.Before == "":
		s.hook("create", "create", s.wireCreate(r, c.Branch, c.After))
		c.Before = none
	}
	s.hook("push", "push", s.wirePush(r, c.Branch, c.Before, c.After))
	for _, p := range s.pulls {
		if p.Repo == r.name && p.Head == c.Branch && p.Open && !p.fork {
			p.HeadSHA = c.After
			s.hook("pull_request", "pull_request_sync", s.wirePullEvent(p, "synchronized"))
			s.runCI(r, c.Branch, c.After)
		}
	}
}

// orphans closes what is open from branches that are gone.
func (s *Server) orphans(r *repository) {
	heads := r.Heads()
	for _, p := range s.pulls {
		if p.Repo == r.name && p.Open && !p.fork && heads[p.Head] == "" && !r.Has(p.Head) {
			p.Open = false
			s.hook("pull_request", "pull_request", s.wirePullEvent(p, "closed"))
		}
	}
}

// runCI starts CI on a commit, once.
func (s *Server) runCI(r *repository, branch, sha string) {
	key := r.name + " " + sha
	if s.opt.CI == nil || s.started[key] || len(s.statuses[key]) > 0 {
		return
	}
	s.started[key] = true
	push := Push{Repo: r.name, Branch: branch, SHA: sha, File: func(path string) ([]byte, error) { return r.File(sha, path) }}
	s.group.Go("ci", func(ctx context.Context) {
		outcome := s.opt.CI(push) // without the lock: it may call the server
		if outcome.Conclusion == "" {
			return
		}
		const name = "ci / build and test"
		target := "/" + push.Repo + "/actions/runs/1/jobs/0" // as of Gitea Actions, which leave the host out
		s.report(push.Repo, sha, status{context: name, state: "pending", description: outcome.Title, target: target})
		if run.Sleep(ctx, run.Real{}, outcome.After) != nil {
			return
		}
		state := outcome.Conclusion
		if !slices.Contains(states(), state) { // Gitea Actions report what was cancelled as failed
			state = "failure"
		}
		s.report(push.Repo, sha, status{context: name, state: state, description: outcome.Title, target: target})
	})
}

// states are those of a commit status.
func states() []string {
	return []string{"pending", "success", "error", "failure", "warning", "skipped"}
}

// SetStatus reports a commit status (pending, success, error, failure, warning or skipped).
func (s *Server) SetStatus(repo, sha, contextName, state string) {
	s.report(repo, sha, status{context: contextName, state: state})
}

// report stores a status, and sends a webhook.
func (s *Server) report(repo, sha string, st status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.repo(repo); r != nil {
		s.storeStatus(r, sha, st)
	}
}

// storeStatus stores a status and sends a webhook; its caller holds the lock.
func (s *Server) storeStatus(r *repository, sha string, st status) status {
	s.ids++
	st.id, st.at = s.ids, s.opt.Now()
	key := r.name + " " + sha
	s.statuses[key] = append(s.statuses[key], st)
	s.hook("status", "status", s.wireStatusEvent(r, sha, st))
	return st
}

// latest is the newest status of each context of a commit.
func (s *Server) latest(r *repository, sha string) (out []status) {
	for _, st := range s.statuses[r.name+" "+sha] {
		out = append(slices.DeleteFunc(out, func(o status) bool { return o.context == st.context }), st)
	}
	return out
}

// Pulls lists the pull requests, oldest first.
func (s *Server) Pulls() []Pull {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Pull
	for _, p := range s.pulls {
		out = append(out, p.Pull)
	}
	return out
}

// Fork opens a pull request from a branch of another repository, as anybody may.
func (s *Server) Fork(repo, branch, author, sha string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(repo)
	if r == nil {
		return errors.New("giteatest: no such repository")
	}
	s.open(r, &pull{fork: true, Pull: Pull{Title: "from elsewhere", Head: branch, Base: r.First(), HeadSHA: sha, Author: author}})
	return nil
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
