package plane

import (
	"context"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// boardTTL is how long a project's columns are taken for known.
const boardTTL = 10 * time.Minute

// board is what columns a project has.
type board struct {
	ids   map[stage.Status]string // own columns, by logical status
	keys  map[string]stage.Status // logical status by id
	names map[string]string       // the columns' own names by id
	read  time.Time
}

// column is the column that serves a status: its own, else its fallback's.
func (b board) column(s stage.Status) (id string, ok bool) {
	for range stage.Statuses() { // a chain of fallbacks is no longer than the table
		if id, ok = b.ids[s]; ok {
			return id, true
		}
		info, known := stage.StatusNamed(s)
		if !known || info.Fallback == "" {
			return "", false
		}
		s = info.Fallback
	}
	return "", false
}

// board gives the columns of a project, from memory when they are fresh and
// know the state that is asked about (empty = none).
func (c *Client) board(ctx context.Context, projectID, stateID string) (board, error) {
	c.mu.Lock()
	b, known := c.boards[projectID]
	c.mu.Unlock()
	fresh := known && c.opt.Now().Sub(b.read) < boardTTL
	if _, named := b.names[stateID]; fresh && (stateID == "" || named) {
		return b, nil
	}
	return c.refresh(ctx, projectID)
}

type wireState struct {
	ID, Name string
}

// refresh reads the columns of a project.
func (c *Client) refresh(ctx context.Context, projectID string) (board, error) {
	b := board{ids: map[stage.Status]string{}, keys: map[string]stage.Status{}, names: map[string]string{}, read: c.opt.Now()}
	byName := map[string]string{}
	err := each(ctx, c, c.project(projectID)+"states/", func(s wireState) {
		b.names[s.ID] = s.Name
		name := strings.ToLower(strings.TrimSpace(s.Name))
		if _, twice := byName[name]; !twice {
			byName[name] = s.ID
		}
	})
	if err != nil {
		return b, err
	}
	for _, info := range stage.Statuses() {
		if id, ok := byName[strings.ToLower(info.Name)]; ok {
			b.ids[info.Key], b.keys[id] = id, info.Key
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boards[projectID] = b
	return b, nil
}
