package labelboard

import (
	"context"
	"fmt"
	"net/http"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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

// AddColumn makes the label of a status in a repository, at Gitea an exclusive one; one that is
// there stays.
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
	if _, err := c.rest.Do(ctx, restclient.Call{Method: http.MethodPost, Path: at + "labels", In: label, Out: &made}); err != nil {
		return err
	}
	_, err = c.refresh(ctx, projectID)
	return err
}
