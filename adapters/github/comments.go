package github

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
)

var keyForm = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// Comment implements githost.Commenter. A comment has no identity on GitHub: it is in a mark
// in the text, which is not shown.
func (c *Client) Comment(ctx context.Context, n githost.NewComment) error {
	owner, name, err := split(n.Repo)
	if err != nil {
		return err
	}
	if !keyForm.MatchString(n.Key) {
		return fmt.Errorf("github: a comment's key is %q, want letters, digits and ./_-", n.Key)
	}
	mark := "<!-- signalbox " + strings.ReplaceAll(n.Key, "--", "- -") + " -->"
	body := strings.ToValidUTF8(mark+"\n"+n.Body[:min(len(n.Body), githost.CommentMax)], "")
	if n.Thread != "" {
		return c.answer(ctx, owner, name, n, mark, body)
	}
	what := fmt.Sprintf("the comments of pull request %d of %s", n.Number, n.Repo)
	for opt := (gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: 100}}); ; {
		list, resp, err := c.api.Issues.ListComments(ctx, owner, name, int(n.Number), &opt)
		if err != nil {
			return c.convert(ctx, what, err)
		}
		if list == nil {
			return unreadable(what)
		}
		for _, one := range list {
			if strings.HasPrefix(one.GetBody(), mark) {
				return nil
			}
		}
		if more, err := next(&opt.Page, resp); err != nil {
			return err
		} else if !more {
			break
		}
	}
	_, _, err = c.api.Issues.CreateComment(ctx, owner, name, int(n.Number), &gh.IssueComment{Body: &body})
	return c.convert(ctx, what, err)
}
