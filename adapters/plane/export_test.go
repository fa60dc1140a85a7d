package plane

import "context"

// Account reads whom the shared token speaks for, and whether it may change cards of a project.
func (c *Client) Account(ctx context.Context, projectID string) (id string, may bool, err error) {
	tokens, err := c.readTokens(ctx)
	if err == nil {
		id = tokens[0].account.ID
		may, err = c.may(ctx, projectID, tokens[0])
	}
	return id, may, err
}
