// Package forgetest is a git host for tests and demonstrations: GitHub, Gitea or Forgejo. It
// keeps pull requests, reviews, checks and issues in memory, and branches in real bare
// repositories: a push with git is seen, a merge makes real commits. CI is a function.
// Webhooks are signed and, as with the real ones, never sent again. It can be made to fail
// in the usual ways; a fakehttp.Switch in front of it makes it sick as a whole.
//
// There is one model of a host. What the hosts have in different words is a row of their
// dialect, and the calls that one of them has alone are in the file of its name.
package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Self is the account of the service's token.
const Self = "signalbox-bot"

// Outcome holds what CI reports of a commit.
type Outcome struct {
	Conclusion string // success, failure, cancelled, …; empty = nothing runs
	Title      string
	After      time.Duration
}

// Push is a branch head that CI is called with.
type Push struct {
	Repo, Branch, SHA string
	// File reads a file of the commit.
	File func(path string) ([]byte, error)
}

// Options of a Server.
type Options struct {
	Token   string             // empty = any
	App     *App               // GitHub: whose installations may sign in beside Token
	Secret  string             // of the webhooks
	HookURL string             // empty = nowhere; see SetHookURL
	Forgejo bool               // Gitea: webhooks come with Forgejo's headers too
	CI      func(Push) Outcome // called in the background, for each head of an open pull request
	Poll    time.Duration      // how often the repositories are looked at for pushes; default 25 ms
	Seed    uint64             // of chance
	Now     func() time.Time
}

// Pull is a pull request.
type Pull struct {
	Repo               string
	Number             int
	Title, Body        string
	Head, Base         string // branches
	HeadSHA            string // of the last push, also when it is closed
	Author             string
	Open, Merged       bool
	Draft              bool // at Gitea by a title that begins with WIP: too
	MergeSHA           string
	Created, MergeTime time.Time
}

type pull struct {
	Pull
	repo    *repository
	fork    bool // the branch is another repository's
	reviews []Review
	lines   []LineComment
	said    []Comment
	removal object // the last from the merge queue
}

type repository struct {
	*Repo           // nil: it has nothing but issues
	id       int    // above zero
	name     string // of AddRepo, and of Pull; methods of a Server take it always
	called   string // see Rename
	former   []string
	settings Settings
	commits  map[string]*commit
	labels   []Label
	issues   []*Issue
	queue    []*pull // of the base of each
}

// commit holds what was reported of one.
type commit struct {
	checks   []checkRun
	suites   []suite  // that have no run
	statuses []status // oldest first
	started  bool     // CI
}

func (r *repository) commit(sha string) *commit {
	if r.commits[sha] == nil {
		r.commits[sha] = &commit{}
	}
	return r.commits[sha]
}

// Server is an http.Handler, whose calls can be made to fail. The call is called as in
// Break("PUT /repos/{owner}/{repo}/pulls/{number}/merge", Denied), at Gitea after Prefix.
type Server struct {
	*fakehttp.API
	*fakehttp.Sender

	dialect

	opt   Options
	group *run.Group

	mu      sync.Mutex
	ids     int
	repos   []*repository
	pulls   []*pull
	roles   map[string]string // by account: admin, write, read or none
	people  []Person
	issued  []issued         // tokens of installations
	shown   map[string]shown // of failures, by number of the check run
	merges  int
	related bool // dependencies of issues are served
}

// NewGitHub makes a GitHub without repositories. Close ends its goroutines.
func NewGitHub(o Options) *Server { return begin(github(), o) }

// NewGitea makes a Gitea without repositories. Close ends its goroutines.
func NewGitea(o Options) *Server { return begin(gitea(), o) }

