package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
	own "github.com/signalbox-dev/signalbox/tracker/cards"
)

// Where cards are.
const (
	boardPlane = "plane" // a server that speaks Plane's protocol
	boardOwn   = "own"   // the service's own
)

// cardBoard is a board as the demonstration looks at it and as its people use it.
type cardBoard interface {
	cardView
	cardUse
	Deliveries() []planetest.Delivery // of webhooks
	Close()
}

type cardView interface {
	Items(project string) []planetest.Item
	Comments(item string) []planetest.Comment
	Changes() []planetest.Change
	States(project string) []planetest.State
	Identifier(project string) string
}

type cardUse interface {
	AddItem(project, title, text string) (string, error)
	Block(item, by string)
	Move(item, column string) error
	Say(item, text string) error
}

// person is the user of our own board in the demonstration.
const person = "Kim"

// ownBoard is the service's own board. People use it by the forms of its pages, whatever
// happens to the server meanwhile; it is looked at in the database.
type ownBoard struct {
	w *world

	mu   sync.Mutex
	desk *board.Board
}

// open opens the database that the server has made.
func (b *ownBoard) open(ctx context.Context) error {
	desk, err := board.Open(ctx, board.Options{Path: filepath.Join(b.w.replicas[0].data, "signalbox.db"), URL: b.w.o.database, Schema: b.w.schema})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.desk = desk
	return err
}

// Close implements cardBoard.
func (b *ownBoard) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.desk != nil {
		_ = b.desk.Close() // it was only read
	}
}

// stories are all cards; none while the database cannot be read.
func (b *ownBoard) stories() (out []own.Story) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.desk == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list, err := b.desk.Cards(ctx, own.Filter{})
	if err != nil {
		return nil
	}
	slices.SortFunc(list, func(x, y own.Card) int { return x.MadeAt.Compare(y.MadeAt) })
	for _, c := range list {
		s, err := b.desk.Story(ctx, c.ID)
		if err != nil {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// who is the account of a change as a webhook of another tracker would name it.
func who(account string) string {
	if strings.HasPrefix(account, own.Service) {
		return bot
	}
	return account
}

func columnName(key string) string {
	c, _ := own.ColumnOf(key)
	return c.Name
}

// Items implements cardBoard.
func (b *ownBoard) Items(project string) (out []planetest.Item) {
	for _, s := range b.stories() {
		if project == "" || s.Project == project {
			out = append(out, planetest.Item{
				ID: s.ID, Project: s.Project, Name: s.Title, HTML: html.EscapeString(s.Description), Sequence: s.Number, State: s.Column, StateName: columnName(s.Column),
				Created: s.MadeAt, Updated: s.MovedAt,
			})
		}
	}
	return out
}

// Comments implements cardBoard.
func (b *ownBoard) Comments(item string) (out []planetest.Comment) {
	for _, s := range b.stories() {
		for _, c := range s.Comments {
			if item == "" || s.ID == item {
				out = append(out, planetest.Comment{ID: c.ID, Item: s.ID, Actor: who(c.Author), HTML: html.EscapeString(c.Body), At: c.At})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y planetest.Comment) int { return x.At.Compare(y.At) })
	return out
}

// Changes implements cardBoard.
func (b *ownBoard) Changes() (out []planetest.Change) {
	for _, s := range b.stories() {
		for _, e := range s.Log {
			if e.Kind == own.Moved {
				out = append(out, planetest.Change{Item: s.ID, From: columnName(e.From), To: columnName(e.To), Actor: who(e.By), At: e.At})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y planetest.Change) int { return x.At.Compare(y.At) })
	return out
}

// States implements cardBoard.
func (b *ownBoard) States(string) (out []planetest.State) {
	for _, c := range own.Columns() {
		out = append(out, planetest.State{ID: c.Key, Name: c.Name})
	}
	return out
}

// Identifier implements cardBoard.
func (b *ownBoard) Identifier(project string) string {
	for _, p := range b.w.projects {
		if p.id == project {
			return p.prefix
		}
	}
	return ""
}

// Deliveries implements cardBoard: nothing is delivered.
func (b *ownBoard) Deliveries() []planetest.Delivery { return nil }

// resendFor is how long people send a form again that nobody answers.
const resendFor = time.Minute

// send posts a form of the board's pages until the server takes it, and returns where it
// leads to.
func (b *ownBoard) send(path string, form url.Values) (to string, err error) {
	form.Set("name", person)
	form.Set("token", adminToken)
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for end := time.Now().Add(resendFor); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, failed := client.PostForm(b.w.dashboard()+path, form)
		if err = failed; err != nil {
			continue
		}
		_ = resp.Body.Close() // it is not read
		switch {
		case resp.StatusCode == http.StatusSeeOther:
			return resp.Header.Get("Location"), nil
		case resp.StatusCode < http.StatusInternalServerError:
			return "", fmt.Errorf("%s: %s", path, resp.Status)
		}
		err = errors.New(resp.Status)
	}
	return "", fmt.Errorf("%s: %w", path, err)
}

func cardPath(item, act string) string { return "board/cards/" + url.PathEscape(item) + "/" + act }

// AddItem implements cardBoard.
func (b *ownBoard) AddItem(project, title, fragment string) (string, error) {
	to, err := b.send("board/new", url.Values{"key": {project + title}, "project": {project}, "title": {title}, "description": {text(fragment)}})
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(to[strings.LastIndex(to, "/")+1:], "?")
	return id, nil
}

// Move implements cardBoard.
func (b *ownBoard) Move(item, column string) error {
	_, err := b.send(cardPath(item, "move"), url.Values{"column": {column}})
	return err
}

// Say implements cardBoard.
func (b *ownBoard) Say(item, fragment string) error {
	_, err := b.send(cardPath(item, "say"), url.Values{"key": {fmt.Sprint(time.Now().UnixNano())}, "body": {text(fragment)}})
	return err
}

// Block implements cardBoard.
func (b *ownBoard) Block(item, by string) {
	for _, i := range b.Items("") {
		if i.ID == by {
			_, _ = b.send(cardPath(item, "arrange"), url.Values{"kind": {own.Blocked}, "other": {fmt.Sprintf("%s-%d", b.Identifier(i.Project), i.Sequence)}}) // the summary misses the wait
		}
	}
}
