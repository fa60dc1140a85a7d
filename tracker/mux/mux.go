// Package mux makes one tracker of several. One without a name keeps its ids as they are; an id of
// another, of a project or of an account, is Key of that tracker's name, so that ids of two
// trackers are never equal. Ids of items need no name: they come with their project's.
package mux

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// separator stands between the name of a tracker and an id of its own.
const separator = ":"

// Key is an id of the tracker that is called name, as callers of the mux have it; the empty
// id, and every id of the first tracker, whose name is empty, is itself.
func Key(name, id string) string {
	if name == "" || id == "" {
		return id
	}
	return name + separator + id
}

// ID is the id that a key has at the tracker that is called name.
func ID(name, key string) string {
	if name == "" {
		return key
	}
	return strings.TrimPrefix(key, name+separator)
}

// Name returns the name of the tracker that a key belongs to; empty for the first one, whose keys have no colon.
func Name(key string) string {
	name, _, named := strings.Cut(key, separator)
	if !named {
		return ""
	}
	return name
}

// Whole is a tracker with all that is known of trackers. What one lacks, it answers with
// tracker.ErrNoLog, tracker.ErrNoRelations or tracker.ErrNotFound.
type Whole interface {
	tracker.Tracker
	tracker.Accounts
	tracker.Editor
	described
}

// described are the questions about projects, moves and people.
type described interface {
	tracker.Board
	tracker.Log
	tracker.People
	tracker.Linker
	tracker.Relations
}

// Tracker is several trackers as one. It is safe for concurrent use, as they are.
type Tracker struct {
	named map[string]Whole
	pages sync.Map // tracker.Item.URL by tracker and id, of items that were read by themselves: those of webhooks and tasks
}

// New makes one tracker of those by their names, of which one may be empty.
func New(named map[string]Whole) *Tracker { return &Tracker{named: named} }

// of finds the tracker of a key, its name, and the id that it has there.
func (t *Tracker) of(key string) (Whole, string, string, error) {
	if name, id, ok := strings.Cut(key, separator); ok && t.named[name] != nil {
		return t.named[name], name, id, nil
	}
	if first := t.named[""]; first != nil {
		return first, "", key, nil
	}
	return nil, "", "", fmt.Errorf("mux: %q is of no tracker that is set up: %w", key, tracker.ErrNotFound)
}

// Item implements tracker.Tracker.
func (t *Tracker) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	at, name, id, err := t.of(projectID)
	if err != nil {
		return tracker.Item{}, err
	}
	i, err := at.Item(ctx, id, itemID)
	if i.URL != "" {
		t.pages.Store(Key(name, i.ID), i.URL)
	}
	i.ProjectID = Key(name, i.ProjectID)
	return i, err
}

// List implements tracker.Tracker.
func (t *Tracker) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	at, name, id, err := t.of(q.ProjectID)
	if err != nil {
		return tracker.Page{}, err
	}
	q.ProjectID = id
	p, err := at.List(ctx, q)
	for i := range p.Items {
		p.Items[i].ProjectID = Key(name, p.Items[i].ProjectID)
	}
	return p, err
}

// SetStatus implements tracker.Tracker.
func (t *Tracker) SetStatus(ctx context.Context, projectID, itemID string, status stage.Status) error {
	at, _, id, err := t.of(projectID)
	if err != nil {
		return err
	}
	return at.SetStatus(ctx, id, itemID, status)
}

// Comments implements tracker.Tracker.
func (t *Tracker) Comments(ctx context.Context, projectID, itemID string) ([]tracker.Comment, error) {
	at, name, id, err := t.of(projectID)
	if err != nil {
		return nil, err
	}
	list, err := at.Comments(ctx, id, itemID)
	for i := range list {
		list[i].AuthorID = Key(name, list[i].AuthorID)
	}
	return list, err
}

// AddComment implements tracker.Tracker.
func (t *Tracker) AddComment(ctx context.Context, c tracker.NewComment) (string, error) {
	at, _, id, err := t.of(c.ProjectID)
	if err != nil {
		return "", err
	}
	c.ProjectID = id
	return at.AddComment(ctx, c)
}

// SetComment implements tracker.Editor.
func (t *Tracker) SetComment(ctx context.Context, c tracker.NewComment) error {
	at, _, id, err := t.of(c.ProjectID)
	if err != nil {
		return err
	}
	c.ProjectID = id
	return at.SetComment(ctx, c)
}

// Own implements tracker.Accounts. No account is known to be a person's before every
// tracker has answered which are the service's own.
func (t *Tracker) Own(accountID string) (bool, error) {
	at, _, id, err := t.of(accountID)
	if accountID != "" {
		if err != nil {
			return false, nil
		}
		return at.Own(id)
	}
	for _, one := range t.named {
		if own, err := one.Own(""); own || err != nil {
			return own, err
		}
	}
	return false, nil
}

