package plane

import (
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/tracker"
)

// recentFor is how long a work item counts as recent. What is decided on it may overwrite a
// person's move of these seconds; the webhook of that reports it.
const recentFor = 10 * time.Second

// recentMax bounds how many items are kept.
const recentMax = 1000

// recent are the work items that were read or written in the last seconds.
type recent struct {
	mu    sync.Mutex
	items map[string]seen
}

type seen struct {
	item tracker.Item
	at   time.Time
}

func (r *recent) put(item tracker.Item, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.items) >= recentMax || r.items == nil {
		r.items = map[string]seen{}
	}
	r.items[item.ID] = seen{item, now}
}

func (r *recent) drop(itemID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.items, itemID)
}

// Recent implements tracker.Recent.
func (c *Client) Recent(projectID, itemID string) (tracker.Item, bool) {
	c.recent.mu.Lock()
	defer c.recent.mu.Unlock()
	s, ok := c.recent.items[itemID]
	if !ok || s.item.ProjectID != projectID || c.opt.Now().Sub(s.at) > recentFor {
		return tracker.Item{}, false
	}
	return s.item, true
}
