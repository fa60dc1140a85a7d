// Package fakeissues keeps the issues of a git host in memory, for the doubles of GitHub and
// Gitea: labels, comments, the log of changes, dependencies. It serves them in the wire form of
// either, and has the habits in which the two differ.
package fakeissues

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Host is the double that the issues are part of. All fields are required.
type Host struct {
	Gitea bool // speaks as Gitea does, otherwise as GitHub
	Mu    sync.Locker
	Now   func() time.Time
	// Login is the account of a request's token. The lock is held.
	Login func(*http.Request) string
	// Send sends a webhook; event is Gitea's event type. The lock is held.
	Send func(event string, payload map[string]any)
	// Pulls are the pull requests of a repository, which are issues too. The lock is held.
	Pulls func(repo string) []Pull
}

// Pull is a pull request in a list of issues.
type Pull struct {
	Number int
	Title  string
	Open   bool
	At     time.Time
}

// Label is a label of a repository.
type Label struct {
	ID          int
	Name, Color string
	Exclusive   bool // Gitea: an issue has one of its scope
}

// Comment is a comment of an issue.
type Comment struct {
	ID           int
	Author, Body string
	At, Edited   time.Time
}

// Change is an entry of an issue's log.
type Change struct {
	ID     int
	Kind   string // labeled, unlabeled, closed, reopened
	Label  Label
	Author string
	At     time.Time
}

// Issue is an issue.
type Issue struct {
	Repo                string
	Number              int
	Author, Title, Body string
	Open                bool
	Labels              []Label
	Created, Updated    time.Time
	Comments            []Comment
	Log                 []Change
	BlockedBy           []int // issues of the repository
}

// Person holds what the page of an account shows.
type Person struct{ Login, Name, Email string }

type repository struct {
	name   string
	labels []Label
	issues []*Issue
}

// Issues are those of all repositories. Its methods take the lock of the double.
type Issues struct {
	host    Host
	ids     int
	repos   []*repository
	people  []Person
	pageMax int
	related bool // dependencies are served
}

// New makes issues without any.
func New(h Host) *Issues {
	s := &Issues{host: h, pageMax: 100, related: true}
	if h.Gitea {
		s.pageMax = 50
	}
	return s
}

func (s *Issues) id() int { s.ids++; return s.ids }

func (s *Issues) lock() func() { s.host.Mu.Lock(); return s.host.Mu.Unlock }

// find is a repository; nil when there is none.
func (s *Issues) find(name string) *repository {
	for _, r := range s.repos {
		if strings.EqualFold(r.name, name) {
			return r
		}
	}
	return nil
}

// AddRepo makes a repository without labels and issues.
func (s *Issues) AddRepo(name string) {
	defer s.lock()()
	s.repo(name)
}

// repo is a repository, which is made when it is named first.
func (s *Issues) repo(name string) *repository {
	r := s.find(name)
	if r == nil {
		r = &repository{name: name}
		s.repos = append(s.repos, r)
	}
	return r
}

func (s *Issues) issue(repo string, number int) *Issue {
	if r := s.find(repo); r != nil {
		for _, i := range r.issues {
			if i.Number == number {
				return i
			}
		}
	}
	return nil
}

// Count is how many numbers of a repository are issues: pull requests have the others. The
// lock is held.
func (s *Issues) Count(repo string) int {
	if r := s.find(repo); r != nil {
		return len(r.issues)
	}
	return 0
}

// SetPageMax bounds the pages of lists, as an administrator of Gitea may.
func (s *Issues) SetPageMax(rows int) {
	defer s.lock()()
	s.pageMax = rows
}

// SetRelated sets whether dependencies are served, as they are from the beginning.
func (s *Issues) SetRelated(is bool) {
	defer s.lock()()
	s.related = is
}

// AddPerson adds an account.
func (s *Issues) AddPerson(p Person) {
	defer s.lock()()
	s.people = append(s.people, p)
}

// AddLabel adds a label to a repository, one of a scope (scope/name) exclusive at Gitea.
func (s *Issues) AddLabel(repo, name string) {
	defer s.lock()()
	s.addLabel(s.repo(repo), Label{Name: name, Color: "ededed", Exclusive: s.host.Gitea && strings.Contains(name, "/")})
}

func (s *Issues) addLabel(r *repository, l Label) Label {
	l.ID = s.id()
	r.labels = append(r.labels, l)
	return l
}

// DeleteLabel deletes a label, of the repository and of all its issues.
func (s *Issues) DeleteLabel(repo, name string) {
	defer s.lock()()
	r := s.repo(repo)
	r.labels = slices.DeleteFunc(r.labels, called(name))
	for _, i := range r.issues {
		i.Labels = slices.DeleteFunc(i.Labels, called(name))
	}
}

// Labels lists the labels of a repository.
func (s *Issues) Labels(repo string) []Label {
	defer s.lock()()
	return slices.Clone(s.repo(repo).labels)
}

func called(name string) func(Label) bool {
	return func(l Label) bool { return strings.EqualFold(l.Name, name) }
}

