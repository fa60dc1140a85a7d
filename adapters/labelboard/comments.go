package labelboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/tracker"
)

// list reads the comments of an issue. Gitea has an internal error where there is no issue.
func (c *Client) list(ctx context.Context, projectID, itemID string, f func(wireComment)) error {
	at, err := c.item(projectID, itemID)
	if err != nil {
		return err
	}
	if c.opt.Issues.Whole {
		var rows []wireComment
		err = c.call(ctx, http.MethodGet, at+"/comments", nil, &rows)
		for _, row := range rows {
			f(row)
		}
	} else {
		err = each(ctx, c, at+"/comments", nil, f)
	}
	if restclient.IsStatus(err, http.StatusInternalServerError) {
		if _, gone := c.issue(ctx, projectID, itemID); errors.Is(gone, tracker.ErrNotFound) {
			return gone
		}
	}
	return err
}

// Comments implements tracker.Tracker.
func (c *Client) Comments(ctx context.Context, projectID, itemID string) ([]tracker.Comment, error) {
	if _, err := c.Own(""); err != nil {
		return nil, err
	}
	var out []tracker.Comment
	seen := map[int64]bool{} // pages shift when a comment is added meanwhile
	err := c.list(ctx, projectID, itemID, func(w wireComment) {
		if seen[w.ID] {
			return
		}
		seen[w.ID] = true
		_, own := c.ownKey(w)
		body := visible(w.Body)
		if own {
			body = unescape(body)
		}
		out = append(out, tracker.Comment{
			ID: strconv.FormatInt(w.ID, 10), AuthorID: w.User.Login, Body: body, CreatedAt: w.CreatedAt.Time, Own: own,
		})
	})
	slices.SortStableFunc(out, func(a, b tracker.Comment) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out, err
}

// ownKey is the key of a comment of the service's own: one of its accounts has posted it, and it
// has our mark. Accounts are known once and for all.
func (c *Client) ownKey(w wireComment) (key string, ok bool) {
	own, _ := c.Own(w.User.Login)
	key, marked := keyOf(w.Body)
	return key, own && marked
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
	at, err := project(n.ProjectID)
	if err != nil {
		return err
	}
	at += "issues/comments/" + url.PathEscape(id)
	var out wireComment
	in := map[string]string{"body": markdown(n)}
	err = c.call(ctx, http.MethodPatch, at, in, &out)
	switch {
	case errors.Is(err, tracker.ErrNotFound): // somebody has deleted it: the next try posts it again
		c.posted.Remove(identity(n))
		return &Error{Service: service, Status: http.StatusNotFound, What: at + " is gone", Again: true}
	case err == nil && out.ID == 0:
		return unreadable(at, "without an id")
	}
	return err
}

// addComment posts a comment; had reports that it was there already under its key.
func (c *Client) addComment(ctx context.Context, n tracker.NewComment) (id string, had bool, err error) {
	at, err := c.item(n.ProjectID, n.ItemID)
	if err != nil {
		return "", false, err
	}
	if n.Key != "" {
		end, err := c.turn(ctx, n)
		if err != nil {
			return "", false, err
		}
		defer end()
		if id, err = c.find(ctx, n); err != nil || id != "" {
			return id, id != "", err
		}
	}
	var out wireComment
	in := map[string]string{"body": markdown(n)}
	err = c.call(ctx, http.MethodPost, at+"/comments", in, &out)
	if err == nil && out.ID == 0 {
		err = unreadable(at+"/comments", "without an id")
	}
	if err != nil {
		return "", false, err
	}
	id = strconv.FormatInt(out.ID, 10)
	c.posted.Add(identity(n), id)
	return id, false, nil
}

// find looks for the comment of ours that has a key; empty when there is none.
func (c *Client) find(ctx context.Context, n tracker.NewComment) (id string, err error) {
	if id, _ = c.posted.Get(identity(n)); id != "" {
		return id, nil
	}
	if _, unknown := c.Own(""); unknown != nil {
		err := c.Identify(ctx)
		if _, unknown = c.Own(""); unknown != nil {
			return "", fmt.Errorf("whose comments are the service's own: %w", err)
		}
	}
	err = c.list(ctx, n.ProjectID, n.ItemID, func(w wireComment) {
		if key, own := c.ownKey(w); own && key == n.Key && id == "" {
			id = strconv.FormatInt(w.ID, 10)
		}
	})
	if id != "" && err == nil {
		c.posted.Add(identity(n), id)
	}
	return id, err
}

// identity is a comment's within the process.
func identity(n tracker.NewComment) string { return n.ProjectID + "\n" + n.Key }

// turn waits until nobody else posts under a key: between looking for a comment and posting it another could do the same.
func (c *Client) turn(ctx context.Context, n tracker.NewComment) (end func(), err error) {
	key, over := identity(n), make(chan struct{})
	for {
		c.mu.Lock()
		before := c.posting[key]
		if before == nil {
			c.posting[key] = over
		}
		c.mu.Unlock()
		if before == nil {
			break
		}
		select {
		case <-before:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return func() {
		c.mu.Lock()
		delete(c.posting, key)
		c.mu.Unlock()
		close(over)
	}, nil
}
