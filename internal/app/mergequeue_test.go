package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

const queuedBranch = "feature/APP-1-x"

// queued plays a card up to the merge queue of GitHub, behind the pull request of a person.
func queued(t *testing.T, gated bool, test func(r *orchestratortest.Rig, w *twin, item string)) {
	t.Helper()
	twinned(t, false, "success", func(r *orchestratortest.Rig, w *twin) {
		repo := orchestratortest.AppRepo
		if gated {
			r.Shutdown()
			w.gated = true
			r.Start()
		}
		w.server.SetSettings(repo, func(s *forgetest.Settings) { s.Queue = true })
		w.git("update-ref", "refs/heads/theirs", w.git("commit-tree", "main^{tree}", "-p", "main", "-m", "theirs"))
		post, err := http.NewRequest(http.MethodPost, "http://forge/repos/acme/app/pulls", strings.NewReader(`{"title":"theirs","head":"theirs","base":"main"}`))
		require.NoError(r, err)
		post.Header.Set("Authorization", "Bearer t")
		opened, err := w.RoundTrip(post)
		require.NoError(r, err)
		require.Equal(r, http.StatusCreated, opened.StatusCode)
		require.NoError(r, w.server.Enqueue(repo, "theirs"))
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		r.Settle(time.Minute)
		require.Equal(r, []string{"theirs", queuedBranch}, w.server.Queued(repo))
		require.False(r, r.Task(item).State.Leased, "others may join as well")
		require.Contains(r, r.Explain(item).Summary+fmt.Sprintf("%+v", r.Explain(item).Blockers), "in the merge queue of GitHub, place 2")
		test(r, w, item)
		r.Replays()
	})
}

// isDone requires the task of a card to be done.
func isDone(r *orchestratortest.Rig, item string) {
	r.Helper()
	require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Explain(item).Summary)
}

func moved(r *orchestratortest.Rig, h githost.Hook) {
	h.Repo = orchestratortest.AppRepo
	r.HostHook(h)
	r.Settle(5 * time.Second)
}

// A task waits in the host's queue, and says its place. Neither our own line nor a death has it join twice, or catch up first; merged by the
// queue it is deployed.
func TestMergeQueue(t *testing.T) {
	t.Parallel()
	for _, gated := range []bool{false, true} {
		queued(t, gated, func(r *orchestratortest.Rig, w *twin, item string) {
			require.NoError(r, w.server.BuildGroup(orchestratortest.AppRepo, ""))
			r.Place.SetRemote(orchestratortest.AppRepo, "main", "theirs")
			r.Shutdown()
			r.Start()
			moved(r, githost.Hook{Kind: githost.HookQueue})
			require.Contains(r, fmt.Sprintf("%+v", r.Explain(item).Blockers), "in the merge queue of GitHub, place 1")
			r.Settle(time.Hour)
			require.Equal(r, []string{queuedBranch}, w.server.Queued(orchestratortest.AppRepo))
			require.Len(r, r.Roles(), 6)
			require.Equal(r, 1, w.server.Merges())
			require.NoError(r, w.server.BuildGroup(orchestratortest.AppRepo, ""))
			moved(r, githost.Hook{Kind: githost.HookMerged, Branch: queuedBranch, Number: 2, SHA: r.Task(item).State.Head, MergeSHA: "x"})
			r.Settle(time.Minute)
			now := r.Task(item)
			require.Equal(r, stage.Done, now.State.Stage, r.Explain(item).Summary)
			require.Equal(r, w.server.Heads(orchestratortest.AppRepo)["main"], now.State.MergeSHA)
			require.Len(r, r.Roles(), 7)
			require.NotContains(r, r.Notices(), "not what was tested")
			require.False(r, r.Commented(orchestratortest.App, item, "not what was tested"))
		})
	}
}

// A group whose checks fail is the developer's matter, in the host's words.
func TestMergeQueueRed(t *testing.T) {
	t.Parallel()
	queued(t, false, func(r *orchestratortest.Rig, w *twin, item string) {
		prompt := ""
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Role == stage.Developer {
				prompt = c.Prompt
			}
			return orchestratortest.GoodAgent(ctx, c, files)
		})
		require.NoError(r, w.server.BuildGroup(orchestratortest.AppRepo, ""))
		require.NoError(r, w.server.BuildGroup(orchestratortest.AppRepo, "e2e"))
		moved(r, githost.Hook{Kind: githost.HookPullRequest, Action: "dequeued", Branch: queuedBranch, Number: 2})
		r.Settle(2 * time.Minute)
		require.Contains(r, prompt, "GitHub has removed pull request 2 of acme/app from its merge queue: failed checks; e2e has failed")
		require.Equal(r, []string{queuedBranch}, w.server.Queued(orchestratortest.AppRepo), "and joins again")
		require.NoError(r, w.server.BuildGroup(orchestratortest.AppRepo, ""))
		r.Settle(10 * time.Minute)
		isDone(r, item)
	})
}

