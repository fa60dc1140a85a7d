package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

// Repository is what a repository is and what the token may do there.
type Repository struct {
	Name          string // owner/name, as GitHub writes it
	CloneURL      string
	DefaultBranch string
	Push, Admin   bool // of the token
	Archived      bool
	Methods       []string // by which pull requests may be merged: merge, squash, rebase
}

// Repository describes a repository; githost.ErrNotFound when the token does not see it.
func (c *Client) Repository(ctx context.Context, repo string) (Repository, error) {
	owner, name, err := split(repo)
	if err != nil {
		return Repository{}, err
	}
	r, _, err := c.api.Repositories.Get(ctx, owner, name)
	if err != nil {
		return Repository{}, c.convert(ctx, "the repository "+repo, err)
	}
	if r.GetFullName() == "" {
		return Repository{}, unreadable("the repository " + repo)
	}
	may := r.GetPermissions()
	out := Repository{
		Name: r.GetFullName(), CloneURL: r.GetCloneURL(), DefaultBranch: r.GetDefaultBranch(), Archived: r.GetArchived(),
		Push: may["push"] || may["maintain"] || may["admin"], Admin: may["admin"],
	}
	for _, m := range []struct {
		name    string
		allowed bool
	}{{"merge", r.GetAllowMergeCommit()}, {"squash", r.GetAllowSquashMerge()}, {"rebase", r.GetAllowRebaseMerge()}} {
		if m.allowed {
			out.Methods = append(out.Methods, m.name)
		}
	}
	return out, nil
}

// Protection is what a branch requires of a merge, as far as a reader of the repository
// may see it.
type Protection struct {
	SHA       string // of the branch
	Protected bool
	Contexts  []string // checks that must be green
}

// Protection reads a branch; githost.ErrNotFound when there is none.
func (c *Client) Protection(ctx context.Context, repo, branch string) (Protection, error) {
	owner, name, err := split(repo)
	if err != nil {
		return Protection{}, err
	}
	what := "the branch " + branch + " of " + repo
	req, err := c.api.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/branches/%s", owner, name, url.PathEscape(branch)), nil)
	if err != nil {
		return Protection{}, fmt.Errorf("github: %s: %w", what, err)
	}
	var b struct {
		Commit     struct{ SHA string }
		Protected  bool
		Protection struct {
			Checks struct{ Contexts []string } `json:"required_status_checks"`
		}
	}
	if _, err := c.api.Do(ctx, req, &b); err != nil {
		return Protection{}, c.convert(ctx, what, err)
	}
	if b.Commit.SHA == "" {
		return Protection{}, unreadable(what)
	}
	return Protection{SHA: b.Commit.SHA, Protected: b.Protected, Contexts: b.Protection.Checks.Contexts}, nil
}

// HookEvents are the webhooks that the service works by.
func HookEvents() []string {
	return []string{"check_run", "check_suite", "pull_request", "pull_request_review", "status"}
}

// Hook is a webhook that a repository sends.
type Hook struct {
	URL    string
	Active bool
	Lacks  []string // of HookEvents
	JSON   bool     // its body is
	Last   int      // HTTP status of its last delivery; 0 = there was none, or no answer
	Note   string   // what GitHub says of that
}

// Hooks lists the webhooks of a repository. GitHub shows them to its administrators alone:
// githost.ErrNotFound or ErrDenied for others.
func (c *Client) Hooks(ctx context.Context, repo string) (out []Hook, err error) {
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

func hook(h *gh.Hook) Hook {
	out := Hook{URL: h.GetConfig().GetURL(), Active: h.GetActive(), JSON: h.GetConfig().GetContentType() == "json"}
	for _, e := range HookEvents() {
		if !slices.Contains(h.Events, e) && !slices.Contains(h.Events, "*") {
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

// AddHook has a repository send the service's webhooks to an address, signed with a secret.
func (c *Client) AddHook(ctx context.Context, repo, address, secret string) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	_, _, err = c.api.Repositories.CreateHook(ctx, owner, name, &gh.Hook{
		Config: &gh.HookConfig{URL: &address, ContentType: gh.String("json"), InsecureSSL: gh.String("0"), Secret: &secret}, Events: HookEvents(), Active: gh.Bool(true),
	})
	return c.convert(ctx, "a webhook of "+repo, err)
}