func begin(d dialect, o Options) *Server {
	if o.Poll <= 0 {
		o.Poll = 25 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{
		dialect: d, opt: o, group: run.New(context.Background(), nil), related: true,
		roles: map[string]string{Self: "write"}, shown: map[string]shown{},
	}
	mux := s.mux()
	s.API = &fakehttp.API{
		Serve: mux, Call: func(r *http.Request) string { _, call := mux.Handler(r); return call }, BodyMax: 1 << 20, Tags: !s.gitea,
		World: &s.mu, Done: s.group.Context().Done(), Admit: s.admit, Refuse: s.refuse,
	}
	s.Seed(o.Seed)
	s.Sender = fakehttp.NewSender(s.group, o.Seed, func(h http.Header, d fakehttp.Delivery) { s.head(s, h, d) })
	s.SetHookURL(o.HookURL)
	s.group.Go("pushes", s.watch)
	return s
}

// Close stops CI and webhooks and waits for those under way.
func (s *Server) Close() { s.group.Stop() }

// lock is for the first line of a method: defer s.lock()().
func (s *Server) lock() func() { s.mu.Lock(); return s.mu.Unlock }

func (s *Server) id() int { s.ids++; return s.ids }

// AddRepo serves a bare repository under owner/name.
func (s *Server) AddRepo(name, bareDir string) error {
	bare, err := Open(bareDir)
	if err != nil {
		return fmt.Errorf("forgetest: %w", err)
	}
	defer s.lock()()
	r := s.made(name)
	r.Repo = bare
	r.settings = Settings{
		Push: true, Methods: slices.Clone(s.methods), Required: map[string][]string{}, Rules: map[string][]string{},
	}
	return nil
}

// made is a repository, which is made when it is named first.
func (s *Server) made(name string) *repository {
	r := s.repo(name)
	if r == nil {
		r = &repository{id: len(s.repos) + 1, name: name, called: name, commits: map[string]*commit{}}
		s.repos = append(s.repos, r)
	}
	return r
}

// Rename gives a repository another name in all that is served and sent. The old one leads there.
func (s *Server) Rename(name, to string) {
	defer s.lock()()
	r := s.repo(name)
	r.former, r.called = append(r.former, r.called), to
}

// was reports whether a repository had a name: it leads on from there.
func (r *repository) was(name string) bool {
	return strings.EqualFold(r.name, name) || slices.Contains(r.former, name)
}

// RepoID is the number of a repository.
func (s *Server) RepoID(name string) int64 {
	defer s.lock()()
	return int64(s.repo(name).id)
}

func (s *Server) repo(name string) *repository {
	for _, r := range s.repos {
		if r.was(name) || strings.EqualFold(r.called, name) {
			return r
		}
	}
	return nil
}

// watch looks for pushes.
func (s *Server) watch(ctx context.Context) {
	for run.Sleep(ctx, run.Real{}, s.opt.Poll) == nil {
		s.look()
	}
}

// look compares every repository's heads with those that were seen last.
func (s *Server) look() {
	defer s.lock()()
	for _, r := range s.repos {
		if r.Repo == nil {
			continue
		}
		for _, c := range r.Changes() {
			s.changed(r, c)
		}
		s.orphans(r)
	}
}

// changed does what a host does after a push.
func (s *Server) changed(r *repository, c headChange) {
	none := strings.Repeat("0", 40) // the commit of a branch that is not there
	gone, made := c.After == "", c.Before == ""
	switch {
	case gone && s.gitea: // no push is sent
		s.send("delete", s.event(r, "someone", object{"ref": c.Branch, "ref_type": "branch", "pusher_type": "user"}))
		return
	case gone:
		c.After = none
	case made:
		if s.gitea {
			s.send("create", s.event(r, "someone", object{"sha": c.After, "ref": c.Branch, "ref_type": "branch"}))
		}
		c.Before = none
	}
	s.send("push", s.event(r, "someone", s.wirePush(c, made, gone)))
	for _, p := range s.pulls {
		if p.repo == r && p.Head == c.Branch && p.Open && !p.fork && !gone {
			p.HeadSHA = c.After
			s.unqueue(p, "someone", "BRANCH_INVALIDATED", "")
			s.send("pull_request_sync", s.wirePullEvent(p, s.synced))
			s.runCI(r, c.Branch, c.After)
		}
	}
}

// orphans closes what is open from branches that are gone.
func (s *Server) orphans(r *repository) {
	heads := r.Heads()
	for _, p := range s.pulls {
		if p.repo == r && p.Open && !p.fork && heads[p.Head] == "" && !r.Has(p.Head) {
			p.Open = false
			s.unqueue(p, "someone", "DEQUEUED", "")
			s.send("pull_request", s.wirePullEvent(p, "closed"))
		}
	}
}

// open numbers a pull request and shows it.
func (s *Server) open(r *repository, p *pull) *pull {
	p.repo, p.Repo, p.Number, p.Open, p.Created = r, r.name, s.number(r), true, s.opt.Now()
	s.pulls = append(s.pulls, p)
	s.send("pull_request", s.wirePullEvent(p, "opened"))
	return p
}

// number is the next one of a repository, which pull requests and issues have together.
func (s *Server) number(r *repository) int {
	n := 1 + len(r.issues)
	for _, p := range s.pulls {
		if p.repo == r {
			n++
		}
	}
	return n
}

// ChangePull changes a branch's pull request that is not merged, as somebody would: the action is the host's word for that.
func (s *Server) ChangePull(repo, branch, who, action string, change func(*Pull)) {
	defer s.lock()()
	if p := s.pull(repo, branch); p != nil && !p.Merged {
		if change(&p.Pull); !p.Open || p.isDraft() {
			s.unqueue(p, who, "DEQUEUED", "")
		}
		event := s.wirePullEvent(p, action)
		event["sender"] = s.wireUser(who)
		s.send("pull_request", event)
	}
}

// Fork opens a pull request from a branch of another repository, as anybody may.
func (s *Server) Fork(repo, branch, author, sha string) error {
	defer s.lock()()
	r := s.repo(repo)
	if r == nil {
		return errors.New("forgetest: no such repository")
	}
	s.open(r, &pull{fork: true, Pull: Pull{Title: "from elsewhere", Head: branch, Base: r.First(), HeadSHA: sha, Author: author}})
	return nil
}

var errNoPull = errors.New("forgetest: the branch has no pull request, or none that is open")

// Merge merges a branch's open pull request, as a person would.
func (s *Server) Merge(repo, branch string) error {
	defer s.lock()()
	p := s.pull(repo, branch)
	if p == nil || !p.Open {
		return errNoPull
	}
	_, err := s.merge(p, p.repo.settings.Methods[0], "Merge pull request", "")
	return err
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

// Pulls lists the pull requests, oldest first.
func (s *Server) Pulls() (out []Pull) {
	defer s.lock()()
	for _, p := range s.pulls {
		out = append(out, p.Pull)
	}
	return out
}

// Merges counts the merges that were made.
func (s *Server) Merges() int {
	defer s.lock()()
	return s.merges
}

// Heads lists a repository's branches with their heads.
func (s *Server) Heads(repo string) map[string]string {
	defer s.lock()()
	if r := s.repo(repo); r != nil {
		return r.Heads()
	}
	return nil
}
