package labelboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Person implements tracker.People. The id is the login, and the role what the account may do in
// the repository, as the hosts call it: owner (Gitea), admin, write, read or none. Gitea answers
// that to an administrator of the repository; a role that cannot be read is empty.
func (c *Client) Person(ctx context.Context, projectID, accountID string) (none tracker.Person, err error) {
	at, err := project(projectID)
	if err != nil {
		return none, err
	}
	if accountID == "" {
		return none, fmt.Errorf("labelboard: an account without a name: %w", tracker.ErrNotFound)
	}
	var who wireUser
	login := url.PathEscape(accountID)
	if err := c.call(ctx, http.MethodGet, "/users/"+login, nil, &who); err != nil {
		return none, err
	}
	if who.Login == "" {
		return none, unreadable("/users/"+login, "without a login")
	}
	var may struct{ Permission string }
	err = c.call(ctx, http.MethodGet, at+"collaborators/"+login+"/permission", nil, &may)
	if err != nil && (ctx.Err() != nil || fault.Retryable(err)) {
		return none, err
	}
	if err != nil {
		c.opt.Log.Warn("what an account may do cannot be read; the token must be an administrator's of the repository",
			"account", accountID, "repo", projectID, "err", err)
	}
	return tracker.Person{ID: who.Login, Name: cmp.Or(who.Name, who.FullName), Email: who.Email, Role: strings.ToLower(may.Permission)}, nil
}
