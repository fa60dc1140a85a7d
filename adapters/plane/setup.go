package plane

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// project is one that the token sees.
type project struct{ ID, Identifier, Name string }

// projects lists the projects of the workspace.
func (c *Client) projects(ctx context.Context) (out []project, err error) {
	path := "workspaces/" + url.PathEscape(c.opt.Workspace) + "/projects/"
	err = each(ctx, c, path, func(p project) { out = append(out, p) })
	return out, err
}

// looks are the group and the colour of a column that is made, by what its status means.
func looks(s stage.Status) (group, colour string) {
	switch s {
	case stage.StatusToAnalyse:
		return "unstarted", "#3f76ff"
	case stage.StatusDone:
		return "completed", "#16a34a"
	case stage.StatusStop:
		return "cancelled", "#dc2626"
	case stage.StatusNeedsInput, stage.StatusInReview, stage.StatusAwaitingDeploy, stage.StatusBlocked:
		return "started", "#d97706" // somebody is waited for
	}
	return "started", "#7c3aed"
}

// AddColumn makes the column of a status on a project's board; one that is there stays.
func (c *Client) AddColumn(ctx context.Context, projectID string, s stage.Status) error {
	info, ok := stage.StatusNamed(s)
	if !ok {
		return fmt.Errorf("plane: there is no status %q", s)
	}
	group, colour := looks(s)
	err := c.call(ctx, call{
		method: http.MethodPost, path: c.project(projectID) + "states/", again: true,
		in: map[string]string{"name": info.Name, "group": group, "color": colour},
	})
	if isStatus(err, http.StatusConflict) {
		err = nil
	}
	b, _ := c.boards.Get(projectID)
	b.read = time.Time{} // it is another one now
	c.boards.Add(projectID, b)
	return err
}

// MakeItem implements tracker.Maker.
func (c *Client) MakeItem(ctx context.Context, projectID, title string) (tracker.Item, error) {
	b, err := c.board(ctx, projectID, "")
	if err != nil {
		return tracker.Item{}, err
	}
	var out wireItem
	at := c.project(projectID) + "work-items/"
	err = c.call(ctx, call{method: http.MethodPost, path: at, in: map[string]string{"name": title}, out: &out})
	if err == nil && out.ID == "" {
		err = unreadable(at, "without an id")
	}
	return c.convert(out, b), err
}

// RemoveItem implements tracker.Maker.
func (c *Client) RemoveItem(ctx context.Context, projectID, itemID string) error {
	return c.call(ctx, call{method: http.MethodDelete, path: c.item(projectID, itemID), again: true})
}
