package labelboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// boardTTL is how long a project's columns are taken for known, where nothing is written by them.
const boardTTL = 10 * time.Minute

// board holds the columns of a project.
type board struct {
	labels map[stage.Status]wireLabel // own columns, by logical status
	read   time.Time
}

// column is the label that serves a status.
func (b board) column(s stage.Status) (wireLabel, bool) {
	served, ok := tracker.Resolve(s, func(s stage.Status) bool { return b.labels[s].Name != "" })
	return b.labels[served], ok
}

// board gives the columns of a project, from memory when they are fresh.
func (c *Client) board(ctx context.Context, projectID string) (board, error) {
	b, known := c.boards.Get(projectID)
	if known && c.rest.Now().Sub(b.read) < boardTTL {
		return b, nil
	}
	return c.refresh(ctx, projectID)
}

// refresh reads the columns of a project.
func (c *Client) refresh(ctx context.Context, projectID string) (board, error) {
	at, err := project(projectID)
	if err != nil {
		return board{}, err
	}
	b := board{labels: map[stage.Status]wireLabel{}, read: c.rest.Now()}
	err = each(ctx, c, at+"labels", nil, func(l wireLabel) {
		name, ours := l.column()
		status := tracker.StatusCalled(name)
		if _, twice := b.labels[status]; ours && status != stage.StatusUnknown && !twice {
			b.labels[status] = l
		}
	})
	if err != nil {
		return board{}, err
	}
	c.boards.Add(projectID, b)
	return b, nil
}

// Columns implements tracker.Board. A column is called as its label without "status/".
func (c *Client) Columns(ctx context.Context, projectID string) (map[stage.Status]string, error) {
	b, err := c.refresh(ctx, projectID)
	if err != nil {
		return nil, err
	}
	out := map[stage.Status]string{}
	for _, s := range stage.Statuses() {
		if l, ok := b.column(s.Key); ok {
			out[s.Key], _ = l.column()
		}
	}
	return out, nil
}

// StatusOf implements tracker.Board.
func (c *Client) StatusOf(ctx context.Context, projectID, column string) (stage.Status, error) {
	status := tracker.StatusCalled(column)
	if status == stage.StatusUnknown {
		return status, nil
	}
	b, err := c.board(ctx, projectID)
	if _, has := b.labels[status]; err == nil && !has { // it may have been made since
		b, err = c.refresh(ctx, projectID)
	}
	if _, has := b.labels[status]; err != nil || !has {
		return stage.StatusUnknown, err
	}
	return status, nil
}

// SetStatus implements tracker.Tracker. The labels of an issue are replaced in one call, so that
// there is always one of the board's; a label that somebody gives it in the same moment is lost.
func (c *Client) SetStatus(ctx context.Context, projectID, itemID string, status stage.Status) error {
	i, err := c.issue(ctx, projectID, itemID)
	if err != nil {
		return err
	}
	b, err := c.refresh(ctx, projectID) // a label that is not there would be made
	if err != nil {
		return err
	}
	to, ok := b.column(status)
	if !ok {
		return fmt.Errorf("%w: %s in project %s", tracker.ErrNoStatus, status, projectID)
	}
	if err := c.relabel(ctx, projectID, itemID, i, to); err != nil {
		return err
	}
	return c.setOpen(ctx, projectID, itemID, i, to)
}

// relabel gives an issue one label of the board's.
func (c *Client) relabel(ctx context.Context, projectID, itemID string, i wireIssue, to wireLabel) error {
	labels, has, others := []any{c.opt.Issues.Label(to.ID, to.Name)}, false, false
	for _, l := range i.Labels {
		switch _, ours := l.column(); {
		case !ours:
			labels = append(labels, c.opt.Issues.Label(l.ID, l.Name))
		case l.ID == to.ID:
			has = true
		default:
			others = true
		}
	}
	if has && !others {
		return nil
	}
	at, err := c.item(projectID, itemID)
	if err != nil {
		return err
	}
	var now []wireLabel
	err = c.call(ctx, http.MethodPut, at+"/labels", map[string]any{"labels": labels}, &now)
	if err == nil && !slices.ContainsFunc(now, func(l wireLabel) bool { return l.ID == to.ID }) {
		err = unreadable(at+"/labels", "without the label that was set")
	}
	return err
}

// setOpen closes an issue in the column Done and opens it in any other. The column counts: an
// issue that the host does not close, such as one that waits for another, stays open.
func (c *Client) setOpen(ctx context.Context, projectID, itemID string, i wireIssue, to wireLabel) error {
	column, _ := to.column()
	want := "open"
	if tracker.StatusCalled(column) == stage.StatusDone {
		want = "closed"
	}
	if i.State == want {
		return nil
	}
	at, err := c.item(projectID, itemID)
	if err != nil {
		return err
	}
	var out wireIssue
	err = c.call(ctx, http.MethodPatch, at, map[string]string{"state": want}, &out)
	switch {
	case err == nil && out.Number == 0:
		return unreadable(at, "without a number")
	case err == nil || ctx.Err() != nil || fault.Retryable(err):
		return err
	}
	c.opt.Log.Warn("an issue cannot be opened or closed; its label says where it stands",
		"item", itemID, "repo", projectID, "wanted", want, "err", err)
	return nil
}
