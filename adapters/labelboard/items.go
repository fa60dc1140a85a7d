package labelboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// issue reads an issue.
func (c *Client) issue(ctx context.Context, projectID, itemID string) (none wireIssue, err error) {
	at, err := c.item(projectID, itemID)
	if err != nil {
		return none, err
	}
	var i wireIssue
	if err := c.call(ctx, http.MethodGet, at, nil, &i); err != nil {
		return none, err
	}
	switch {
	case i.Number == 0:
		return none, unreadable(at, "without a number")
	case i.PullRequest != nil:
		return none, fmt.Errorf("labelboard: %s is a pull request: %w", at, tracker.ErrNotFound)
	}
	here, err := c.isHere(ctx, projectID, i)
	if err == nil && (!here || c.ItemID(projectID, i.Number) != itemID) { // GitHub leads to where it was transferred
		err = fmt.Errorf("labelboard: %s is in another repository now: %w", at, tracker.ErrNotFound)
	}
	return i, err
}

// isHere reports whether an issue is in a project's repository, whatever that is called by now.
func (c *Client) isHere(ctx context.Context, projectID string, i wireIssue) (bool, error) {
	in := i.repository()
	if in == "" || strings.EqualFold(in, projectID) {
		return true, nil
	}
	var now struct {
		Name string `json:"full_name"`
	}
	err := c.call(ctx, http.MethodGet, "/repos/"+projectID, nil, &now)
	return strings.EqualFold(in, now.Name), err
}

// changes reads the log of the labels of the board on an issue, oldest first.
func (c *Client) changes(ctx context.Context, projectID, itemID string) (out []move, err error) {
	at, err := c.item(projectID, itemID)
	if err != nil {
		return nil, err
	}
	err = each(ctx, c, at+c.opt.Issues.Log, nil, func(e wireEntry) {
		m, ok := e.move()
		if name, ours := (wireLabel{Name: m.label}).column(); ok && ours {
			m.label = name
			out = append(out, m)
		}
	})
	return out, err
}

// order compares changes by when they were made.
func order(a, b move) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) }

// newest is the last change that a condition holds for.
func newest(log []move, holds func(move) bool) (out move, ok bool) {
	for _, m := range log {
		if holds(m) && (!ok || order(m, out) >= 0) {
			out, ok = m, true
		}
	}
	return out, ok
}

// standing is the move that has put an issue where it is, and the column. ok is false when the
// log does not have it; then of several columns the later one of the pipeline counts.
func standing(i wireIssue, log []move) (column string, m move, ok bool) {
	columns := i.columns()
	if len(columns) == 0 {
		m, ok = newest(log, func(m move) bool { return !m.added })
		return "", m, ok
	}
	at := func(m move) int { // by its name of now, which may have changed in case
		return slices.IndexFunc(columns, func(name string) bool { return strings.EqualFold(name, m.label) })
	}
	m, ok = newest(log, func(m move) bool { return m.added && at(m) >= 0 })
	if ok {
		return columns[at(m)], m, true
	}
	return slices.MaxFunc(columns, func(a, b string) int { return cmp.Compare(place(a), place(b)) }), m, false
}

// place is where a column stands on the board; one of no status is before all others.
func place(column string) int {
	status := tracker.StatusCalled(column)
	return slices.IndexFunc(cards.Columns(), func(c cards.Column) bool { return c.Status == status })
}

// read makes an item of an issue. It counts as updated when it was moved: comments change an issue too, and an approval would be newer
// than it is. Only an issue that stands in a column has its log read.
func (c *Client) read(ctx context.Context, projectID string, i wireIssue) (tracker.Item, error) {
	id := c.ItemID(projectID, i.Number)
	if len(i.columns()) == 0 {
		return convert(projectID, id, i, "", i.UpdatedAt.Time), nil
	}
	log, err := c.changes(ctx, projectID, id)
	if err != nil {
		if ctx.Err() != nil || fault.Retryable(err) {
			return tracker.Item{}, err
		}
		c.opt.Log.Warn("the log of an issue cannot be read", "item", id, "repo", projectID, "err", err)
	}
	column, m, ok := standing(i, log)
	if !ok {
		return convert(projectID, id, i, column, i.UpdatedAt.Time), nil
	}
	out := convert(projectID, id, i, column, m.at)
	out.MovedAt = m.at
	return out, nil
}

// Item implements tracker.Tracker.
func (c *Client) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	i, err := c.issue(ctx, projectID, itemID)
	if err != nil {
		return tracker.Item{}, err
	}
	return c.read(ctx, projectID, i)
}

// LastMove implements tracker.Log: the label of the column that the issue stands in, or, without
// one, the last that was taken away, else the making of the issue.
func (c *Client) LastMove(ctx context.Context, projectID, itemID string) (none tracker.Move, err error) {
	i, err := c.issue(ctx, projectID, itemID)
	if err != nil {
		return none, err
	}
	log, err := c.changes(ctx, projectID, itemID)
	switch {
	case restclient.IsStatus(err, http.StatusNotFound): // the issue is there
		return none, fmt.Errorf("%w: %w", tracker.ErrNoLog, err)
	case err != nil:
		return none, err
	}
	column, m, ok := standing(i, log)
	switch {
	case ok:
		return tracker.Move{To: column, ActorID: m.by, At: m.at, Earlier: before(log, m)}, nil
	case column == "":
		return tracker.Move{ActorID: i.User.Login, At: i.CreatedAt.Time}, nil
	default: // its label was called something else, when it was given
		return none, fmt.Errorf("%w: issue %s of %s", tracker.ErrNoLog, itemID, projectID)
	}
}

// before are the moves of a log before one, newest first. A label that was taken away leaves no column.
func before(log []move, last move) []tracker.Move {
	log = slices.DeleteFunc(slices.Clone(log), func(m move) bool { return m == last || order(m, last) > 0 })
	slices.SortStableFunc(log, func(a, b move) int { return order(b, a) })
	out := make([]tracker.Move, len(log))
	for i, m := range log {
		if out[i] = (tracker.Move{ActorID: m.by, At: m.at}); m.added {
			out[i].To = m.label
		}
	}
	return out
}

// BlockedBy implements tracker.Relations.
func (c *Client) BlockedBy(ctx context.Context, projectID, itemID string) ([]tracker.Ref, error) {
	at, err := c.item(projectID, itemID)
	if err != nil {
		return nil, err
	}
	refs := []tracker.Ref{}
	err = each(ctx, c, at+c.opt.Issues.Blockers, nil, func(i wireIssue) {
		if i.Number > 0 && i.PullRequest == nil { // 0: one that the token does not see
			in := cmp.Or(i.repository(), projectID)
			refs = append(refs, tracker.Ref{ProjectID: in, ItemID: c.ItemID(in, i.Number)})
		}
	})
	if restclient.IsStatus(err, http.StatusNotFound) {
		if _, gone := c.issue(ctx, projectID, itemID); gone != nil {
			return nil, gone
		}
		return nil, fmt.Errorf("%w: %w", tracker.ErrNoRelations, err)
	}
	if err != nil {
		return nil, err
	}
	return refs, nil
}

// repository is where an issue is; empty when the answer does not name it.
func (i wireIssue) repository() string {
	if _, name, ok := strings.Cut(i.RepositoryURL, "/repos/"); ok {
		return name
	}
	return i.Repository.FullName
}
