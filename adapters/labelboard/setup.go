package labelboard

import (
	"context"
	"fmt"
	"net/http"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// colour is that of a column that is made, by what its status means.
func colour(s stage.Status) string {
	switch s {
	case stage.StatusToAnalyse:
		return "3f76ff"
	case stage.StatusDone:
		return "16a34a"
	case stage.StatusStop:
		return "dc2626"
	case stage.StatusNeedsInput, stage.StatusInReview, stage.StatusAwaitingDeploy, stage.StatusBlocked:
		return "d97706" // somebody is waited for
	default:
		return "7c3aed"
	}
}

// AddColumn makes the label of a status in a repository, at Gitea an exclusive one; one that is there stays.
func (c *Client) AddColumn(ctx context.Context, projectID string, s stage.Status) error {
	info, ok := stage.StatusNamed(s)
	if !ok {
		return fmt.Errorf("labelboard: there is no status %q", s)
	}
	b, err := c.refresh(ctx, projectID) // Gitea makes several labels of one name
	if _, has := b.labels[s]; err != nil || has {
		return err
	}
	at, err := project(projectID)
	if err != nil {
		return err
	}
	var made wireLabel
	label := c.opt.Issues.NewLabel(scope+info.Name, colour(s))
	if err := c.call(ctx, http.MethodPost, at+"labels", label, &made); err != nil {
		return err
	}
	_, err = c.refresh(ctx, projectID)
	return err
}

// AddWebhook registers a repository's webhook to an address; made is false where one goes there already.
func (c *Client) AddWebhook(ctx context.Context, projectID, address, secret string) (made bool, err error) {
	at, err := project(projectID)
	if err != nil {
		return false, err
	}
	var hooks []struct{ Config struct{ URL string } }
	get := restclient.Call{Method: http.MethodGet, Path: at + "hooks", Query: c.opt.Issues.Page, Out: &hooks}
	if _, err := c.rest.Do(ctx, get); err != nil {
		return false, err
	}
	for _, h := range hooks {
		if h.Config.URL == address {
			return false, nil
		}
	}
	in := map[string]any{
		"active": true, "events": c.opt.Issues.Events,
		"config": map[string]string{"url": address, "content_type": "json", "secret": secret},
	}
	if c.opt.Issues.HookType != "" {
		in["type"] = c.opt.Issues.HookType
	}
	err = c.call(ctx, http.MethodPost, at+"hooks", in, nil)
	return err == nil, err
}

// MakeItem implements tracker.Maker.
func (c *Client) MakeItem(ctx context.Context, projectID, title string) (tracker.Item, error) {
	at, err := project(projectID)
	if err != nil {
		return tracker.Item{}, err
	}
	var made wireIssue
	at += "issues"
	err = c.call(ctx, http.MethodPost, at, map[string]string{"title": title}, &made)
	if err == nil && made.Number == 0 {
		err = unreadable(at, "without a number")
	}
	if err != nil {
		return tracker.Item{}, err
	}
	return c.read(ctx, projectID, made)
}

// RemoveItem implements tracker.Maker: not every account may delete issues, so it is closed, without a label.
func (c *Client) RemoveItem(ctx context.Context, projectID, itemID string) error {
	at, err := c.item(projectID, itemID)
	if err != nil {
		return err
	}
	if err = c.call(ctx, http.MethodPut, at+"/labels", map[string]any{"labels": []any{}}, nil); err == nil {
		err = c.call(ctx, http.MethodPatch, at, map[string]string{"state": "closed"}, nil)
	}
	return err
}
