package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
	"github.com/signalbox-dev/signalbox/internal/fakeissues"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// boardLabels are the issues of the git host: labels are the columns.
const boardLabels = "labels"

// wrongBoard returns what is wrong with -board; empty: nothing is.
func (o options) wrongBoard() string {
	switch {
	case !slices.Contains([]string{boardPlane, boardOwn, boardLabels}, o.board):
		return fmt.Sprintf("is %q, want plane, own or labels", o.board)
	case o.board != boardPlane && o.sick.board():
		return o.board + ": there is no plane that can be sick"
	case o.board == boardLabels && o.host == onGit:
		return "labels: git has no issues"
	case o.board == boardLabels && o.hostile:
		return "labels and -hostile do not go together"
	default:
		return ""
	}
}

// labelPrefix begins the label of a column.
const labelPrefix = "status/"

// labelBoard is the board of labels as the demonstration looks at it and as its people use it.
type labelBoard struct {
	w      *world
	issues *fakeissues.Issues
	ids    *labelboard.Client // only for ids
}

// tick is the least that two words of a person on a board are apart: the clock of a git host's
// interface has whole seconds, and a word of the second of a request may be older than it.
func (w *world) tick() time.Duration {
	if w.o.board == boardLabels {
		return 1100 * time.Millisecond
	}
	return 0
}

// openLabels makes the board, on the git host.
func (w *world) openLabels() (err error) {
	b := &labelBoard{w: w, issues: w.host.Issues()}
	kind := labelboard.KindGitHub
	if w.o.host == onGitea {
		kind = labelboard.KindGitea
	}
	b.ids, err = labelboard.New(labelboard.Options{Kind: kind, BaseURL: "http://" + w.page.Addr().String() + "/" + w.o.host, Token: giteaToken})
	w.board = b
	return err
}

// addLabels makes the columns of a repository.
func (b *labelBoard) addLabels(repo string) {
	for _, s := range stage.Statuses() {
		b.issues.AddLabel(repo, labelPrefix+s.Name)
	}
}

// all are the issues of the repositories, oldest first.
func (b *labelBoard) all() (out []fakeissues.Issue) {
	for _, p := range b.w.projects {
		for n := 1; n <= b.issues.Count(p.repo)+len(b.w.pulls()); n++ {
			if i := b.issues.Issue(p.repo, n); i.Number == n {
				out = append(out, i)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y fakeissues.Issue) int { return x.Created.Compare(y.Created) })
	return out
}

func (b *labelBoard) id(i fakeissues.Issue) string { return b.ids.ItemID(i.Repo, int64(i.Number)) }

// author is the account of a change as a webhook of another tracker would name it.
func (b *labelBoard) author(login string) string {
	if login == person {
		return login
	}
	return bot
}

// column is the status of an issue: the label that was given last, of those that it has.
func column(i fakeissues.Issue) (name string, since time.Time) {
	for _, c := range i.Log {
		has := slices.ContainsFunc(i.Labels, func(l fakeissues.Label) bool { return l.Name == c.Label.Name })
		if label, ok := strings.CutPrefix(c.Label.Name, labelPrefix); ok && has && c.Kind == "labeled" {
			name, since = label, c.At
		}
	}
	return name, since
}

// Items implements cardBoard.
func (b *labelBoard) Items(project string) (out []planetest.Item) {
	for _, i := range b.all() {
		if project == "" || i.Repo == project {
			name, since := column(i)
			out = append(out, planetest.Item{
				ID: b.id(i), Project: i.Repo, Name: i.Title, HTML: i.Body, Sequence: int64(i.Number), State: name, StateName: name, Created: i.Created, Updated: since,
			})
		}
	}
	return out
}

// Comments implements cardBoard.
func (b *labelBoard) Comments(item string) (out []planetest.Comment) {
	for _, i := range b.all() {
		for _, c := range i.Comments {
			if item == "" || b.id(i) == item {
				out = append(out, planetest.Comment{ID: fmt.Sprint(c.ID), Item: b.id(i), Actor: b.author(c.Author), HTML: c.Body, At: c.At})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y planetest.Comment) int { return x.At.Compare(y.At) })
	return out
}

// Changes implements cardBoard.
func (b *labelBoard) Changes() (out []planetest.Change) {
	for _, i := range b.all() {
		from := ""
		for _, c := range i.Log {
			if to, ok := strings.CutPrefix(c.Label.Name, labelPrefix); ok && c.Kind == "labeled" {
				out = append(out, planetest.Change{Item: b.id(i), From: from, To: to, Actor: b.author(c.Author), At: c.At})
				from = to
			}
		}
	}
	slices.SortStableFunc(out, func(x, y planetest.Change) int { return x.At.Compare(y.At) })
	return out
}

// States implements cardBoard.
func (b *labelBoard) States(string) (out []planetest.State) {
	for _, s := range stage.Statuses() {
		out = append(out, planetest.State{ID: s.Name, Name: s.Name})
	}
	return out
}

// Identifier implements cardBoard.
func (b *labelBoard) Identifier(project string) string {
	for _, p := range b.w.projects {
		if p.repo == project {
			return p.prefix
		}
	}
	return ""
}

// Deliveries implements cardBoard: what the git host has sent is not kept by kind.
func (b *labelBoard) Deliveries() []planetest.Delivery { return nil }

// Close implements cardBoard.
func (b *labelBoard) Close() {}

// AddItem implements cardBoard.
func (b *labelBoard) AddItem(project, title, fragment string) (string, error) {
	return b.ids.ItemID(project, int64(b.issues.Open(project, person, title, text(fragment)))), nil
}

// find finds an issue by its id.
func (b *labelBoard) find(item string) (fakeissues.Issue, error) {
	for _, i := range b.all() {
		if b.id(i) == item {
			return i, nil
		}
	}
	return fakeissues.Issue{}, fmt.Errorf("there is no card %s", item)
}

// Move implements cardBoard.
func (b *labelBoard) Move(item, column string) error {
	i, err := b.find(item)
	if err != nil {
		return err
	}
	return b.issues.Label(i.Repo, i.Number, person, labelPrefix+column)
}

// Say implements cardBoard.
func (b *labelBoard) Say(item, fragment string) error {
	i, err := b.find(item)
	if err != nil {
		return err
	}
	return b.issues.Say(i.Repo, i.Number, person, text(fragment))
}

// Block implements cardBoard. Issues of one repository block each other: another one's is no
// prerequisite that a host could hold.
func (b *labelBoard) Block(item, by string) {
	i, err1 := b.find(item)
	other, err2 := b.find(by)
	if err1 == nil && err2 == nil && i.Repo == other.Repo {
		b.issues.Block(i.Repo, i.Number, other.Number)
	}
}

// relay hands a webhook of the git host to the board when it is about an issue, as two webhooks of
// the repository would be sent.
func (w *world) relay(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	source := w.o.host
	if strings.Contains(r.Header.Get("X-GitHub-Event")+r.Header.Get("X-Gitea-Event-Type"), "issue") {
		source = boardLabels
	}
	out, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), http.MethodPost, "http://"+w.service+"/webhooks/"+source, bytes.NewReader(body))
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	out.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(out)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	_ = resp.Body.Close() // only the status counts
	rw.WriteHeader(resp.StatusCode)
}
