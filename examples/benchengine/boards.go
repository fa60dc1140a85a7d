package main

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// life begins the id of a card whose life is measured.
const life = "life-"

// boards are the boards of all projects, two doubles for each: a double looks
// through all of its cards, and the cards of other tasks must not slow down the
// cards that are measured.
type boards struct {
	lives, others map[string]*memtracker.Board // by project

	mu      sync.Mutex
	waiting map[string]chan stage.Status // by card: who waits for its next status
}

func newBoards(projects []string) *boards {
	b := &boards{lives: map[string]*memtracker.Board{}, others: map[string]*memtracker.Board{}, waiting: map[string]chan stage.Status{}}
	for _, p := range projects {
		b.lives[p], b.others[p] = memtracker.New(nil), memtracker.New(nil)
		b.lives[p].AddProject(p)
		b.others[p].AddProject(p)
	}
	return b
}

func (b *boards) of(project, item string) *memtracker.Board {
	if strings.HasPrefix(item, life) {
		return b.lives[project]
	}
	return b.others[project]
}

// watch returns a channel that every status that the service gives a card goes to.
func (b *boards) watch(item string) <-chan stage.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[item] = make(chan stage.Status, 64)
	return b.waiting[item]
}

func (b *boards) unwatch(item string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, item)
}

// Own implements tracker.Accounts.
func (b *boards) Own(accountID string) (bool, error) { return memtracker.New(nil).Own(accountID) }

// SetStatus implements tracker.Tracker.
func (b *boards) SetStatus(ctx context.Context, project, item string, s stage.Status) error {
	err := b.of(project, item).SetStatus(ctx, project, item, s)
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.waiting[item]; c != nil && err == nil {
		select {
		case c <- s:
		default: // nobody looks any more
		}
	}
	return err
}

// Item implements tracker.Tracker.
func (b *boards) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	return b.of(project, item).Item(ctx, project, item)
}

// ItemURL implements tracker.Linker.
func (b *boards) ItemURL(project, item string) string {
	return b.of(project, item).ItemURL(project, item)
}

// List implements tracker.Tracker.
func (b *boards) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	page, err := b.lives[q.ProjectID].List(ctx, q)
	if err != nil {
		return page, err
	}
	more, err := b.others[q.ProjectID].List(ctx, q)
	page.Items = append(page.Items, more.Items...)
	return page, err
}

// Comments implements tracker.Tracker.
func (b *boards) Comments(ctx context.Context, project, item string) ([]tracker.Comment, error) {
	return b.of(project, item).Comments(ctx, project, item)
}

// AddComment implements tracker.Tracker.
func (b *boards) AddComment(ctx context.Context, c tracker.NewComment) (string, error) {
	return b.of(c.ProjectID, c.ItemID).AddComment(ctx, c)
}

// BlockedBy implements tracker.Relations.
func (b *boards) BlockedBy(ctx context.Context, project, item string) ([]tracker.Ref, error) {
	return b.of(project, item).BlockedBy(ctx, project, item)
}

// Columns implements tracker.Board.
func (b *boards) Columns(ctx context.Context, project string) (map[stage.Status]string, error) {
	return b.lives[project].Columns(ctx, project)
}

// StatusOf implements tracker.Board.
func (b *boards) StatusOf(ctx context.Context, project, column string) (stage.Status, error) {
	return b.lives[project].StatusOf(ctx, project, column)
}

// chat takes every message and keeps none.
type chat struct{ last atomic.Int64 }

// Send implements messenger.Messenger.
func (c *chat) Send(context.Context, messenger.Message) (string, error) {
	return strconv.FormatInt(c.last.Add(1), 10), nil
}

// Edit implements messenger.Messenger.
func (c *chat) Edit(context.Context, string, messenger.Message) error { return nil }
