package plane

import (
	"time"

	"github.com/signalbox-dev/signalbox/tracker"
)

// recentFor is how long a work item counts as recent. What is decided on it may overwrite a
// person's move of these seconds; the webhook of that reports it.
const recentFor = 10 * time.Second

// seen is a work item that was read or written in the last seconds.
type seen struct {
	item tracker.Item
	at   time.Time
}

// Recent implements tracker.Recent.
func (c *Client) Recent(projectID, itemID string) (tracker.Item, bool) {
	s, ok := c.recent.Get(itemID)
	if !ok || s.item.ProjectID != projectID || c.opt.Now().Sub(s.at) > recentFor {
		return tracker.Item{}, false
	}
	return s.item, true
}