// Columns implements tracker.Board.
func (t *Tracker) Columns(ctx context.Context, projectID string) (map[stage.Status]string, error) {
	at, _, id, err := t.of(projectID)
	if err != nil {
		return nil, err
	}
	return at.Columns(ctx, id)
}

// StatusOf implements tracker.Board.
func (t *Tracker) StatusOf(ctx context.Context, projectID, column string) (stage.Status, error) {
	at, _, id, err := t.of(projectID)
	if err != nil {
		return stage.StatusUnknown, err
	}
	return at.StatusOf(ctx, id, column)
}

// LastMove implements tracker.Log.
func (t *Tracker) LastMove(ctx context.Context, projectID, itemID string) (tracker.Move, error) {
	at, name, id, err := t.of(projectID)
	if err != nil {
		return tracker.Move{}, err
	}
	m, err := at.LastMove(ctx, id, itemID)
	m.ActorID = Key(name, m.ActorID)
	return m, err
}

// Person implements tracker.People. An account is described by the tracker of the project
// alone.
func (t *Tracker) Person(ctx context.Context, projectID, accountID string) (none tracker.Person, err error) {
	at, name, id, err := t.of(projectID)
	if err != nil {
		return none, err
	}
	account := accountID
	if accountID != "" {
		var of string
		if _, of, account, err = t.of(accountID); err != nil || of != name {
			return none, fmt.Errorf("mux: the account %q is of another tracker: %w", accountID, tracker.ErrNotFound)
		}
	}
	p, err := at.Person(ctx, id, account)
	p.ID = Key(name, p.ID)
	return p, err
}

// ItemURL implements tracker.Linker: the page that the item named itself when it was read, else its tracker's form of one.
func (t *Tracker) ItemURL(projectID, itemID string) string {
	at, name, id, err := t.of(projectID)
	if page, known := t.pages.Load(Key(name, itemID)); known {
		return fmt.Sprint(page)
	}
	if err != nil {
		return ""
	}
	return at.ItemURL(id, itemID)
}

// BlockedBy implements tracker.Relations.
func (t *Tracker) BlockedBy(ctx context.Context, projectID, itemID string) ([]tracker.Ref, error) {
	at, name, id, err := t.of(projectID)
	if err != nil {
		return nil, err
	}
	list, err := at.BlockedBy(ctx, id, itemID)
	for i := range list {
		list[i].ProjectID = Key(name, list[i].ProjectID)
	}
	return list, err
}

// Files implements tracker.Files, of the trackers that do.
func (t *Tracker) Files(ctx context.Context, projectID, itemID string) ([]tracker.File, error) {
	at, _, id, err := t.of(projectID)
	if f, ok := at.(tracker.Files); ok {
		return f.Files(ctx, id, itemID)
	}
	return nil, err
}

// OpenFile implements tracker.Files.
func (t *Tracker) OpenFile(ctx context.Context, projectID, itemID, fileID string) (io.ReadCloser, error) {
	at, _, id, _ := t.of(projectID)
	if f, ok := at.(tracker.Files); ok {
		return f.OpenFile(ctx, id, itemID, fileID)
	}
	return nil, tracker.ErrNotFound
}

// Budgets implements tracker.Budgeted, of the trackers that limit requests.
func (t *Tracker) Budgets() (out []tracker.Budget) {
	for _, name := range slices.Sorted(maps.Keys(t.named)) {
		if b, ok := t.named[name].(tracker.Budgeted); ok {
			for _, one := range b.Budgets() {
				if name != "" {
					one.Token = name + ": " + one.Token
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// Recent implements tracker.Recent, of the trackers that do.
func (t *Tracker) Recent(projectID, itemID string) (tracker.Item, bool) {
	at, name, id, err := t.of(projectID)
	if err != nil {
		return tracker.Item{}, false
	}
	r, ok := at.(tracker.Recent)
	if !ok {
		return tracker.Item{}, false
	}
	i, ok := r.Recent(id, itemID)
	i.ProjectID = Key(name, i.ProjectID)
	return i, ok
}

// Receiver is the edge of the webhooks of the tracker that is called name.
func Receiver(name string, r tracker.Receiver) tracker.Receiver { return receiver{r, name} }

type receiver struct {
	tracker.Receiver
	name string
}

// Decode implements tracker.Receiver.
func (r receiver) Decode(event string, body []byte) (tracker.Hook, error) {
	h, err := r.Receiver.Decode(event, body)
	h.ProjectID, h.ActorID, h.Actor.ID = Key(r.name, h.ProjectID), Key(r.name, h.ActorID), Key(r.name, h.Actor.ID)
	return h, err
}
