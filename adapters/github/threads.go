package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/githost"
)

// aboutRepo is the key of the repository that a request of GraphQL is about: its address names none.
type aboutRepo struct{}

// query makes a request of GraphQL, for what the REST API does not have. GitHub answers most refusals with 200.
func (c *Client) query(ctx context.Context, repo, what, text string, with map[string]any, out any) error {
	ctx = context.WithValue(ctx, aboutRepo{}, repo)
	var got struct {
		Data   json.RawMessage
		Errors []struct{ Type, Message string }
	}
	in := map[string]any{"query": text, "variables": with}
	if _, err := c.send(ctx, c.api, what, http.MethodPost, "../graphql", in, &got); err != nil { // of /api/v3/ too
		return err
	}
	if len(got.Errors) == 0 {
		if json.Unmarshal(got.Data, out) != nil {
			return unreadable(what)
		}
		return nil
	}
	first := got.Errors[0]
	no := &Error{Service: service, Status: http.StatusOK, What: what + ": " + first.Message}
	switch first.Type {
	case "NOT_FOUND":
		no.Cause = githost.ErrNotFound
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		no.Cause = githost.ErrDenied
	default: // limits have several types, or none
		if no.Again = strings.Contains(first.Message, "rate limit"); no.Again {
			no.After = limitWait
		}
	}
	return no
}

// thread is a conversation about a line of a pull request.
type thread struct {
	ID       string
	Resolved bool `json:"isResolved"`
	Comments struct{ Nodes []remark }
}

type remark struct {
	ID   int64 `json:"databaseId"`
	Body string
}

const threadsQuery = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { id isResolved comments(first: 100) { nodes { databaseId body } } }
    } } }
}`

// thread finds the conversation that a comment on a line has begun.
func (c *Client) thread(ctx context.Context, owner, name, what string, n githost.NewComment) (thread, error) {
	var got struct {
		Repository struct {
			PullRequest struct {
				ReviewThreads struct {
					PageInfo struct {
						HasNextPage bool
						EndCursor   string
					}
					Nodes []thread
				}
			}
		}
	}
	with := map[string]any{"owner": owner, "name": name, "number": n.Number}
	for range pagesMax {
		if err := c.query(ctx, n.Repo, what, threadsQuery, with, &got); err != nil {
			return thread{}, err
		}
		page := got.Repository.PullRequest.ReviewThreads
		for _, t := range page.Nodes {
			if k := t.Comments.Nodes; len(k) > 0 && strconv.FormatInt(k[0].ID, 10) == n.Thread {
				return t, nil
			}
		}
		if !page.PageInfo.HasNextPage {
			break
		}
		with["after"] = page.PageInfo.EndCursor
	}
	return thread{}, fmt.Errorf("github: %s: thread %s: %w", what, n.Thread, githost.ErrNotFound)
}

// answer adds an answer to the thread of a comment on a line, unless it is there, and resolves that. Whether we may
// resolve it is the repository's to say, and the answer stands without.
func (c *Client) answer(ctx context.Context, owner, name string, n githost.NewComment, mark, body string) error {
	what := fmt.Sprintf("the threads of pull request %d of %s", n.Number, n.Repo)
	t, err := c.thread(ctx, owner, name, what, n)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(t.Comments.Nodes, func(k remark) bool { return strings.HasPrefix(k.Body, mark) }) {
		path := fmt.Sprintf("repos/%s/%s/pulls/%d/comments/%s/replies", owner, name, n.Number, n.Thread)
		if _, err := c.send(ctx, c.api, what, http.MethodPost, path, map[string]any{"body": body}, nil); err != nil {
			return err
		}
	}
	if t.Resolved {
		return nil
	}
	err = c.query(ctx, n.Repo, what, `mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id } } }`,
		map[string]any{"id": t.ID}, &struct{}{})
	if errors.Is(err, githost.ErrDenied) {
		return nil
	}
	return err
}
