package plane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// token is one of the client's, and whom it speaks for.
type token struct {
	role    stage.Role // the first that has it; empty: Options.Token
	account tracker.Person
	secret  string
}

// of names the token in errors.
func (t token) of() string {
	if t.role == "" {
		return "Token"
	}
	return "the token of the role " + string(t.role)
}

// tokens are those of the options, each once.
func (c *Client) tokens() []token {
	list := []token{{secret: c.opt.Token}}
	for _, role := range slices.Sorted(maps.Keys(c.opt.RoleTokens)) {
		t := c.opt.RoleTokens[role]
		if t != "" && !slices.ContainsFunc(list, func(o token) bool { return o.secret == t }) {
			list = append(list, token{role: role, secret: t})
		}
	}
	return list
}

// readTokens is Identify that returns whom the tokens speak for, as far as that can be read.
func (c *Client) readTokens(ctx context.Context) (known []token, err error) {
	complete := true
	for _, t := range c.tokens() {
		failed := c.readAccount(ctx, &t)
		if failed == nil {
			known = append(known, t)
			continue
		}
		err = errors.Join(err, fmt.Errorf("%s: %w", t.of(), failed))
		refused := isStatus(failed, http.StatusUnauthorized) || isStatus(failed, http.StatusForbidden)
		complete = complete && refused && t.role != ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identified = c.identified || complete
	return known, err
}

// readAccount reads whose token it is.
func (c *Client) readAccount(ctx context.Context, t *token) error {
	var me struct {
		ID    string
		Name  string `json:"display_name"`
		Email string
	}
	if err := c.call(ctx, call{path: "users/me/", token: t.secret, out: &me}); err != nil {
		return err
	}
	if me.ID == "" {
		return unreadable("users/me/", "without an id; is BaseURL a Plane server?")
	}
	t.account = tracker.Person{ID: me.ID, Name: me.Name, Email: me.Email}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own[me.ID] = true
	return nil
}

// noItem is the id of a work item that there is not.
const noItem = "00000000-0000-4000-8000-000000000000"

// may reports whether a token may do in a project what it is for: the shared one change work items,
// a role's comment. Nothing is changed by that: Plane refuses who may not before it looks whether
// there is such a work item; and who may read a project may comment there.
func (c *Client) may(ctx context.Context, projectID string, t token) (bool, error) {
	r := call{path: c.project(projectID) + "states/", token: t.secret}
	if t.role == "" {
		r = call{method: http.MethodPatch, path: c.item(projectID, noItem), token: t.secret, in: map[string]string{}}
	}
	err := c.call(ctx, r)
	switch {
	case isStatus(err, http.StatusForbidden):
		return false, nil
	case t.role == "" && errors.Is(err, tracker.ErrNotFound):
		return true, nil
	}
	return err == nil, err
}

// makers reads which accounts have made the newest work items of a project, of which the
// service makes none: at most a hundred are looked at.
func (c *Client) makers(ctx context.Context, projectID string) (map[string]bool, error) {
	var p page[struct {
		By string `json:"created_by"`
	}]
	path := c.project(projectID) + "work-items/"
	query := url.Values{"per_page": {"100"}, "order_by": {"-created_at"}, "fields": {"id,created_by"}}
	if err := c.call(ctx, call{path: path, query: query, out: &p}); err != nil {
		return nil, err
	}
	if p.Results == nil {
		return nil, unreadable(path, "without results")
	}
	out := map[string]bool{}
	for _, w := range p.Results {
		out[w.By] = w.By != ""
	}
	return out, nil
}
