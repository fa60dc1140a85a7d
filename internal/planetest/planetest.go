// Package planetest is a Plane server in memory, for tests and demonstrations.
// It speaks the REST API v1 as far as package plane uses it, and sends signed
// webhooks, with the habits of the real server: one webhook for each changed
// field, its own changes included; a new delivery id for each attempt; no second
// attempt after any HTTP answer; a redirect where the slash is missing; a
// state_id in a PATCH ignored; a second comment with the same external id
// refused with 409; cards that go without a webhook; members and guests; 60 requests
// a minute for each token; an updated_at that a comment, a PATCH of nothing new and the second
// save of a drag move on. It can be made to fail in the usual ways.
package planetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Options of a Server.
type Options struct {
	Workspace string            // slug
	Tokens    map[string]string // account id by API token
	Secret    string            // of the webhook
	HookURL   string            // where webhooks go; empty = nowhere; see SetHookURL
	Hooks     *http.Client      // sends webhooks; nil = one of its own
	RetryWait time.Duration     // before a webhook whose connection failed is sent again; default 200 ms
	Drag      time.Duration     // between the two saves of a drag; on a real server about a second
	RateLimit int               // API calls per token in any 60 s; 0 = 60, as Plane has it; Unlimited
	NoLog     bool              // activities are not served, as by old servers
	Relations string            // the form of relations: "" = as from 1.3.1 on, "1.3.0", or "none" as before that
	Seed      uint64            // of chance
	Now       func() time.Time
}

// Unlimited is an Options.RateLimit of a server that has none, and says nothing of one.
const Unlimited = -1

// Item is a work item.
type Item struct {
	ID, Project, Name, HTML string
	Creator                 string // account
	Sequence                int64
	State                   string // id
	StateName               string
	Labels                  []string // their names
	Sort                    float64  // where it stands within its column
	Editor                  string   // account
	Created, Updated        time.Time
	Gone                    Gone
}

// Gone says how a work item has left the board. Plane sends no webhook of either.
type Gone string

// The values of Gone.
const (
	Deleted  Gone = "deleted"
	Archived Gone = "archived"
)

// Comment is a comment of a work item.
type Comment struct {
	ID, Item, Actor, HTML      string
	ExternalSource, ExternalID string
	At                         time.Time
}

// Change is one change of a work item's state.
type Change struct {
	Item, From, To, Actor string // From and To are names of columns
	At                    time.Time
}

// State is a column of a project.
type State struct {
	ID, Name, Group, Color string  // Group and Color of those that were made by the API
	Sequence               float64 // orders them
}

// Member is a person of the workspace.
type Member struct {
	ID, Name, Email string
	Role            int // 5 guest, 15 member, 20 admin
}

// Roles of accounts in a project.
const (
	Nobody = -1 // not a member
	Guest  = 5  // reads and comments
	Normal = 15 // a member
	Admin  = 20
)

type project struct {
	id, identifier string
	states         []State
	sequence       int64
	roles          map[string]int // by account; others are Normal
	archived       bool
}

// TitleMax is the length of a work item's name, in characters.
const TitleMax = 255

// Server is an http.Handler, whose calls can be made to fail.
type Server struct {
	*fakehttp.API
	*fakehttp.Sender

	opt   Options
	group *run.Group

	mu        sync.Mutex
	ids       int
	projects  []*project
	items     []*Item
	blockedBy map[string][]string // prerequisites by item
	comments  []Comment
	changes   []Change
	members   []Member
	stall     time.Duration          // of comments; see Stall
	calls     map[string][]time.Time // of the last minute, by token
}

// New makes a server without projects. Close ends its goroutines.
func New(o Options) *Server {
	o.Workspace = cmp.Or(o.Workspace, "acme")
	if o.RetryWait <= 0 {
		o.RetryWait = 200 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.RateLimit = cmp.Or(o.RateLimit, 60)
	o.Hooks = cmp.Or(o.Hooks, &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}})
	s := &Server{
		opt: o, group: run.New(context.Background(), nil),
		blockedBy: map[string][]string{}, calls: map[string][]time.Time{},
	}
	s.API = &fakehttp.API{
		Serve: http.HandlerFunc(s.route), Call: named, World: &s.mu, Done: s.group.Context().Done(), Refuse: refuse, BodyMax: bodyMax,
	}
	s.Seed(o.Seed)
	s.Sender = fakehttp.NewSender(s.group, o.Seed, s.head)
	s.HTTP, s.Attempts, s.Wait = o.Hooks, attempts, o.RetryWait
	s.SetHookURL(o.HookURL)
	return s
}

// Close stops sending webhooks and waits for those under way. API calls are
// answered all the same.
func (s *Server) Close() {
	s.SetHookURL("") // from here on nothing is added to the group
	s.group.Stop()
}

