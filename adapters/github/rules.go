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
)

// Demand is a check that has to be green before anything goes into a branch.
type Demand struct {
	Context string
	App     int64  // id of the app that has to report it; 0 = any
	By      string // what demands it, for people
}

// rules are what a branch demands, and when that was read.
type rules struct {
	demands []Demand
	at      time.Time
}

// Bounds of what is cached: rules change seldom, and each look at CI needs them.
const (
	rulesTTL = 5 * time.Minute
	rulesMax = 1000
)

// demands are the checks that a branch demands, of its protection and of rulesets, as far as
// the token may see them.
func (c *Client) demands(ctx context.Context, repo, base string) ([]Demand, error) {
	key := strings.ToLower(repo) + " " + base
	c.mu.Lock()
	known, ok := c.rules[key]
	c.mu.Unlock()
	if ok && c.opt.Now().Sub(known.at) < rulesTTL {
		return known.demands, nil
	}
	b, err := c.Protection(ctx, repo, base)
	if err != nil && !unseen(err) {
		return nil, err
	}
	var out []Demand
	for _, name := range b.Contexts {
		out = append(out, Demand{Context: name, By: "the protection of " + base})
	}
	more, err := c.rulesets(ctx, repo, base)
	if err != nil && !unseen(err) {
		return nil, err
	}
	out = append(out, more...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rules) >= rulesMax {
		clear(c.rules)
	}
	c.rules[key] = rules{out, c.opt.Now()}
	return out, nil
}

// unseen reports that GitHub does not show something: it is not there, or not for the token.
func unseen(err error) bool {
	return errors.Is(err, githost.ErrNotFound) || errors.Is(err, githost.ErrDenied)
}

// rulesets reads the checks that the active rules of a branch demand.
func (c *Client) rulesets(ctx context.Context, repo, base string) (out []Demand, err error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	what := "the rules of " + base + " of " + repo
	for page := 0; ; {
		path := fmt.Sprintf("repos/%s/%s/rules/branches/%s?per_page=100", owner, name, url.PathEscape(base))
		if page > 0 {
			path += fmt.Sprintf("&page=%d", page)
		}
		req, err := c.api.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			return nil, fmt.Errorf("github: %s: %w", what, err)
		}
		var list []struct {
			Type       string
			Ruleset    int64  `json:"ruleset_id"`
			Source     string `json:"ruleset_source"`
			Parameters struct {
				Checks []struct {
					Context string
					App     int64 `json:"integration_id"`
				} `json:"required_status_checks"`
			}
		}
		resp, err := c.api.Do(ctx, req, &list)
		if err != nil {
			return nil, c.convert(ctx, what, err)
		}
		if list == nil {
			return nil, unreadable(what)
		}
		for _, rule := range list {
			for _, k := range rule.Parameters.Checks {
				out = append(out, Demand{Context: k.Context, App: k.App, By: fmt.Sprintf("the ruleset %d of %s", rule.Ruleset, rule.Source)})
			}
		}
		if more, err := next(&page, resp); err != nil || !more {
			return out, err
		}
	}
}
