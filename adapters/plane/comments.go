package plane

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/signalbox-dev/signalbox/tracker"
)

// stallOf is for how many time-outs a comment may still be posted by an attempt that was not answered.
const stallOf = 4

// Comments implements tracker.Tracker.
func (c *Client) Comments(ctx context.Context, projectID, itemID string) ([]tracker.Comment, error) {
	var out []tracker.Comment
	at := c.placeOf(projectID)
	seen := map[string]bool{} // pages shift when a comment is added meanwhile
	err := each(ctx, c, c.item(projectID, itemID)+"comments/", func(w wireComment) {
		if seen[w.ID] {
			return
		}
		seen[w.ID] = true
		out = append(out, tracker.Comment{
			ID: w.ID, AuthorID: w.Actor, Body: toMarkdown(w.HTML, at), CreatedAt: w.CreatedAt.Time,
			Own: w.ExternalSource == c.opt.Source, // the account may be a person's too
		})
	})
	slices.SortStableFunc(out, func(a, b tracker.Comment) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out, err
}

// AddComment implements tracker.Tracker.
func (c *Client) AddComment(ctx context.Context, n tracker.NewComment) (string, error) {
	id, _, err := c.addComment(ctx, n)
	return id, err
}

// SetComment implements tracker.Editor.
func (c *Client) SetComment(ctx context.Context, n tracker.NewComment) error {
	id, had, err := c.addComment(ctx, n)
	if err != nil || !had {
		return err
	}
	var out struct{ ID string }
	at := c.item(n.ProjectID, n.ItemID) + "comments/" + url.PathEscape(id) + "/"
	in := map[string]string{"comment_html": commentHTML(n)}
	err = c.call(ctx, call{method: http.MethodPatch, path: at, token: c.token(n.Author), in: in, out: &out, again: true})
	if err == nil && out.ID == "" {
		return unreadable(at, "without an id")
	}
	return err
}

// addComment posts a comment; had reports that it was there already under its key. Plane looks for
// the key before it inserts, and its database refuses no second one: when an attempt was not
// answered it may be about to insert, so the next one does not follow at once, and looks itself.
func (c *Client) addComment(ctx context.Context, n tracker.NewComment) (id string, had bool, err error) {
	if n.Again && n.Key != "" {
		if id, err = c.findComment(ctx, n); err != nil || id != "" {
			return id, id != "", err
		}
		if until, _ := c.posting.Get(n.Key); c.opt.Now().Before(until) {
			return "", false, tracker.ErrUnderWay
		}
	}
	began := c.opt.Now()
	in := map[string]string{"comment_html": commentHTML(n), "external_source": c.opt.Source}
	if n.Key != "" {
		in["external_id"] = n.Key
	}
	var out struct{ ID string }
	at := c.item(n.ProjectID, n.ItemID) + "comments/"
	err = c.call(ctx, call{
		method: http.MethodPost, path: at, token: c.token(n.Author), in: in, out: &out,
		again: n.Key != "", once: true,
	})
	var e *Error
	var late interface{ Timeout() bool }
	switch {
	case errors.As(err, &late) && late.Timeout():
		c.posting.Add(n.Key, began.Add(stallOf*c.timeout))
	case errors.As(err, &e) && e.Status == http.StatusConflict && e.ID != "":
		return e.ID, true, nil
	case isStatus(err, http.StatusBadRequest): // so Plane answers when there is no such item
		if _, gone := c.Item(ctx, n.ProjectID, n.ItemID); errors.Is(gone, tracker.ErrNotFound) {
			return "", false, gone
		}
	}
	if err == nil && out.ID == "" {
		return "", false, unreadable(at, "without an id")
	}
	return out.ID, false, err
}

// findComment returns the id of the comment with a key; empty when there is none.
func (c *Client) findComment(ctx context.Context, n tracker.NewComment) (id string, err error) {
	err = each(ctx, c, c.item(n.ProjectID, n.ItemID)+"comments/", func(w wireComment) {
		if w.ExternalSource == c.opt.Source && w.ExternalID == n.Key {
			id = w.ID
		}
	})
	return id, err
}
