package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// knownRules are rules, and when they were read.
type knownRules struct {
	githost.Rules
	base []githost.Check // as each was reported first on the branch itself
	at   time.Time
}

// Rules implements githost.Ruled; what was read less than five minutes ago is not read again.
func (c *Client) Rules(ctx context.Context, repo, base string) (githost.Rules, error) {
	known, err := c.knownRules(ctx, repo, base)
	return known.Rules, err
}

func (c *Client) knownRules(ctx context.Context, repo, base string) (none knownRules, err error) {
	key := strings.ToLower(repo) + " " + base
	known, _ := c.rules.Get(key)
	if c.opt.Now().Sub(known.at) < knownFor {
		return known, nil
	}
	b, err := c.Protection(ctx, repo, base)
	if err != nil && !unseen(err) {
		return none, err
	}
	var out githost.Rules
	for _, name := range b.Contexts {
		out.Demands = append(out.Demands, githost.Demand{Context: name, By: "the protection of " + base})
	}
	if b.Protected {
		if err = c.approvals(ctx, repo, base, &out); err != nil && !unseen(err) {
			return none, err
		}
	}
	if err = c.rulesets(ctx, repo, base, &out); err != nil && !unseen(err) {
		return none, err
	}
	if b.Protected && out.Queue == "" {
		if out.Queue, err = c.protectedQueue(ctx, repo, base); fault.Retryable(err) {
			return none, err
		}
	}
	now := knownRules{out, known.base, c.opt.Now()}
	if owner, name, err := splitAt(repo, b.SHA); err == nil {
		list, err := c.reported(ctx, owner, name, b.SHA)
		if err = unknownCommit(err); err != nil && !unseen(err) {
			return none, err
		}
		now.base = githost.FirstSight(known.base, checksOf(list))
	}
	c.rules.Add(key, now)
	return now, nil
}

// unseen reports that GitHub does not show something: it is not there, or not for the token.
func unseen(err error) bool {
	return errors.Is(err, githost.ErrNotFound) || errors.Is(err, githost.ErrDenied)
}

// approvals adds the approvals that the protection of a branch demands, which GitHub shows to administrators alone.
func (c *Client) approvals(ctx context.Context, repo, base string, out *githost.Rules) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	got, _, err := c.api.Repositories.GetPullRequestReviewEnforcement(ctx, owner, name, base)
	if err != nil {
		return c.convert(ctx, "the reviews that "+base+" of "+repo+" demands", err)
	}
	out.Approvals, out.Owners = got.RequiredApprovingReviewCount, got.RequireCodeOwnerReviews
	return nil
}

// rule is an active rule of a ruleset.
type rule struct {
	Type       string
	Ruleset    int64  `json:"ruleset_id"`
	Source     string `json:"ruleset_source"`
	Parameters struct {
		Methods   []string `json:"allowed_merge_methods"`
		Approvals int      `json:"required_approving_review_count"`
		Owners    bool     `json:"require_code_owner_review"`
		Checks    []struct {
			Context string
			App     int64 `json:"integration_id"`
		} `json:"required_status_checks"`
	}
}

// rulesets adds what the active rules of a branch demand.
func (c *Client) rulesets(ctx context.Context, repo, base string, out *githost.Rules) error {
	owner, name, err := split(repo)
	if err != nil {
		return err
	}
	what := "the rules of " + base + " of " + repo
	for page := 0; ; {
		path := fmt.Sprintf("repos/%s/%s/rules/branches/%s?per_page=100", owner, name, url.PathEscape(base))
		if page > 0 {
			path += fmt.Sprintf("&page=%d", page)
		}
		var list []rule
		resp, err := c.send(ctx, c.api, what, http.MethodGet, path, nil, &list)
		if err != nil {
			return err
		}
		if list == nil {
			return unreadable(what)
		}
		for _, r := range list {
			by := fmt.Sprintf("the ruleset %d of %s", r.Ruleset, r.Source)
			if r.Type == "merge_queue" {
				out.Queue = by
			}
			if r.Type == "pull_request" && len(r.Parameters.Methods) > 0 {
				out.Methods = r.Parameters.Methods
			}
			out.Approvals, out.Owners = max(out.Approvals, r.Parameters.Approvals), out.Owners || r.Parameters.Owners
			for _, k := range r.Parameters.Checks {
				out.Demands = append(out.Demands, githost.Demand{Context: k.Context, App: k.App, By: by})
			}
		}
		if more, err := next(&page, resp); err != nil || !more {
			return err
		}
	}
}