// What somebody takes out of the queue is a person's matter.
func TestMergeQueueRemovedByAPerson(t *testing.T) {
	t.Parallel()
	queued(t, false, func(r *orchestratortest.Rig, w *twin, item string) {
		w.server.ChangePull(orchestratortest.AppRepo, queuedBranch, "kim", "closed", func(p *forgetest.Pull) { p.Open = false })
		w.server.ChangePull(orchestratortest.AppRepo, queuedBranch, "kim", "reopened", func(p *forgetest.Pull) { p.Open = true })
		moved(r, githost.Hook{Kind: githost.HookPullRequest, Action: "dequeued", Branch: queuedBranch, Number: 2})
		now := r.Task(item)
		require.Equal(r, stage.HoldBlocked, now.State.Hold)
		require.Contains(r, now.State.HoldReason, "from its merge queue: dequeued")
		require.Len(r, r.Roles(), 6)
		r.Move(orchestratortest.App, item, stage.StatusInProgress)
		r.Settle(10 * time.Second)
		require.Equal(r, []string{"theirs", queuedBranch}, w.server.Queued(orchestratortest.AppRepo))
	})
}

// STOP takes it out, and a card that is gone does until it is back.
func TestMergeQueueLeft(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"STOP", "gone", "gone, and stopped"} {
		queued(t, false, func(r *orchestratortest.Rig, w *twin, item string) {
			if how == "STOP" {
				r.Move(orchestratortest.App, item, stage.StatusStop)
				r.Settle(5 * time.Second)
				require.Equal(r, []string{"theirs"}, w.server.Queued(orchestratortest.AppRepo))
				require.Equal(r, stage.Cancelled, r.Cancelled(item).State.Stage)
				require.NoError(r, w.server.BuildGroup(orchestratortest.AppRepo, ""))
				r.Settle(time.Hour)
				require.Equal(r, 1, w.server.Merges(), "that of the person")
				return
			}
			card, err := r.Board.Item(r.Context(), orchestratortest.App, item)
			require.NoError(r, err)
			r.Board.Remove(orchestratortest.App, item)
			_, _ = r.Engine.LookAtCard(r.Context(), r.Task(item))
			r.Settle(5 * time.Second)
			require.Equal(r, []string{"theirs"}, w.server.Queued(orchestratortest.AppRepo))
			r.Settle(time.Hour)
			require.Equal(r, []string{"theirs"}, w.server.Queued(orchestratortest.AppRepo))
			if how != "gone" {
				_, err = r.Store.Put(r.Context(), r.Engine.EventJob(r.Task(item), stage.Event{On: stage.OnStop, At: time.Now()}, ""))
				require.NoError(r, err)
				r.Settle(5 * time.Second)
				require.Equal(r, stage.Cancelled, r.Cancelled(item).State.Stage)
				return
			}
			r.Board.Put(card)
			_, err = r.Engine.LookAtCard(r.Context(), r.Task(item))
			require.NoError(r, err)
			r.Settle(20 * time.Minute)
			require.Equal(r, []string{"theirs", queuedBranch}, w.server.Queued(orchestratortest.AppRepo))
			require.False(r, strings.Contains(r.Task(item).State.HoldReason, "queue"))
		})
	}
}

// Checks of the branch that turn red while it waits take it out first.
func TestMergeQueueUnready(t *testing.T) {
	t.Parallel()
	queued(t, false, func(r *orchestratortest.Rig, w *twin, item string) {
		w.server.SetCheckRun(orchestratortest.AppRepo, w.heads[len(w.heads)-1], "build", "completed", "failure")
		moved(r, githost.Hook{Kind: githost.HookQueue})
		require.Equal(r, []string{"theirs"}, w.server.Queued(orchestratortest.AppRepo))
		r.Settle(10 * time.Minute)
		require.Equal(r, []string{"theirs", queuedBranch}, w.server.Queued(orchestratortest.AppRepo), "mended")
		require.Equal(r, 2, r.Ran(stage.Developer))
	})
}
