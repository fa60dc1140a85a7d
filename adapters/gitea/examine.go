package gitea

import (
	"context"
	"net/http"
	"slices"

	"github.com/signalbox-dev/signalbox/githost"
)

// Repository implements githost.Examiner. Its name is the new one of a renamed repository,
// and its methods are in the order in which Merge takes them.
func (c *Client) Repository(ctx context.Context, repo string) (none githost.Repository, err error) {
	at, err := repoPath(repo)
	if err != nil {
		return none, err
	}
	var r struct {
		ID            int64
		FullName      string `json:"full_name"`
		CloneURL      string `json:"clone_url"`
		DefaultBranch string `json:"default_branch"`
		Archived      bool
		Permissions   struct{ Admin, Push bool }
		Merge         bool `json:"allow_merge_commits"`
		Squash        bool `json:"allow_squash_merge"`
		Rebase        bool `json:"allow_rebase"`
		RebaseMerge   bool `json:"allow_rebase_explicit"`
		FastForward   bool `json:"allow_fast_forward_only_merge"`
	}
	what := "the repository " + repo
	if err := c.get(ctx, what, at, &r); err != nil {
		return none, err
	}
	if r.FullName == "" {
		return none, unreadable(what)
	}
	c.names.Learn(repo, r.FullName, r.ID)
	out := githost.Repository{
		Name: r.FullName, CloneURL: r.CloneURL, DefaultBranch: r.DefaultBranch, Archived: r.Archived,
		Push: r.Permissions.Push || r.Permissions.Admin, Admin: r.Permissions.Admin,
	}
	for _, m := range []struct {
		name    string
		allowed bool
	}{
		{styleMerge, r.Merge},
		{styleSquash, r.Squash},
		{styleRebase, r.Rebase},
		{styleRebaseMerge, r.RebaseMerge},
		{styleFastForward, r.FastForward},
	} {
		if m.allowed {
			out.Methods = append(out.Methods, m.name)
		}
	}
	return out, nil
}

// Protection implements githost.Examiner. In its contexts * and ? stand for letters.
func (c *Client) Protection(ctx context.Context, repo, name string) (githost.Protection, error) {
	b, err := c.protection(ctx, repo, name)
	if err != nil {
		return githost.Protection{}, err
	}
	out := githost.Protection{SHA: b.Commit.ID, Protected: b.Protected}
	if b.Checks {
		out.Contexts = b.Contexts
	}
	return out, nil
}

func (c *Client) protection(ctx context.Context, repo, name string) (b branch, err error) {
	at, err := branchPath(repo, name)
	if err != nil {
		return b, err
	}
	what := "the branch " + name + " of " + repo
	if err := c.get(ctx, what, at, &b); err != nil {
		return b, err
	}
	if b.Commit.ID == "" {
		return b, unreadable(what)
	}
	return b, nil
}

// Webhooks implements githost.Examiner. Gitea keeps no record of deliveries that could be
// read.
func (c *Client) Webhooks(ctx context.Context, repo string) (out []githost.Webhook, err error) {
	at, err := repoPath(repo)
	if err != nil {
		return nil, err
	}
	type hook struct {
		ID     int64
		Active bool
		Events []string
		Config struct {
			URL         string
			ContentType string `json:"content_type"`
		}
	}
	seen := map[int64]bool{}
	err = list(ctx, c, "the webhooks of "+repo, at+"/hooks", nil, func(rows []hook) (fresh bool) {
		for _, h := range rows {
			if !seen[h.ID] {
				fresh = true
				out = append(out, githost.Webhook{
					URL: h.Config.URL, Active: h.Active, JSON: h.Config.ContentType == "json", Lacks: lacks(h.Events),
				})
			}
			seen[h.ID] = true
		}
		return fresh
	})
	return out, err
}

// lacks names those of HookEvents that a webhook does not send whole, but push, without which pushes are noticed
// later. It lists its events one by one: reviews by one name, or before Gitea 1.24 by three.
func lacks(events []string) (out []string) {
	has := func(all ...string) bool {
		return !slices.ContainsFunc(all, func(e string) bool { return !slices.Contains(events, e) })
	}
	reviews := has("pull_request_review") || has("pull_request_review_approved", "pull_request_review_rejected")
	if !reviews || !has("pull_request", "pull_request_sync") {
		out = append(out, "pull_request")
	}
	if !has("status") {
		out = append(out, "status")
	}
	return out
}

// AddWebhook implements githost.Examiner.
func (c *Client) AddWebhook(ctx context.Context, repo, address, secret string) error {
	at, err := repoPath(repo)
	if err != nil {
		return err
	}
	return c.call(ctx, "a webhook of "+repo, http.MethodPost, at+"/hooks", map[string]any{
		"type": "gitea", "active": true,
		"events": []string{"pull_request", "push", "status"}, // pull_request is all that concerns one, its reviews included
		"config": map[string]string{"url": address, "content_type": "json", "secret": secret},
	}, nil)
}

var (
	_ githost.Host     = (*Client)(nil)
	_ githost.Branches = (*Client)(nil)
	_ githost.Receiver = (*Client)(nil)
	_ githost.Examiner = (*Client)(nil)
)
