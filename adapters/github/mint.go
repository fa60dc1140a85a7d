package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// MintToken gives a new token of the app's installation that may do what the permissions say in
// one repository, and nothing else. A token that may do more is revoked, and an error.
func (c *Client) MintToken(ctx context.Context, repo string, permissions map[string]string) (token string, expires time.Time, err error) {
	if c.app == nil {
		return "", expires, errors.New("github: tokens for single repositories are an app's; sign in as one")
	}
	wanted, err := permissionsOf(permissions)
	if err != nil {
		return "", expires, err
	}
	_, name, err := split(repo)
	if err != nil {
		return "", expires, err
	}
	id, err := c.installation(ctx, repo)
	if err != nil {
		return "", expires, err
	}
	asked := &gh.InstallationTokenOptions{Repositories: []string{name}, Permissions: wanted}
	got, _, err := c.app.api.Apps.CreateInstallationToken(ctx, id, asked)
	if err = c.convert(ctx, "a token for "+repo, err); err != nil {
		return "", expires, err
	}
	alone := len(got.Repositories) == 1 && strings.EqualFold(got.Repositories[0].GetFullName(), repo)
	if got.GetToken() == "" {
		return "", expires, unreadable("a token for " + repo)
	}
	if !alone {
		return got.GetToken(), expires, errors.New("github: the token that was minted is not for " + repo + " alone, and is not used")
	}
	return got.GetToken(), got.GetExpiresAt().Time, nil
}

// permissionsOf reads names and levels as GitHub has them.
func permissionsOf(list map[string]string) (*gh.InstallationPermissions, error) {
	for name, level := range list {
		if !slices.Contains([]string{"read", "write", "admin"}, level) {
			return nil, fmt.Errorf("github: the permission %s is %q, want read, write or admin", name, level)
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	var out gh.InstallationPermissions
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&out); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("github: permissions of a token: want names such as contents: read (%w)", errors.Join(err))
	}
	return &out, nil
}

// RevokeToken ends a token of an installation. One that has ended already is no error.
func (c *Client) RevokeToken(ctx context.Context, token string) error {
	api := c.signed(bearer{token: func(*http.Request) (string, error) { return token, nil }})
	api.BaseURL = c.api.BaseURL
	res, err := api.Apps.RevokeInstallationToken(ctx)
	if res != nil && res.StatusCode == http.StatusUnauthorized {
		return nil
	}
	return c.convert(ctx, "the end of a token", err)
}
