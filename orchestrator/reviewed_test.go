package orchestrator_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// vouched is how many words of the git host were acted on as Approved, and the last of them.
func vouched(r *Rig, item string) (last task.Word, n int) {
	r.Helper()
	for _, entry := range journal(r, item) {
		if w, ok := entry.Word(); ok && w.By.Via == stage.ViaHost && w.Said == string(stage.OnApproved) {
			last, n = w, n+1
		}
	}
	return last, n
}

// A person's approval of the pull request is Approved where the registry names that account, for the very commit that was reviewed.
func TestApprovalOfThePullRequest(t *testing.T) {
	t.Parallel()
	kim := githost.Review{Author: "kim", State: githost.ReviewApproved, Permission: githost.PermissionWrite}
	of := func(change func(*githost.Review)) githost.Review { r := kim; change(&r); return r }
	for name, c := range map[string]struct {
		review githost.Review
		names  []string
		apart  bool
		fate   task.Fate // empty: it is a review like any other
		says   string
	}{
		"named":             {review: kim, names: []string{"Kim"}, fate: task.FateActed},
		"anybody's":         {review: kim, names: []string{"*"}, fate: task.FateActed},
		"off":               {review: kim},
		"another's":         {review: kim, names: []string{"ann"}},
		"a bot's":           {review: of(func(r *githost.Review) { r.Author, r.Bot = "lint[bot]", true }), names: []string{"*"}},
		"the service's":     {review: of(func(r *githost.Review) { r.Author = memhost.Self }), names: []string{"*", memhost.Self}},
		"who may not write": {review: of(func(r *githost.Review) { r.Permission = githost.PermissionRead }), names: []string{"kim"}},
		"dismissed":         {review: of(func(r *githost.Review) { r.State = githost.ReviewDismissed }), names: []string{"kim"}},
		"of another commit": {
			review: of(func(r *githost.Review) { r.SHA = "0123456789" }), names: []string{"kim"}, fate: task.FateRefused,
			says: "kim has approved 0123456789, and the head is ",
		},
		"apart": {
			review: kim, names: []string{"kim"}, apart: true, fate: task.FateRefused,
			says: "kim has started the task, and somebody else is to approve it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Run(t, func(r *Rig) {
				r.Projects[0].People = task.People{AtHost: c.names}
				r.Projects[0].Reviewers = []string{"lint[bot]"}
			}, func(r *Rig) {
				r.Place.SetScript(meddler(same))
				item := r.Card(App, "x")
				waits := toWord(r, App, item)
				if len(c.names) > 0 {
					require.Contains(r, r.Explain(item).Blockers[0].Do, "or approve pull request 1 at the git host (")
				}
				if c.apart {
					r.Shutdown()
					r.Projects[0].People.Separate = true
					r.Start()
				}
				c.review.SHA = cmp.Or(c.review.SHA, waits.State.Head)
				r.Host.AddReview(AppRepo, waits.Branch, c.review)
				for range 2 { // GitHub sends again what a person has it send
					r.HostHook(githost.Hook{
						Kind: githost.HookReview, State: string(githost.ReviewApproved), Repo: AppRepo, Branch: waits.Branch, Number: 1,
						SHA: waits.State.Head, Sender: c.review.Author,
					})
					r.Settle(2 * time.Minute)
				}
				w, n := vouched(r, item)
				require.Equal(r, c.fate, w.Fate, w.Why)
				if c.fate == "" {
					require.Equal(r, waits.State, r.Task(item).State)
					return
				}
				require.Equal(r, []any{1, "1", "kim"}, []any{n, w.Act, w.By.ID})
				if c.fate == task.FateActed {
					r.Stands(item, stage.Done)
					require.Len(r, r.Roles(), 7)
				} else {
					r.Waits(item, stage.HoldApproval)
					require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), c.says))
				}
				r.Replays()
			})
		})
	}
}

// An approval of which no webhook has told is found, and judged once.
func TestUnheardApprovalOfThePullRequest(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		r.Shutdown()
		r.Projects[0].People = task.People{AtHost: []string{"kim"}}
		r.Start()
		r.Place.SetScript(meddler(same))
		item := r.Card(App, "x")
		waits := toWord(r, App, item)
		r.Settle(20 * time.Minute)
		require.Equal(r, waits.State, r.Task(item).State)
		review := githost.Review{Author: "kim", State: githost.ReviewApproved, SHA: "older", Permission: githost.PermissionWrite}
		r.Host.AddReview(AppRepo, waits.Branch, review)
		r.Settle(20 * time.Minute)
		require.Equal(r, waits.State, r.Task(item).State, "nobody has to be told what is not found")
		review.SHA = waits.State.Head
		r.Host.AddReview(AppRepo, waits.Branch, review)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
		w, _ := vouched(r, item)
		require.Equal(r, "2", w.Act)
	})
}

// What a person requests after the review is done before anything is merged; the webhook of it merges nothing.
func TestChangesRequestedAfterTheReview(t *testing.T) {
	for _, role := range []stage.Role{stage.Tester, stage.Deployer} {
		Run(t, nil, func(r *Rig) {
			item, said := "", false
			r.Place.SetScript(Instead(role, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				if !said {
					said = true
					now := r.Task(item)
					r.Host.AddReview(AppRepo, now.Branch, githost.Review{
						Author: "kim", Permission: githost.PermissionWrite, State: githost.ReviewChangesRequested, SHA: now.State.Head, Body: "it deletes data",
					})
					r.HostHook(githost.Hook{Kind: githost.HookReview, Repo: AppRepo, Branch: now.Branch, SHA: now.State.Head, Sender: "kim"})
				}
				return GoodAgent(ctx, c, files)
			}))
			item = r.Card(App, "x")
			r.ToDone(App, item)
			r.Settle(10 * time.Minute)
			r.Stands(item, stage.Done)
			require.Equal(r, 2, r.Ran(stage.Developer))
			require.Equal(r, 1, r.Host.Merges())
			require.True(r, r.Commented(App, item, "kim requests changes: it deletes data"))
		})
	}
}
