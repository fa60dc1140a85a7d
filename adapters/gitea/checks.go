package gitea

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/githost"
)

// status is a commit status. What the interface calls status the webhook calls state.
type status struct {
	ID          int64  `json:"id"`
	State       string `json:"status"`
	Context     string `json:"context"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

// Checks implements githost.Host: the newest status of every context, and what the protection of
// the base requires beside them.
func (c *Client) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	at, err := commitPath(repo, sha)
	if err != nil {
		return nil, err
	}
	newest := map[string]status{}
	var order []string
	for page := 1; page <= pagesMax; page++ {
		rows, err := c.statuses(ctx, "the statuses of "+repo, at+"/commits/"+sha+"/status", page)
		if err != nil {
			return nil, err
		}
		fresh := false
		for _, s := range rows {
			old, known := newest[s.Context]
			if !known {
				order = append(order, s.Context)
			}
			if !known || s.ID > old.ID {
				newest[s.Context], fresh = s, true
			}
		}
		if !fresh {
			var out []githost.Check
			for _, name := range order {
				out = append(out, c.check(newest[name]))
			}
			more, err := c.expected(ctx, repo, base, out)
			if errors.Is(err, githost.ErrNotFound) || errors.Is(err, githost.ErrDenied) { // there is no such branch, or not for the token
				return out, nil
			}
			return append(out, more...), err
		}
	}
	return nil, endless("the statuses of " + repo)
}

// statuses reads one page of a commit's combined status, which counts only what is on it.
func (c *Client) statuses(ctx context.Context, what, path string, page int) ([]status, error) {
	var combined struct {
		Total    *int     `json:"total_count"`
		Statuses []status `json:"statuses"`
	}
	q := url.Values{"limit": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(page)}}
	if _, err := c.call(ctx, what, http.MethodGet, path, q, nil, &combined); err != nil {
		return nil, err
	}
	if combined.Total == nil {
		return nil, unreadable(what)
	}
	return combined.Statuses, nil
}

// check converts a status. The pages of Gitea's own Actions have no host in their address.
func (c *Client) check(s status) githost.Check {
	out := githost.Check{Name: s.Context, State: stateOf(s.State), Kind: "status", Note: s.Description}
	if at, err := c.base.Parse(s.TargetURL); s.TargetURL != "" && err == nil && (at.Scheme == "http" || at.Scheme == "https") {
		out.URL = at.String()
	}
	if strings.Contains(s.TargetURL, "/actions/runs/") { // of the host's own workflows
		out.App = githost.AppActions
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
	default:
		return githost.CheckPending
	}
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
	default:
		return githost.CheckFailed
	}
}

// expected lists what a branch's protection requires and is not among the reported. A
// pattern that fits none of them is expected under its own text. Those that none fits are optional.
func (c *Client) expected(ctx context.Context, repo, base string, reported []githost.Check) ([]githost.Check, error) {
	p, err := c.Protection(ctx, repo, base)
	if errors.Is(err, githost.ErrNotFound) { // nothing protects a branch that is not there
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i, r := range reported {
		demanded := slices.ContainsFunc(p.Contexts, func(pattern string) bool { return glob(pattern)(r.Name) })
		reported[i].Optional = len(p.Contexts) > 0 && !demanded
	}
	var out []githost.Check
	for _, pattern := range p.Contexts {
		fits := glob(pattern)
		if !slices.ContainsFunc(reported, func(r githost.Check) bool { return fits(r.Name) }) {
			out = append(out, githost.Check{
				Name: pattern, State: githost.CheckExpected, Kind: "required", Note: "required by the protection of " + base,
			})
		}
	}
	return out, nil
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
