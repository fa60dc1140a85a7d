// Package cardlist makes a tracker of two or three functions, for a board that has no adapter: a table
// of a program, a file, a sheet. It has a column for every status.
//
// Nothing of such a board sends webhooks. The reconciler finds what people have moved, and a
// program that hears of it sooner calls orchestrator.Engine.Announce.
package cardlist

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Tracker implements tracker.Tracker, tracker.Accounts and tracker.Board. It is safe for
// concurrent use if its functions are. Their errors follow package orchestrator/fault.
type Tracker struct {
	// Cards lists the cards of a project, in any order. ID, Sequence, Title, Description and Status
	// are required; a Status that is empty starts nothing. Without UpdatedAt a status that a
	// person sets twice in a row counts once.
	Cards func(ctx context.Context, projectID string) ([]tracker.Item, error)
	// Move puts a card, which is as Cards has listed it, into the column of a status.
	Move func(ctx context.Context, card tracker.Item, to stage.Status) error
	// Say adds a comment to a card, once for each of its keys; nil = comments are dropped.
	Say func(ctx context.Context, c tracker.NewComment) error
	// Said lists the comments of a card, oldest first, from which the reason of a rejection is
	// taken; nil = none can be read.
	Said func(ctx context.Context, projectID, itemID string) ([]tracker.Comment, error)
}

// cards are those of a project, complete.
func (t *Tracker) cards(ctx context.Context, projectID string) ([]tracker.Item, error) {
	list, err := t.Cards(ctx, projectID)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	for i, c := range list {
		info, _ := stage.StatusNamed(c.Status)
		list[i].ProjectID, list[i].StatusName, list[i].Finished = projectID, info.Name, c.Finished || c.Status == stage.StatusDone
	}
	return list, nil
}

// Item implements tracker.Tracker.
func (t *Tracker) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	list, err := t.cards(ctx, projectID)
	if err != nil {
		return tracker.Item{}, err
	}
	for _, c := range list {
		if c.ID == itemID {
			return c, nil
		}
	}
	return tracker.Item{}, fmt.Errorf("%w: card %s", tracker.ErrNotFound, itemID)
}

// List implements tracker.Tracker, on one page.
func (t *Tracker) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	list, err := t.cards(ctx, q.ProjectID)
	page := tracker.Page{Total: len(list)}
	for _, c := range list {
		if !c.UpdatedAt.Before(q.Since) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, c.Status)) {
			page.Items = append(page.Items, c)
		}
	}
	slices.SortStableFunc(page.Items, func(a, b tracker.Item) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return page, err
}

// SetStatus implements tracker.Tracker.
func (t *Tracker) SetStatus(ctx context.Context, projectID, itemID string, status stage.Status) error {
	c, err := t.Item(ctx, projectID, itemID)
	if err != nil || c.Status == status {
		return err
	}
	return t.Move(ctx, c, status)
}

// Comments implements tracker.Tracker.
func (t *Tracker) Comments(ctx context.Context, projectID, itemID string) ([]tracker.Comment, error) {
	if t.Said == nil {
		return nil, nil
	}
	return t.Said(ctx, projectID, itemID)
}

// AddComment implements tracker.Tracker. The id of a comment is its key.
func (t *Tracker) AddComment(ctx context.Context, c tracker.NewComment) (string, error) {
	if _, err := t.Item(ctx, c.ProjectID, c.ItemID); err != nil || t.Say == nil {
		return c.Key, err
	}
	return c.Key, t.Say(ctx, c)
}

// Own implements tracker.Accounts: such a board names no accounts.
func (t *Tracker) Own(string) (bool, error) { return false, nil }

// Columns implements tracker.Board.
func (t *Tracker) Columns(context.Context, string) (map[stage.Status]string, error) {
	out := map[stage.Status]string{}
	for _, info := range stage.Statuses() {
		out[info.Key] = info.Name
	}
	return out, nil
}

// StatusOf implements tracker.Board.
func (t *Tracker) StatusOf(_ context.Context, _, column string) (stage.Status, error) {
	return tracker.StatusCalled(column), nil
}
