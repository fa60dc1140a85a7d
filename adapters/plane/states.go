package plane

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// boardTTL is how long a project's columns are taken for known.
const boardTTL = 10 * time.Minute

// board holds the columns of a project.
type board struct {
	ids   map[stage.Status]string // own columns, by logical status
	keys  map[string]stage.Status // logical status by id
	names map[string]string       // the columns' own names by id; empty = looked for and not listed
	ended map[string]bool         // ids of columns where work is over
	read  time.Time
}

// column is the id of the column that serves a status.
func (b board) column(s stage.Status) (id string, ok bool) {
	served, ok := tracker.Resolve(s, func(s stage.Status) bool { return b.ids[s] != "" })
	return b.ids[served], ok
}

// board gives the columns of a project, from memory when they are fresh and
// have the state stateID (empty = none).
func (c *Client) board(ctx context.Context, projectID, stateID string) (board, error) {
	old, _ := c.boards.Get(projectID)
	fresh := !old.read.IsZero() && c.opt.Now().Sub(old.read) < boardTTL
	if _, known := old.names[stateID]; fresh && (stateID == "" || known) {
		return old, nil
	}
	b, err := c.refresh(ctx, projectID)
	if err != nil {
		return c.lastKnown(old, stateID, err)
	}
	if _, listed := b.names[stateID]; stateID == "" || listed {
		return b, nil
	}
	if !fresh {
		old.names = nil
	}
	return c.unlisted(projectID, b, old.names, stateID), nil
}

// lastKnown is the board when it cannot be read: as it was read last, else as
// Options.States says. A state that neither has is not guessed at.
func (c *Client) lastKnown(old board, stateID string, cause error) (board, error) {
	for _, b := range []board{old, c.defaults()} {
		if name, known := b.names[stateID]; len(b.ids) > 0 && (stateID == "" || known && name != "") {
			c.opt.Log.Warn("the board's columns cannot be read; what is known is used", "err", cause)
			return b, nil
		}
	}
	return board{}, cause
}

// defaults is the board of Options.States. Confirm Deploy is not in it: without
// a word from the board itself nothing deploys.
func (c *Client) defaults() board {
	b := board{ids: map[stage.Status]string{}, keys: map[string]stage.Status{}, names: map[string]string{}}
	for key, id := range c.opt.States {
		if info, ok := stage.StatusNamed(key); ok && key != stage.StatusConfirmDeploy {
			b.ids[key], b.keys[id], b.names[id] = id, key, info.Name
		}
	}
	return b
}

// unlisted records that a state is not listed (Plane hides the one of triage),
// so that not every item in it makes the board be read again. What was found
// missing earlier is kept along with it.
func (c *Client) unlisted(projectID string, b board, earlier map[string]string, stateID string) board {
	names := maps.Clone(b.names) // others may be reading the map that is shared
	names[stateID] = ""
	for id, name := range earlier {
		if _, listed := names[id]; name == "" && !listed {
			names[id] = ""
		}
	}
	b.names = names
	c.boards.Add(projectID, b)
	return b
}

// status is the logical status of a column, by its id or name.
func (b board) status(column string) stage.Status {
	if s, ok := b.keys[column]; ok {
		return s
	}
	for id, name := range b.names {
		if s, ok := b.keys[id]; ok && strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(column)) {
			return s
		}
	}
	return stage.StatusUnknown
}

type wireState struct {
	ID, Name, Group string
}

// isFinished reports whether work is over in a column.
func (s wireState) isFinished() bool { return s.Group == "completed" || s.Group == "cancelled" }

// refresh reads the columns of a project.
func (c *Client) refresh(ctx context.Context, projectID string) (board, error) {
	b := board{
		ids: map[stage.Status]string{}, keys: map[string]stage.Status{}, names: map[string]string{},
		ended: map[string]bool{}, read: c.opt.Now(),
	}
	byName := map[string]string{}
	err := each(ctx, c, c.project(projectID)+"states/", func(s wireState) {
		b.names[s.ID] = s.Name
		b.ended[s.ID] = s.isFinished()
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
	c.boards.Add(projectID, b)
	return b, nil
}
