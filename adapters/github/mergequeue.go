package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// GitHub's merge queue is in its GraphQL API alone.
const (
	queueQuery = `query($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) { mergeQueue(branch: $branch) { id } }
}`
	queuedQuery = `query($owner: String!, $name: String!, $number: Int!) {
  viewer { login }
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    id merged headRefOid mergeCommit { oid } mergeQueueEntry { position }
    timelineItems(last: 1, itemTypes: [REMOVED_FROM_MERGE_QUEUE_EVENT]) {
      nodes { ... on RemovedFromMergeQueueEvent { createdAt reason actor { login } beforeCommit { oid } } }
    } } }
}`
	enqueue = `mutation($id: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head}) { mergeQueueEntry { position } }
}`
	dequeue = `mutation($id: ID!) { dequeuePullRequest(input: {id: $id}) { mergeQueueEntry { id } } }`
)

// queued is how a pull request stands to a merge queue.
type queued struct {
	ID, HeadRefOid  string
	Merged          bool
	MergeCommit     struct{ Oid string }
	MergeQueueEntry *struct{ Position int }
	TimelineItems   struct{ Nodes []removal }
}

// removal is a pull request's end in a queue without a merge. The commit is the group's, as far as one was built.
type removal struct {
	CreatedAt    time.Time
	Reason       string
	Actor        struct{ Login string }
	BeforeCommit struct{ Oid string }
}

// protectedQueue names what demands a merge queue where no ruleset does; empty = nothing, or a server that has none.
func (c *Client) protectedQueue(ctx context.Context, repo, base string) (string, error) {
	owner, name, err := split(c.names.Now(repo))
	if err != nil {
		return "", err
	}
	var got struct {
		Repository struct{ MergeQueue *struct{ ID string } }
	}
	err = c.query(ctx, repo, "the merge queue of "+repo, queueQuery, map[string]any{"owner": owner, "name": name, "branch": base}, &got)
	if err != nil || got.Repository.MergeQueue == nil {
		return "", err
	}
	return "the protection of " + base, nil
}

// mergeByQueue reads first, so that what died behind a call is not made again.
func (c *Client) mergeByQueue(ctx context.Context, owner, name string, m githost.Merge) (string, error) {
	what := fmt.Sprintf("the merge queue and pull request %d of %s", m.Number, m.Repo)
	pr, self, err := c.queued(ctx, owner, name, what, m.Number)
	var failed error
	if err == nil && m.Queue == githost.QueueLeave && pr.MergeQueueEntry != nil { // which may be merged at this very moment
		if failed = c.query(ctx, m.Repo, what, dequeue, map[string]any{"id": pr.ID}, &struct{}{}); failed == nil {
			failed = errors.New("it is still there")
		}
		pr, _, err = c.queued(ctx, owner, name, what, m.Number)
	}
	switch {
	case err != nil:
		return "", err
	case pr.Merged && pr.MergeCommit.Oid == "":
		return "", unreadable(what)
	case pr.Merged:
		return pr.MergeCommit.Oid, nil
	case m.Queue == githost.QueueLeave && pr.MergeQueueEntry == nil:
		return "", githost.ErrUnqueued
	case m.Queue == githost.QueueLeave:
		return "", &Error{Service: service, Status: http.StatusOK, What: what + ": it cannot be taken out: " + failed.Error(), Again: true}
	case pr.HeadRefOid != m.HeadSHA:
		return "", fmt.Errorf("github: %s: %w", what, githost.ErrHeadMoved)
	case pr.MergeQueueEntry != nil:
		return "", &githost.QueuedError{Host: "GitHub", Place: pr.MergeQueueEntry.Position}
	}
	for _, r := range pr.TimelineItems.Nodes {
		at := r.standing() // of a merge, or by the service itself, it is no news
		own := strings.TrimSuffix(r.Actor.Login, "[bot]") == self && at == githost.StandingBlocked
		if !own && at != githost.StandingClean && r.CreatedAt.After(m.Since.Truncate(time.Second)) {
			return c.removed(ctx, owner, name, m, r)
		}
	}
	var in struct {
		EnqueuePullRequest struct{ MergeQueueEntry struct{ Position int } }
	}
	err = c.query(ctx, m.Repo, what, enqueue, map[string]any{"id": pr.ID, "head": m.HeadSHA}, &in)
	if fault.Retryable(err) || ctx.Err() != nil {
		return "", err
	}
	if err != nil {
		return c.refused(ctx, m, what, err)
	}
	return "", &githost.QueuedError{Host: "GitHub", Place: in.EnqueuePullRequest.MergeQueueEntry.Position}
}

// queued reads how a pull request stands to a merge queue, and the account of the token.
func (c *Client) queued(ctx context.Context, owner, name, what string, number int64) (queued, string, error) {
	var got struct {
		Viewer     struct{ Login string }
		Repository struct{ PullRequest queued }
	}
	err := c.query(ctx, owner+"/"+name, what, queuedQuery, map[string]any{"owner": owner, "name": name, "number": number}, &got)
	if err == nil && got.Repository.PullRequest.ID == "" {
		err = unreadable(what)
	}
	return got.Repository.PullRequest, strings.TrimSuffix(got.Viewer.Login, "[bot]"), err
}

// standing reads GitHub's word, of which its webhooks and its timelines have different ones.
func (r removal) standing() githost.Standing {
	switch word := strings.ToLower(r.Reason); {
	case strings.Contains(word, "check"), strings.Contains(word, "ci_failure"):
		return githost.StandingRed
	case strings.Contains(word, "conflict"):
		return githost.StandingConflict
	case slices.Contains([]string{"merge", "merged", "already_merged"}, word):
		return githost.StandingClean
	}
	return githost.StandingBlocked
}

// removed words why a queue has removed a pull request, and sends it through the table.
func (c *Client) removed(ctx context.Context, owner, name string, m githost.Merge, r removal) (string, error) {
	pr, err := c.pull(ctx, m.Repo, m.Number)
	if err != nil || pr.Merged {
		return pr.MergeSHA, err
	}
	pr.Standing = r.standing()
	why, is := pr.Refusal()
	text := fmt.Sprintf("GitHub has removed pull request %d of %s from its merge queue: %s", m.Number, m.Repo,
		strings.ToLower(strings.ReplaceAll(r.Reason, "_", " ")))
	if why != "" {
		text += ": " + why
	}
	if sha := r.BeforeCommit.Oid; sha != "" && pr.Standing == githost.StandingRed {
		list, _ := c.reported(ctx, owner, name, sha) // without it the word is all
		for _, k := range checksOf(list) {
			if k.State == githost.CheckFailed {
				text += fmt.Sprintf("; %s has failed (%s)", k.Name, k.URL)
			}
		}
	}
	return "", fmt.Errorf("github: %s: %w", text, is)
}
