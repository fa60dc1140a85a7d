package gitea

import (
	"context"
	"errors"
	"net/http"

	"github.com/signalbox-dev/signalbox/githost"
)

// branch is a branch with that part of its protection which any reader sees.
type branch struct {
	Name   string
	Commit struct {
		ID string
	} `json:"commit"`
	Protected bool
	Checks    bool     `json:"enable_status_check"`
	Contexts  []string `json:"status_check_contexts"`
	Approvals int      `json:"required_approvals"`
}

// BranchesAt implements githost.Branches. Gitea does not find a branch by its head: all
// are listed.
func (c *Client) BranchesAt(ctx context.Context, repo, sha string) (out []string, err error) {
	at, err := commitPath(repo, sha)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	err = list(ctx, c, "the branches of "+repo, at+"/branches", nil, func(rows []branch) (fresh bool) {
		for _, b := range rows {
			if !seen[b.Name] && b.Commit.ID == sha {
				out = append(out, b.Name)
			}
			fresh = fresh || !seen[b.Name]
			seen[b.Name] = true
		}
		return fresh
	})
	return out, err
}

// DeleteBranch implements githost.Branches. One that Gitea keeps, such as a protected
// branch, is ErrDenied.
func (c *Client) DeleteBranch(ctx context.Context, repo, name string) error {
	at, err := branchPath(repo, name)
	if err != nil {
		return err
	}
	err = c.call(ctx, "branch "+name+" of "+repo, http.MethodDelete, at, nil, nil)
	if errors.Is(err, githost.ErrNotFound) {
		return nil
	}
	return err
}
