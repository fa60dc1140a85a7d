package plane

import (
	"context"

	"github.com/signalbox-dev/signalbox/tracker"
)

// ToMarkdown converts a fragment.
func ToMarkdown(fragment string, people map[string]tracker.Person, assets string) string {
	return toMarkdown(fragment, place{people, assets})
}

// Account reads whom the shared token speaks for, and whether it may change cards of a project.
func (c *Client) Account(ctx context.Context, projectID string) (id string, may bool, err error) {
	tokens, err := c.readTokens(ctx)
	if err == nil {
		id = tokens[0].account.ID
		may, err = c.may(ctx, projectID, tokens[0])
	}
	return id, may, err
}

// Project is one that the token sees.
type Project = project

// Projects lists the projects of the workspace.
func (c *Client) Projects(ctx context.Context) ([]Project, error) { return c.projects(ctx) }

// What tests use and no other package does.
var EscapeHTML = escapeHTML
