package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

// FailureLog implements githost.Details: a status has its description alone, which the check shows.
func (c *Client) FailureLog(context.Context, string, githost.Check) (string, error) { return "", nil }

// remark is a comment on a line, of a review. What is on one line of a file is one conversation, as on Gitea's pages: an answer
// does not name what it answers.
type remark struct {
	ID       int64
	Body     string
	User     user
	Resolver *user
	Review   int64 `json:"pull_request_review_id"`
	Path     string
	Line     int       `json:"position"`
	OldLine  int       `json:"original_position"`
	At       time.Time `json:"created_at"`
}

func (r remark) follows(begun remark) bool { // or is it
	return r.Path == begun.Path && r.Line == begun.Line && r.OldLine == begun.OldLine
}

// remarks lists the comments of reviews, oldest first, those of the newest reviews alone when there are many.
func (c *Client) remarks(ctx context.Context, at string, all map[int64]review) (out []remark, err error) {
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		var rows []remark
		if all[id].Comments == 0 || all[id].State == "PENDING" {
			continue
		}
		if err = c.get(ctx, "the comments of a review", fmt.Sprintf("%s/reviews/%d/comments", at, id), &rows); err != nil {
			return nil, err
		}
		if out = append(out, rows...); len(out) >= 2*githost.LineCommentsMax {
			break
		}
	}
	slices.SortFunc(out, func(a, b remark) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// LineComments implements githost.Details.
func (c *Client) LineComments(ctx context.Context, repo, branch, base string) ([]githost.LineComment, error) {
	pr, err := c.find(ctx, repo, branch, base, "all")
	if restclient.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, all, err := c.listReviews(ctx, repo, pr.Number)
	if err != nil {
		return nil, err
	}
	list, err := c.remarks(ctx, at, all)
	if err != nil {
		return nil, err
	}
	official := officials(all)
	var out []githost.LineComment
	for _, k := range list[max(0, len(list)-githost.LineCommentsMax):] {
		line := githost.LineComment{Path: k.Path, Line: cmp.Or(k.Line, k.OldLine), Old: k.OldLine > 0, Review: githost.Review{
			ID:     strconv.FormatInt(list[slices.IndexFunc(list, k.follows)].ID, 10), // that has begun the conversation
			Author: k.User.Login, SHA: all[k.Review].SHA, Body: k.Body, At: k.At, State: githost.ReviewCommented,
		}}
		if err := c.know(ctx, repo, pr, k.User, official[k.User.Login], &line.Review); err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

// reviewComment is a comment of a review that is made.
type reviewComment struct {
	Path    string `json:"path"`
	Body    string `json:"body"`
	Line    int    `json:"new_position"`
	OldLine int    `json:"old_position"`
}

// Comment implements githost.Commenter, by reviews that judge nothing: for other comments a token needs the right to issues.
func (c *Client) Comment(ctx context.Context, n githost.NewComment) error {
	mark, body, err := restclient.MarkComment(service, n)
	if err != nil {
		return err
	}
	at, all, err := c.listReviews(ctx, n.Repo, n.Number)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("a comment on pull request %d of %s", n.Number, n.Repo)
	say := func(sha, text string, on ...reviewComment) error {
		in := map[string]any{"event": "COMMENT", "commit_id": sha, "body": text, "comments": append([]reviewComment{}, on...)}
		return c.call(ctx, what, http.MethodPost, at+"/reviews", in, nil)
	}
	if n.Thread == "" {
		for _, r := range all {
			if strings.HasPrefix(r.Body, mark) {
				return nil
			}
		}
		return say("", body)
	}
	list, err := c.remarks(ctx, at, all)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(r remark) bool { return strconv.FormatInt(r.ID, 10) == n.Thread })
	if i < 0 {
		return fmt.Errorf("gitea: %s: thread %s: %w", what, n.Thread, githost.ErrNotFound)
	}
	first := list[i]
	if !slices.ContainsFunc(list, func(r remark) bool { return strings.HasPrefix(r.Body, mark) }) {
		// A line that is gone since is not found, but in the commit that was reviewed.
		if err = say(all[first.Review].SHA, "", reviewComment{first.Path, body, first.Line, first.OldLine}); err != nil {
			return err
		}
	}
	if first.Resolver != nil {
		return nil
	}
	path, _ := repoPath(n.Repo)
	err = c.call(ctx, what, http.MethodPost, path+"/pulls/comments/"+n.Thread+"/resolve", nil, nil)
	if errors.Is(err, githost.ErrDenied) || errors.Is(err, githost.ErrNotFound) { // servers before 1.26, and Forgejo, cannot
		return nil
	}
	return err
}
