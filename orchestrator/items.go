package orchestrator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// itemsMax bounds how many work items are kept.
const itemsMax = 1000

// items are the work items that were read last for events. One that was read after an event had come
// shows what the event reports, so that several events of a card are one read: until the task changes,
// or what is owed to its card does.
type items struct {
	mu     sync.Mutex
	byItem map[string]itemRead
}

type itemRead struct {
	item   tracker.Item
	at     time.Time // when it was requested
	beside string    // which task and writes it was judged with
}

// readItem reads the work item of an event, once the event was due.
func (e *Engine) readItem(ctx context.Context, c queue.Claim, h tracker.Hook, t task.Task, writes []Effect) (tracker.Item, error) {
	beside := fmt.Sprint(t.ID, t.Version)
	for _, w := range writes {
		beside += " " + w.Key
	}
	last := e.items.get(h.ItemID)
	if later(c.Job.CreatedAt, c.Job.AvailableAt).Before(last.at) && last.beside == beside && last.item.ProjectID == h.ProjectID {
		return last.item, nil
	}
	at := e.Now()
	item, err := e.Tracker.Item(ctx, h.ProjectID, h.ItemID)
	if err == nil {
		e.items.put(h.ItemID, itemRead{item, at, beside})
	}
	return item, err
}

func (i *items) get(id string) itemRead {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.byItem[id]
}

func (i *items) put(id string, r itemRead) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byItem == nil || len(i.byItem) >= itemsMax {
		i.byItem = map[string]itemRead{}
	}
	i.byItem[id] = r
}
