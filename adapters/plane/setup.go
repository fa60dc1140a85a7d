package plane

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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
	default:
		return "started", "#7c3aed"
	}
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
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.boards[projectID]
	b.read = time.Time{} // it is another one now
	c.boards[projectID] = b
	return err
}
