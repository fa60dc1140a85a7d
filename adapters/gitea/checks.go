package gitea

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// status is a commit status. What the interface calls status the webhook calls state.
type status struct {
	ID          int64
	State       string `json:"status"`
	Context     string
	Description string
	TargetURL   string    `json:"target_url"`
	URL         string    // of the statuses of its commit
	Updated     time.Time `json:"updated_at"`
	Creator     *user
}

// Checks implements githost.Host: the newest status of every context and account, and what the protection of
// the base requires beside them.
func (c *Client) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	out, err := c.statuses(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	p, err := c.Protection(ctx, repo, base)
	if errors.Is(err, githost.ErrNotFound) || errors.Is(err, githost.ErrDenied) { // there is no such branch, or not for the token
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	usual, err := c.sight(ctx, repo, base, p.SHA)
	if err != nil {
		return nil, err
	}
	githost.NoteForeign(out, usual, base)
	return append(out, expected(p, base, out)...), nil
}

// statuses lists the statuses of a commit: the combined one of Gitea hides all but the newest of a context, whoever has
// written it, so all are read, and that of each account counts.
func (c *Client) statuses(ctx context.Context, repo, sha string) (out []githost.Check, err error) {
	at, err := commitPath(repo, sha)
	if err != nil {
		return nil, err
	}
	ids, seen := map[int]int64{}, map[int64]bool{} // of what is listed, by its place; and all
	err = list(ctx, c, "the statuses of "+repo, at+"/commits/"+sha+"/statuses", nil, func(rows []status) (fresh bool) {
		for _, s := range rows {
			k := c.check(s)
			fresh, seen[s.ID] = fresh || !seen[s.ID], true
			i := slices.IndexFunc(out, func(o githost.Check) bool { return o.Name == k.Name && o.Issuer == k.Issuer })
			if i < 0 {
				i, out = len(out), append(out, k)
			}
			if s.ID >= ids[i] {
				ids[i], out[i] = s.ID, k
			}
		}
		return fresh
	})
	return out, err
}

// sighted are the checks of a base branch, as each was reported first, and when they were read.
type sighted struct {
	checks []githost.Check
	at     time.Time
}

// sight returns who reports on a base branch, whose head is the commit.
func (c *Client) sight(ctx context.Context, repo, base, head string) ([]githost.Check, error) {
	key := strings.ToLower(repo) + " " + base
	known, _ := c.sights.Get(key)
	if c.opt.Now().Sub(known.at) < knownFor {
		return known.checks, nil
	}
	list, err := c.statuses(ctx, repo, head)
	if err != nil {
		return nil, err
	}
	known = sighted{githost.FirstSight(known.checks, list), c.opt.Now()}
	c.sights.Add(key, known)
	return known.checks, nil
}

// check converts a status. The pages of Gitea's own Actions have no host in their address.
func (c *Client) check(s status) githost.Check {
	out := githost.Check{Name: s.Context, State: stateOf(s.State), Kind: "status", Note: s.Description}
	out.SHA, out.At = githost.StatusCommit(s.URL), s.Updated
	if at, err := c.base.Parse(s.TargetURL); s.TargetURL != "" && err == nil && (at.Scheme == "http" || at.Scheme == "https") {
		out.URL = at.String()
	}
	switch { // workflows report by an account that nobody has, and that Gitea does not show
	case s.Creator != nil && !s.Creator.bot():
		out.Issuer = stage.IssuerUser + s.Creator.Login
	case strings.Contains(s.TargetURL, "/actions/runs/"):
		out.App, out.Issuer = githost.AppActions, stage.IssuerApp+githost.AppActions
	}
	if s.State == "warning" {
		out.Note = strings.TrimSuffix("passed with a warning: "+s.Description, ": ")
	}
	return out
}

// stateOf normalises the state of a commit status.
func stateOf(s string) githost.CheckState {
	switch s {
	case "success", "warning", "skipped":
		return githost.CheckPassed
	case "failure", "error":
		return githost.CheckFailed
	}
	return githost.CheckPending
}

// conclusion normalises a workflow's run or job.
func conclusion(status, conclusion string) githost.CheckState {
	if status != "completed" {
		return githost.CheckPending
	}
	switch conclusion {
	case "success", "skipped", "neutral":
		return githost.CheckPassed
	case "cancelled":
		return githost.CheckCancelled
	}
	return githost.CheckFailed
}

// expected lists what a branch's protection requires and is not among the reported. A
// pattern that fits none of them is expected under its own text. Those that none fits are optional.
func expected(p githost.Protection, base string, reported []githost.Check) (out []githost.Check) {
	for i, r := range reported {
		demanded := slices.ContainsFunc(p.Contexts, func(pattern string) bool { return glob(pattern)(r.Name) })
		reported[i].Optional = len(p.Contexts) > 0 && !demanded
	}
	for _, pattern := range p.Contexts {
		fits := glob(pattern)
		if !slices.ContainsFunc(reported, func(r githost.Check) bool { return fits(r.Name) }) {
			out = append(out, githost.Check{
				Name: pattern, State: githost.CheckExpected, Kind: "required", Note: "required by the protection of " + base,
			})
		}
	}
	return out
}

// globWords matches what a pattern may have beside letters. A star goes over slashes, which
// are in the names of Gitea Actions.
var globWords = regexp.MustCompile(`\*+|\?|\[[^\]]+\]|\{[^{}]*\}`)

// glob compiles a pattern of contexts. One that is none stands for itself.
func glob(pattern string) func(string) bool {
	var b strings.Builder
	last := 0
	for _, at := range globWords.FindAllStringIndex(pattern, -1) {
		b.WriteString(regexp.QuoteMeta(pattern[last:at[0]]))
		last = at[1]
		switch word := pattern[at[0]:at[1]]; word[0] {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		case '[':
			b.WriteString(strings.Replace(word, "[!", "[^", 1))
		default:
			b.WriteString("(?:" + strings.ReplaceAll(regexp.QuoteMeta(word[1:len(word)-1]), ",", "|") + ")")
		}
	}
	re, err := regexp.Compile("(?s)^" + b.String() + regexp.QuoteMeta(pattern[last:]) + "$")
	return func(name string) bool { return name == pattern || err == nil && re.MatchString(name) }
}
