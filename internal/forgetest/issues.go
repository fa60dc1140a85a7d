package forgetest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

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

// Issues are the issues of all repositories of a server, with what people do to them; they have
// their numbers together with pull requests. A repository need not be added for them.
type Issues struct{ *Server }

// Issues gives the issues of the server.
func (s *Server) Issues() *Issues { return &Issues{s} }

func (s *Server) issue(repo string, number int) *Issue {
	if r := s.repo(repo); r != nil {
		for _, i := range r.issues {
			if i.Number == number {
				return i
			}
		}
	}
	return nil
}

// SetPageMax bounds the pages of all lists, as an administrator of Gitea may.
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
	s.addLabel(s.made(repo), Label{Name: name, Color: "ededed", Exclusive: s.gitea && strings.Contains(name, "/")})
}

func (s *Server) addLabel(r *repository, l Label) Label {
	l.ID = s.id()
	r.labels = append(r.labels, l)
	return l
}

// DeleteLabel deletes a label, of the repository and of all its issues.
func (s *Issues) DeleteLabel(repo, name string) {
	defer s.lock()()
	r := s.made(repo)
	r.labels = slices.DeleteFunc(r.labels, called(name))
	for _, i := range r.issues {
		i.Labels = slices.DeleteFunc(i.Labels, called(name))
	}
}

// Labels lists the labels of a repository.
func (s *Issues) Labels(repo string) []Label {
	defer s.lock()()
	return slices.Clone(s.made(repo).labels)
}

func called(name string) func(Label) bool {
	return func(l Label) bool { return strings.EqualFold(l.Name, name) }
}

// Open makes an issue, as a person does, and returns its number.
func (s *Issues) Open(repo, author, title, body string) int {
	defer s.lock()()
	return s.openIssue(s.made(repo), author, title, body).Number
}

func (s *Server) openIssue(r *repository, author, title, body string) *Issue {
	now := s.opt.Now()
	i := &Issue{
		Repo: r.name, Number: s.number(r),
		Author: author, Title: title, Body: body, Open: true, Created: now, Updated: now,
	}
	r.issues = append(r.issues, i)
	s.sendIssue(i, "opened", author, nil)
	return i
}

// Label gives an issue a label, as a person does: at Gitea an exclusive one takes the place of the
// others of its scope.
func (s *Issues) Label(repo string, number int, actor, name string) error {
	return s.relabel(repo, number, actor, func(r *repository, i *Issue) ([]Label, error) {
		n := slices.IndexFunc(r.labels, called(name))
		if n < 0 {
			return nil, fmt.Errorf("forgetest: %s has no label %q", repo, name)
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
		return fmt.Errorf("forgetest: %s has no issue %d", repo, number)
	}
	list, err := labels(s.made(repo), i)
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
func (s *Server) setLabels(i *Issue, actor string, list []Label) {
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
			s.logged(i, Change{Kind: "unlabeled", Label: l, Author: actor})
			changed = true
		}
	}
	for _, l := range want {
		if !slices.Contains(had, l) {
			s.logged(i, Change{Kind: "labeled", Label: l, Author: actor})
			changed = true
		}
	}
	if changed && s.gitea { // one webhook for all of them
		s.sendIssue(i, "label_updated", actor, nil)
	}
}

func (s *Server) logged(i *Issue, c Change) {
	c.ID, c.At = s.id(), s.opt.Now()
	i.Log, i.Updated = append(i.Log, c), c.At
	switch {
	case c.Label.ID == 0:
		s.sendIssue(i, c.Kind, c.Author, nil)
	case !s.gitea:
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

func (s *Server) setOpen(i *Issue, actor string, open bool) {
	if i.Open == open {
		return
	}
	i.Open = open
	s.logged(i, Change{Kind: map[bool]string{true: "reopened", false: "closed"}[open], Author: actor})
}

// Say adds a comment, as a person does.
func (s *Issues) Say(repo string, number int, author, body string) error {
	defer s.lock()()
	i := s.issue(repo, number)
	if i == nil {
		return fmt.Errorf("forgetest: %s has no issue %d", repo, number)
	}
	s.say(i, s.comment(author, body))
	return nil
}

func (s *Server) comment(author, body string) Comment {
	now := s.opt.Now()
	return Comment{ID: s.id(), Author: author, Body: body, At: now, Edited: now}
}

func (s *Server) say(i *Issue, c Comment) {
	i.Comments, i.Updated = append(i.Comments, c), c.At
	s.sendComment(i, c, "created", c.Author)
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
