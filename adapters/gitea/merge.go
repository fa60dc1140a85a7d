package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
)

// Styles of merging, in the order in which they are taken.
const (
	styleMerge       = "merge"
	styleSquash      = "squash"
	styleRebase      = "rebase"
	styleRebaseMerge = "rebase-merge"
	styleFastForward = "fast-forward-only"
)

// Merge implements githost.Host. Where no method is named it makes a merge commit or, if the
// repository does not allow that, merges in a style that it allows. A refusal by a rule of the repository
// is ErrDenied: only people can do something about it.
func (c *Client) Merge(ctx context.Context, m githost.Merge) (string, error) {
	what := fmt.Sprintf("merging pull request %d of %s", m.Number, m.Repo)
	if m.HeadSHA == "" { // Gitea would merge whatever is there
		return "", fmt.Errorf("gitea: %s: no head commit is named: %w", what, githost.ErrHeadMoved)
	}
	style := cmp.Or(string(m.Method), styleMerge)
	err := c.merge(ctx, what, m, style)
	if m.Method == githost.MergeAny && refusesStyle(err) {
		r, look := c.Repository(ctx, m.Repo)
		if look != nil {
			return "", look
		}
		if len(r.Methods) > 0 && r.Methods[0] != styleMerge {
			style = r.Methods[0]
			err = c.merge(ctx, what, m, style)
		}
	}
	var e *Error
	if err != nil && (!errors.As(err, &e) || !undecided(e)) {
		return "", err
	}
	p, look := c.pull(ctx, what, m.Repo, m.Number) // a success names no commit, and a refusal may mean anything
	switch {
	case look != nil && e != nil && e.Again:
		return "", err
	case look != nil:
		return "", look
	case p.Merged && p.MergeSHA == "", err == nil && !p.Merged:
		return "", unreadable(what)
	case p.Merged:
		return p.MergeSHA, nil
	}
	return "", c.judge(ctx, m, style, p, e)
}

func (c *Client) merge(ctx context.Context, what string, m githost.Merge, style string) error {
	at, err := repoPath(m.Repo)
	if err != nil {
		return err
	}
	return c.call(ctx, what, http.MethodPost, at+"/pulls/"+strconv.FormatInt(m.Number, 10)+"/merge", map[string]any{
		"Do": style, "MergeTitleField": m.Title, "head_commit_id": m.HeadSHA, "delete_branch_after_merge": false,
	}, nil)
}

// undecided reports a failure after which only the pull request itself shows what has
// happened: a refusal may mean that it is merged, and without an answer it may be.
func undecided(e *Error) bool {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusUnprocessableEntity:
		return true
	}
	return e.Status == 0 || e.Status >= 500
}

// bare is an error without its cause.
func bare(e *Error) *Error {
	return &Error{Service: service, Status: e.Status, Text: e.Text, What: e.What}
}

// contains reports whether the server's words have a text in them. They alone
// distinguish the causes of a merge's refusal.
func contains(e *Error, text string) bool { return strings.Contains(strings.ToLower(e.Text), text) }

// judge finds why a pull request is not merged. Gitea's words show no more than which of its conflicts (409) is one of the branches.
func (c *Client) judge(ctx context.Context, m githost.Merge, style string, p pull, e *Error) error {
	behind := p.open() && p.MergeBase != p.Base.SHA
	forward := style == styleFastForward && behind // an internal error of Gitea
	moved := p.Head.SHA != m.HeadSHA || e.Status == http.StatusConflict && contains(e, "head out of date")
	conflict := e.Status == http.StatusConflict && !contains(e, "pushrejected") // by a hook of the server
	switch {
	case !forward && e.Again:
		return e
	case !forward && moved:
		return fmt.Errorf("%w: %w", bare(e), githost.ErrHeadMoved)
	case e.Status == http.StatusConflict && contains(e, "push out of date"): // the base has moved meanwhile
		return &Error{Service: service, Status: e.Status, Text: e.Text, What: e.What, Again: true}
	case p.open() && e.Status == http.StatusMethodNotAllowed && contains(e, "try again later"):
		return c.compared(m, p, e)
	case p.open() && !forward && e.Status != http.StatusConflict && e.Status != http.StatusMethodNotAllowed:
		return e
	}
	pr, err := p.convert(), error(nil)
	if p.open() {
		pr, err = c.ready(ctx, m.Repo, p)
	}
	switch {
	case err != nil:
		return err
	case conflict:
		pr.Standing = githost.StandingConflict
	case behind && e.Status != http.StatusConflict:
		pr.Standing = cmp.Or(pr.Standing, githost.StandingBehind)
	}
	why, is := pr.Refusal()
	if why != "" {
		return fmt.Errorf("%w: %s: %w", bare(e), why, is)
	}
	return fmt.Errorf("%w: %w", bare(e), is)
}

// Bounds of a comparison.
const (
	comparingMax  = 20 * time.Second
	comparingLook = 2 * time.Second
)

// compared judges a pull request that Gitea calls not mergeable: its branches conflict, or
// have yet to be compared. Both look the same, so that time decides.
func (c *Client) compared(m githost.Merge, p pull, e *Error) error {
	key := fmt.Sprintf("%s#%d %s %s", strings.ToLower(m.Repo), m.Number, p.Head.SHA, p.Base.SHA)
	now := c.opt.Now()
	since, known := c.comparing.Get(key)
	if !known {
		since = now
		c.comparing.Add(key, now)
	}
	switch {
	case p.Mergeable: // by now
		c.comparing.Remove(key)
	case now.Sub(since) >= c.opt.Comparing:
		return fmt.Errorf("gitea: %s: it conflicts with %s: %w", e.What, p.Base.Label, githost.ErrNotMergeable)
	}
	comparing := e.What + ": its branches are still being compared"
	return &Error{Service: service, Status: e.Status, Text: e.Text, What: comparing, Again: true, After: comparingLook}
}

// refusesStyle reports whether a repository does not allow the way in which it was to be merged.
func refusesStyle(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusMethodNotAllowed && contains(e, "merge style")
}
