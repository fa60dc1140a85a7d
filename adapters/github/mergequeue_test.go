package github_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// queueing is a repository with a merge queue and a pull request.
type queueing struct {
	*kit
	branch string
	pr     githost.PullRequest
	merge  githost.Merge
}

func mergeQueue(t *testing.T, set func(*forgetest.Settings)) queueing {
	t.Helper()
	q := queueing{kit: setup(t, forgetest.Options{Poll: time.Hour, Now: func() time.Time { return time.Now().Add(time.Minute) }}), branch: "feature/APP-1-x"}
	q.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Queue = true; set(s) })
	head := q.Commit(q.branch)
	q.Pull(q.branch)
	pr, err := q.client.PullRequest(t.Context(), repo, q.branch, "main")
	require.NoError(t, err)
	q.pr, q.merge = pr, githost.Merge{Repo: repo, Number: pr.Number, HeadSHA: head, Queue: githost.QueueJoin, Since: time.Now()}
	return q
}

func (q queueing) join() (string, error) {
	return q.client.Merge(q.Context(), q.merge)
}

func (q queueing) leave() (string, error) {
	m := q.merge
	m.Queue = githost.QueueLeave
	return q.client.Merge(q.Context(), m)
}

// waits joins the queue, or asks for the place in it.
func (q queueing) waits(place int) {
	q.Helper()
	_, err := q.join()
	var queued *githost.QueuedError
	require.ErrorAs(q, err, &queued)
	require.Equal(q, githost.QueuedError{Host: "GitHub", Place: place}, *queued)
	require.True(q, fault.Retryable(err))
}

// What a ruleset or the protection of a branch demands is joined once, whatever was answered, and says its place until it is merged.
func TestMergeQueue(t *testing.T) {
	t.Parallel()
	for by, set := range map[string]func(*forgetest.Settings){
		"the ruleset 42 of acme/shop": func(*forgetest.Settings) {},
		"the protection of main":      func(s *forgetest.Settings) { s.ProtectedQueue, s.Required["main"] = true, nil },
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			q := mergeQueue(t, set)
			require.Equal(t, by, q.pr.Queue)
			q.Commit("feature/APP-2-y")
			q.Pull("feature/APP-2-y")
			require.NoError(t, q.Server.Enqueue(repo, "feature/APP-2-y"))

			moved := q.merge
			moved.HeadSHA = strings.Repeat("b", 40)
			_, err := q.client.Merge(t.Context(), moved)
			require.ErrorIs(t, err, githost.ErrHeadMoved)
			require.Len(t, q.Server.Queued(repo), 1)
			q.Server.SetFaults(fakehttp.Faults{})
			q.waits(2)
			q.waits(2)
			require.Equal(t, []string{"feature/APP-2-y", q.branch}, q.Server.Queued(repo))
			require.NoError(t, q.Server.BuildGroup(repo, ""))
			q.waits(1)
			require.NoError(t, q.Server.BuildGroup(repo, ""))
			sha, err := q.join()
			require.NoError(t, err)
			require.Equal(t, q.Server.Heads(repo)["main"], sha)
			sha, err = q.leave()
			require.NoError(t, err, "too late")
			require.Equal(t, q.Server.Heads(repo)["main"], sha)
		})
	}
}

// What a queue has removed is told in its words, once: to the developer when checks have failed, or it conflicts.
func TestMergeQueueRemoves(t *testing.T) {
	t.Parallel()
	q := mergeQueue(t, func(*forgetest.Settings) {})
	q.waits(1)
	require.NoError(t, q.Server.BuildGroup(repo, "e2e"))
	_, err := q.join()
	require.ErrorIs(t, err, githost.ErrRed)
	require.ErrorContains(t, err, "GitHub has removed pull request 1 of acme/shop from its merge queue: failed checks; e2e has failed")
	require.False(t, fault.Retryable(err))
	require.Empty(t, q.Server.Queued(repo))

	q.merge.Since = time.Now().Add(2 * time.Minute)
	q.waits(1)
	_, err = q.leave()
	require.ErrorIs(t, err, githost.ErrUnqueued)
	_, err = q.leave()
	require.ErrorIs(t, err, githost.ErrUnqueued)
	q.merge.Since = time.Time{}
	q.waits(1) // its own removal is no reason

	q.Server.ChangePull(repo, q.branch, "kim", "converted_to_draft", func(p *forgetest.Pull) { p.Draft = true })
	_, err = q.join()
	require.ErrorIs(t, err, githost.ErrDenied)
	require.ErrorContains(t, err, "from its merge queue: dequeued: pull request 1")
	require.ErrorContains(t, err, "is a draft")
	q.Server.ChangePull(repo, q.branch, "kim", "ready_for_review", func(p *forgetest.Pull) { p.Draft = false })

	q.merge.Since = time.Now().Add(2 * time.Minute)
	q.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Refusal = "Locked" })
	_, err = q.join()
	require.ErrorIs(t, err, githost.ErrDenied)
	require.ErrorContains(t, err, "Locked")
	q.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Refusal = ""; s.Push = false })
	_, err = q.join()
	require.ErrorIs(t, err, githost.ErrDenied)
	q.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Push = true })
	require.NoError(t, q.Server.Enqueue(repo, q.branch))
	q.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Push = false })
	_, err = q.leave()
	require.True(t, fault.Retryable(err), "it may be merged yet: %v", err)
	require.False(t, errors.Is(err, githost.ErrUnqueued))
}

// The queue's own webhooks are hints.
func TestMergeQueueHooks(t *testing.T) {
	t.Parallel()
	q := mergeQueue(t, func(*forgetest.Settings) {})
	h, err := q.client.Decode("merge_group", []byte(`{"action":"checks_requested","merge_group":{"head_sha":"a"},"repository":{"full_name":"acme/shop"}}`))
	require.NoError(t, err)
	require.Equal(t, githost.Hook{Kind: githost.HookQueue, Event: "merge_group", Action: "checks_requested", Repo: repo}, h)
}