// id makes an identifier of the form that Plane uses.
func (s *Server) id() string {
	s.ids++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", s.ids, s.opt.Seed&0xffffffffffff)
}

// StandardStates are the columns of a board made for the pipeline.
func StandardStates() []string {
	return []string{
		"Backlog", "To Analyse", "Analysis", "In Progress", "Needs Input", "In Review", "Approved", "Rejected", "Code Review",
		"Awaiting Deploy", "Confirm Deploy", "Deploying", "Monitoring after Deploy", "Blocked", "STOP", "Done", "Cancelled",
	}
}

// AddProject adds a project with columns, and returns its id.
func (s *Server) AddProject(identifier string, states ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &project{id: s.id(), identifier: identifier, roles: map[string]int{}}
	for _, name := range states {
		p.add(State{ID: s.id(), Name: name})
	}
	s.projects = append(s.projects, p)
	return p.id
}

// AddItem adds a work item to the first column as a person would, and returns
// its id. The description is HTML.
func (s *Server) AddItem(projectID, name, description string) (string, error) {
	return s.AddItemAs(Human, projectID, name, description)
}

// AddItemAs is AddItem by an account.
func (s *Server) AddItemAs(account, projectID, name, description string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.addItem(account, s.project(projectID), name, description)
	if err != nil {
		return "", err
	}
	return i.ID, nil
}

func (s *Server) addItem(account string, p *project, name, description string) (*Item, error) {
	if p == nil || len(p.states) == 0 {
		return nil, errors.New("planetest: no such project, or one without columns")
	}
	if utf8.RuneCountInString(name) > TitleMax {
		return nil, fmt.Errorf("planetest: a name has at most %d characters", TitleMax)
	}
	p.sequence++
	now := s.opt.Now()
	i := &Item{
		ID: s.id(), Project: p.id, Name: name, HTML: description, Creator: account, Sequence: p.sequence,
		State: p.states[0].ID, StateName: p.states[0].Name, Created: now, Updated: now, Editor: account,
		Sort: 65535 + 10000*float64(p.sequence-1),
	}
	s.items = append(s.items, i)
	s.hook("issue", "created", s.wireIssue(i), nil, account)
	return i, nil
}

// Human is the account of the person who acts through the methods of a Server.
const Human = "0000face-0000-4000-8000-000000000001"

// AddMember adds a person to the workspace.
func (s *Server) AddMember(m Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = append(s.members, m)
}

// Edit changes the name and description of a work item as a person would.
func (s *Server) Edit(itemID, name, description string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.item(itemID)
	if i == nil {
		return
	}
	s.edit(i, name, description, Human)
}

// edit changes what differs, and sends one webhook for each such field.
func (s *Server) edit(i *Item, name, description, actor string) {
	oldName, oldHTML := i.Name, i.HTML
	if oldName == name && oldHTML == description {
		return
	}
	i.Name, i.HTML = name, description
	s.save(i, actor)
	for _, f := range [][3]string{{"name", oldName, name}, {"description_html", oldHTML, description}} {
		if f[1] != f[2] {
			s.hook("issue", "updated", s.wireIssue(i), map[string]any{"field": f[0], "old_value": f[1], "new_value": f[2]}, actor)
		}
	}
}

// Say adds a person's comment; the text is HTML.
func (s *Server) Say(itemID, text string) error { return s.SayAs(Human, itemID, text) }

// SayAs is Say by an account.
func (s *Server) SayAs(account, itemID, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.item(itemID)
	if i == nil {
		return errors.New("planetest: no such work item")
	}
	s.addComment(i, Comment{Actor: account, HTML: text})
	return nil
}

func (s *Server) addComment(i *Item, c Comment) Comment {
	c.ID, c.Item, c.At = s.id(), i.ID, s.opt.Now()
	s.comments = append(s.comments, c)
	s.save(i, c.Actor)
	s.hook("issue_comment", "created", s.wireComment(i, c), nil, c.Actor)
	return c
}

func (s *Server) project(id string) *project {
	for _, p := range s.projects {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (s *Server) item(id string) *Item {
	for _, i := range s.items {
		if i.ID == id {
			return i
		}
	}
	return nil
}

// Items lists the work items of a project ("" = all), oldest first.
func (s *Server) Items(projectID string) []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Item
	for _, i := range s.items {
		if projectID == "" || i.Project == projectID {
			out = append(out, *i)
		}
	}
	return out
}

// Identifier is a project's prefix, such as GPX.
func (s *Server) Identifier(projectID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		return p.identifier
	}
	return ""
}

// Comments lists the comments of a work item ("" = all), oldest first.
func (s *Server) Comments(itemID string) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Comment
	for _, c := range s.comments {
		if itemID == "" || c.Item == itemID {
			out = append(out, c)
		}
	}
	return out
}

// Changes lists every change of a state, by anybody.
func (s *Server) Changes() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changes)
}
