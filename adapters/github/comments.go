package github

import (
	"context"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

// Comment implements githost.Commenter.
func (c *Client) Comment(ctx context.Context, n githost.NewComment) error {
	owner, name, err := split(n.Repo)
	if err != nil {
		return err
	}
	mark, body, err := restclient.MarkComment(service, n)
	if err != nil {
		return err
	}
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
