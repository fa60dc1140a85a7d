package benchengine

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// shown has what the engine may do with a board, which does not tell who has moved a card.
type shown interface {
	service.Tracker
	tracker.Linker
	tracker.Relations
}

// boards are the boards of all projects.
type boards struct {
	shown

	board *memtracker.Board // the same, where people move cards

	mu      sync.Mutex
	waiting map[string]chan stage.Status // by card: who waits for its next status
}

func newBoards(projects []string) *boards {
	b := memtracker.New(nil)
	for _, p := range projects {
		b.AddProject(p)
	}
	return &boards{shown: b, board: b, waiting: map[string]chan stage.Status{}}
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

func (b *boards) SetStatus(ctx context.Context, project, item string, s stage.Status) error {
	err := b.board.SetStatus(ctx, project, item, s)
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

// chat takes every message and keeps none.
type chat struct{ last atomic.Int64 }

func (c *chat) Send(context.Context, messenger.Message) (string, error) {
	return strconv.FormatInt(c.last.Add(1), 10), nil
}

func (c *chat) Edit(context.Context, string, messenger.Message) error { return nil }
