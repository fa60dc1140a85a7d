package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
)

// Repository implements githost.Examiner.
func (c *Client) Repository(ctx context.Context, repo string) (none githost.Repository, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return none, err
	}
	r, _, err := c.api.Repositories.Get(ctx, owner, name)
	if err != nil {
		return none, c.convert(ctx, "the repository "+repo, err)
	}
	if r.GetFullName() == "" {
		return none, unreadable("the repository " + repo)
	}
	c.names.Learn(repo, r.GetFullName(), r.GetID())
	may := r.GetPermissions()
	out := githost.Repository{
		Name: r.GetFullName(), CloneURL: r.GetCloneURL(), DefaultBranch: r.GetDefaultBranch(), Archived: r.GetArchived(),
		Push: may["push"] || may["maintain"] || may["admin"], Admin: may["admin"],
	}
	for _, m := range methodsOf(r) {
		out.Methods = append(out.Methods, string(m))
	}
	return out, nil
}

// Protection implements githost.Examiner.
func (c *Client) Protection(ctx context.Context, repo, branch string) (none githost.Protection, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return none, err
	}
	what := "the branch " + branch + " of " + repo
	var b struct {
		Commit     struct{ SHA string }
		Protected  bool
		Protection struct {
			Checks struct{ Contexts []string } `json:"required_status_checks"`
		}
	}
	path := fmt.Sprintf("repos/%s/%s/branches/%s", owner, name, url.PathEscape(branch))
	if _, err := c.send(ctx, c.api, what, http.MethodGet, path, nil, &b); err != nil {
		return none, err
	}
	if b.Commit.SHA == "" {
		return none, unreadable(what)
	}
	return githost.Protection{SHA: b.Commit.SHA, Protected: b.Protected, Contexts: b.Protection.Checks.Contexts}, nil
}

// HookEvents are the webhooks that the service works by. What is pushed before there is a pull request is told
// by push alone, how a merge queue moves by merge_group, and that a conversation is resolved by pull_request_review_thread; without
// them that is noticed later, or a person says so on the card.
func HookEvents() []string {
	return []string{
		"check_run", "check_suite", "merge_group", "pull_request", "pull_request_review", "pull_request_review_thread", "push", "status",
	}
}

// Webhooks implements githost.Examiner.
func (c *Client) Webhooks(ctx context.Context, repo string) (out []githost.Webhook, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	for opt := (gh.ListOptions{PerPage: 100}); ; {
		list, resp, err := c.api.Repositories.ListHooks(ctx, owner, name, &opt)
		if err != nil {
			return nil, c.convert(ctx, "the webhooks of "+repo, err)
		}
		for _, h := range list {
			out = append(out, hook(h))
		}
		if more, err := next(&opt.Page, resp); err != nil || !more {
			return out, err
		}
	}
}

func hook(h *gh.Hook) githost.Webhook {
	out := githost.Webhook{URL: h.GetConfig().GetURL(), Active: h.GetActive(), JSON: h.GetConfig().GetContentType() == "json"}
	later := []string{"push", "merge_group", "pull_request_review_thread"}
	for _, e := range HookEvents() {
		if !slices.Contains(later, e) && !slices.Contains(h.Events, e) && !slices.Contains(h.Events, "*") {
			out.Lacks = append(out.Lacks, e)
		}
	}
	if code, ok := h.LastResponse["code"].(float64); ok {
		out.Last = int(code)
	}
	if note, ok := h.LastResponse["message"].(string); ok {
		out.Note = strings.TrimSpace(note)
	}
	return out
}

// AddWebhook implements githost.Examiner.
func (c *Client) AddWebhook(ctx context.Context, repo, address, secret string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	_, _, err = c.api.Repositories.CreateHook(ctx, owner, name, &gh.Hook{
		Config: &gh.HookConfig{
			URL: &address, ContentType: gh.String("json"), InsecureSSL: gh.String("0"), Secret: &secret,
		},
		Events: HookEvents(), Active: gh.Bool(true),
	})
	return c.convert(ctx, "a webhook of "+repo, err)
}
