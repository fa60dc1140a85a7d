package memhost

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/signalbox-dev/signalbox/githost"
)

// ShowFailure makes the checks of a name show why they failed.
func (h *Host) ShowFailure(name, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[name] = text
}

// AddLineComment adds a comment on a line of a branch's pull request.
func (h *Host) AddLineComment(repo, branch string, c githost.LineComment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.State, c.ID = githost.ReviewCommented, cmp.Or(c.ID, strconv.Itoa(len(h.lines[repo+" "+branch])+1))
	h.lines[repo+" "+branch] = append(h.lines[repo+" "+branch], c)
}

// Comment implements githost.Commenter.
func (h *Host) Comment(ctx context.Context, c githost.NewComment) error {
	leave, err := h.enter(ctx, "Comment")
	defer leave()
	if err != nil {
		return err
	}
	pr := h.find(c.Repo, func(p githost.PullRequest) bool { return p.Number == c.Number })
	if pr == nil {
		return githost.ErrNotFound
	}
	for _, one := range h.comments {
		if one.Key == c.Key && one.Repo == c.Repo && one.Number == c.Number {
			return nil
		}
	}
	known := slices.ContainsFunc(h.lines[c.Repo+" "+pr.HeadRef], func(k githost.LineComment) bool { return k.ID == c.Thread })
	if c.Thread != "" && !known {
		return githost.ErrNotFound
	}
	h.comments = append(h.comments, c)
	return nil
}

// Answers are the comments on a pull request that answer the thread of a comment on a line, in order; empty: no thread.
func (h *Host) Answers(repo string, number int64, thread string) (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.comments {
		if c.Repo == repo && c.Number == number && c.Thread == thread {
			out = append(out, c.Body)
		}
	}
	return out
}

// Comments are the comments on a pull request, in order.
func (h *Host) Comments(repo string, number int64) (out []string) { return h.Answers(repo, number, "") }

// FailureLog implements githost.Details.
func (h *Host) FailureLog(ctx context.Context, _ string, c githost.Check) (string, error) {
	leave, err := h.enter(ctx, "FailureLog")
	defer leave()
	if err != nil {
		return "", err
	}
	text := h.failures[c.Name]
	return text[max(0, len(text)-githost.FailureMax):], nil
}

// LineComments implements githost.Details.
func (h *Host) LineComments(ctx context.Context, repo, branch, base string) ([]githost.LineComment, error) {
	leave, err := h.enter(ctx, "LineComments")
	defer leave()
	pr := h.pull(repo, branch, base)
	if err != nil || pr == nil {
		return nil, err
	}
	out := append([]githost.LineComment(nil), h.lines[repo+" "+branch]...)
	out = out[max(0, len(out)-githost.LineCommentsMax):]
	for i := range out {
		out[i].Own, out[i].Opener = out[i].Author == Self, out[i].Author == pr.Author
	}
	return out, nil
}