// Open makes an issue, as a person does, and returns its number.
func (s *Issues) Open(repo, author, title, body string) int {
	defer s.lock()()
	r := s.repo(repo)
	now := s.host.Now()
	i := &Issue{
		Repo: r.name, Number: len(r.issues) + len(s.host.Pulls(repo)) + 1,
		Author: author, Title: title, Body: body, Open: true, Created: now, Updated: now,
	}
	r.issues = append(r.issues, i)
	s.sendIssue(i, "opened", author, nil)
	return i.Number
}

// Label gives an issue a label, as a person does: at Gitea an exclusive one takes the place of the
// others of its scope.
func (s *Issues) Label(repo string, number int, actor, name string) error {
	return s.relabel(repo, number, actor, func(r *repository, i *Issue) ([]Label, error) {
		n := slices.IndexFunc(r.labels, called(name))
		if n < 0 {
			return nil, fmt.Errorf("fakeissues: %s has no label %q", repo, name)
		}
		return append(slices.Clone(i.Labels), r.labels[n]), nil
	})
}

// Unlabel takes a label from an issue, as a person does.
func (s *Issues) Unlabel(repo string, number int, actor, name string) error {
	return s.relabel(repo, number, actor, func(_ *repository, i *Issue) ([]Label, error) {
		return slices.DeleteFunc(slices.Clone(i.Labels), called(name)), nil
	})
}

func (s *Issues) relabel(repo string, number int, actor string, labels func(*repository, *Issue) ([]Label, error)) error {
	defer s.lock()()
	i := s.issue(repo, number)
	if i == nil {
		return fmt.Errorf("fakeissues: %s has no issue %d", repo, number)
	}
	list, err := labels(s.repo(repo), i)
	if err == nil {
		s.setLabels(i, actor, list)
	}
	return err
}

// scope is that of an exclusive label; empty: it has none.
func (l Label) scope() string {
	at := strings.LastIndexByte(l.Name, '/')
	if !l.Exclusive || at < 0 {
		return ""
	}
	return l.Name[:at]
}

// setLabels replaces the labels of an issue; of those of a scope the last one stays.
func (s *Issues) setLabels(i *Issue, actor string, list []Label) {
	var want []Label
	for n, l := range list {
		again := func(o Label) bool { return o.ID == l.ID || l.scope() != "" && o.scope() == l.scope() }
		if !slices.ContainsFunc(list[n+1:], again) {
			want = append(want, l)
		}
	}
	had := i.Labels
	i.Labels = want
	changed := false
	for _, l := range had {
		if !slices.Contains(want, l) {
			s.changed(i, Change{Kind: "unlabeled", Label: l, Author: actor})
			changed = true
		}
	}
	for _, l := range want {
		if !slices.Contains(had, l) {
			s.changed(i, Change{Kind: "labeled", Label: l, Author: actor})
			changed = true
		}
	}
	if changed && s.host.Gitea { // one webhook for all of them
		s.sendIssue(i, "label_updated", actor, nil)
	}
}

func (s *Issues) changed(i *Issue, c Change) {
	c.ID, c.At = s.id(), s.host.Now()
	i.Log, i.Updated = append(i.Log, c), c.At
	switch {
	case c.Label.ID == 0:
		s.sendIssue(i, c.Kind, c.Author, nil)
	case !s.host.Gitea:
		s.sendIssue(i, c.Kind, c.Author, &c.Label)
	}
}

// SetOpen opens or closes an issue, as a person does.
func (s *Issues) SetOpen(repo string, number int, actor string, open bool) {
	defer s.lock()()
	if i := s.issue(repo, number); i != nil {
		s.setOpen(i, actor, open)
	}
}

func (s *Issues) setOpen(i *Issue, actor string, open bool) {
	if i.Open == open {
		return
	}
	i.Open = open
	s.changed(i, Change{Kind: map[bool]string{true: "reopened", false: "closed"}[open], Author: actor})
}

// Say adds a comment, as a person does.
func (s *Issues) Say(repo string, number int, author, body string) error {
	defer s.lock()()
	i := s.issue(repo, number)
	if i == nil {
		return fmt.Errorf("fakeissues: %s has no issue %d", repo, number)
	}
	s.say(i, author, body)
	return nil
}

func (s *Issues) say(i *Issue, author, body string) Comment {
	now := s.host.Now()
	c := Comment{ID: s.id(), Author: author, Body: body, At: now, Edited: now}
	i.Comments, i.Updated = append(i.Comments, c), now
	s.sendComment(i, c, "created", author)
	return c
}

// Block makes an issue a prerequisite of another of the repository.
func (s *Issues) Block(repo string, number, by int) {
	defer s.lock()()
	if i := s.issue(repo, number); i != nil {
		i.BlockedBy = append(i.BlockedBy, by)
	}
}

// Issue is an issue as it is now.
func (s *Issues) Issue(repo string, number int) (out Issue) {
	defer s.lock()()
	if i := s.issue(repo, number); i != nil {
		out = *i
		out.Labels, out.Comments, out.Log = slices.Clone(i.Labels), slices.Clone(i.Comments), slices.Clone(i.Log)
	}
	return out
}

// DeleteComments deletes the comments of an issue, as an administrator may.
func (s *Issues) DeleteComments(repo string, number int) {
	defer s.lock()()
	if i := s.issue(repo, number); i != nil {
		i.Comments = nil
	}
}
