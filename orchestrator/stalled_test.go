package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// paged is a board that lists in pages.
type paged struct {
	tracker.Tracker
	size    int
	overlap int // so many of a page's items come again on the next

	mu      sync.Mutex
	broken  int // the page that cannot be read; 0 = none
	endless bool
}

// set says how listings fail from now on.
func (p *paged) set(broken int, endless bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken, p.endless = broken, endless
}

func (p *paged) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	from, _ := strconv.Atoi(q.Cursor) // none = the first page
	q.Cursor = ""
	all, err := p.Tracker.List(ctx, q)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.broken > 0 && from >= (p.broken-1)*p.size {
		return tracker.Page{}, errors.Join(err, errors.New("503"))
	}
	to := min(from+p.size, len(all.Items))
	page := tracker.Page{Items: all.Items[max(0, min(from, to)-p.overlap):to]}
	if to < len(all.Items) || p.endless {
		page.Next = strconv.Itoa(to)
	}
	return page, nil
}

// listed makes a rig whose reconciler sees the board in pages.
func listed(t *testing.T, board *paged, grace map[stage.Stage]time.Duration, f func(*rig, *reconcile.Reconciler)) {
	t.Helper()
	var rec *reconcile.Reconciler
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency = 20
		board.Tracker = r.board
		r.features = func() []orchestrator.Feature {
			var err error
			rec, err = reconcile.New(reconcile.Options{Tracker: board, Board: r.board, Grace: grace, Source: "plane"})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *rig) { f(r, rec) })
}

// F-2: a listing is read to its end, page by page, and items that come twice count
// once.
func TestBoardsAreReadInPages(t *testing.T) {
	board := &paged{size: 3, overlap: 2}
	listed(t, board, nil, func(r *rig, _ *reconcile.Reconciler) {
		for range 8 {
			r.place0(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		}
		r.settle(2 * time.Minute)
		require.Equal(r, 8, count(r.roles(), stage.Analyst))
		require.Contains(r, r.featureView(reconcile.Name), "Replayed:8")
	})
}

// featureView is a feature's block in /queue, as text.
func (r *rig) featureView(name string) string {
	r.Helper()
	v, err := r.engine.QueueView(context.Background())
	require.NoError(r, err)
	return fmt.Sprintf("%+v", v.Features[name])
}

// F-2: from a listing that breaks off, or does not end, nothing is concluded.
func TestPartialListing(t *testing.T) {
	board := &paged{size: 2, broken: 3}
	listed(t, board, nil, func(r *rig, rec *reconcile.Reconciler) {
		for range 7 {
			r.place0(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		}
		r.settle(5 * time.Minute)
		require.Empty(r, r.roles(), "not even what the first pages said")
		require.ErrorContains(r, rec.Pass(context.Background(), r.engine), "503")
		require.Contains(r, r.featureView(reconcile.Name), "503")
		board.set(0, true)
		require.ErrorContains(r, rec.Pass(context.Background(), r.engine), "does not end")
		r.settle(10 * time.Second)
		require.Empty(r, r.roles())
		board.set(0, false)
		r.settle(2 * time.Minute)
		require.Equal(r, 7, count(r.roles(), stage.Analyst))
	})
}

// F-2: a Confirm Deploy that nobody told of is found too.
func TestLostConfirmDeploy(t *testing.T) {
	listed(t, &paged{size: 50}, nil, func(r *rig, _ *reconcile.Reconciler) {
		item := r.card(selfProject, "x")
		r.toDone(selfProject, item)
		require.Equal(r, stage.HoldConfirm, r.task(item).State.Hold)
		r.settle(time.Hour)
		require.Zero(r, r.host.Merges(), "nothing is deployed by itself")
		r.place0(selfProject, item, stage.StatusConfirmDeploy)
		r.settle(3 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, 1, r.host.Merges())
	})
}

// A webhook and the reconciler that find the same card at the same time make one
// task, one branch and one job.
func TestReconcilerAndWebhookRace(t *testing.T) {
	listed(t, &paged{size: 50}, nil, func(r *rig, rec *reconcile.Reconciler) {
		var items []string
		for range 10 {
			item := r.card(appProject, "x")
			items = append(items, item)
			r.place0(appProject, item, stage.StatusToAnalyse)
			var both sync.WaitGroup
			for range 3 {
				both.Go(func() { _ = rec.Pass(context.Background(), r.engine) })
			}
			r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, Status: true})
			both.Wait()
			r.settle(5 * time.Second)
		}
		for _, item := range items {
			list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{TrackerIssueID: item})
			require.NoError(r, err)
			require.Len(r, list, 1)
		}
		require.Len(r, r.roles(), len(items))
		require.Len(r, r.place.Checkouts(), len(items))
	})
}

// F-1: a task that stands still goes on by its canonical gate when the grace of its
// stage is over, not before; at analysis it never does.
func TestStalledTasksGoOn(t *testing.T) {
	grace := map[stage.Stage]time.Duration{stage.Review: 20 * time.Minute}
	for at, want := range map[stage.Stage]time.Duration{
		stage.Analysis: 0, stage.Architecture: 5 * time.Minute, stage.Development: 10 * time.Minute, stage.Review: 20 * time.Minute,
		stage.Testing: 5 * time.Minute, stage.DeployStaging: 5 * time.Minute, stage.Deploy: 5 * time.Minute,
	} {
		t.Run(string(at), func(t *testing.T) {
			listed(t, &paged{size: 50}, grace, func(r *rig, _ *reconcile.Reconciler) {
				item := r.card(appProject, "x")
				r.toDone(appProject, item)
				require.Equal(r, stage.Done, r.task(item).State.Stage)
				runs := len(r.roles())
				r.stall(item, at)
				if want == 0 {
					r.settle(5 * time.Hour)
					require.Equal(r, at, r.task(item).State.Stage)
					require.Len(r, r.roles(), runs)
					return
				}
				r.settle(want - 30*time.Second)
				require.Equal(r, at, r.task(item).State.Stage, "the grace is not over")
				require.Len(r, r.roles(), runs)
				r.settle(100 * time.Second)
				require.NotEqual(r, at, r.task(item).State.Stage)
				for _, c := range r.place.Runs()[runs:] {
					require.NotEqual(r, at, c.Stage, "no agent has finished there again")
				}
			})
		})
	}
}

// stall puts a finished task back to a stage, without a job: what it needs to go on
// is there.
func (r *rig) stall(item string, at stage.Stage) {
	r.Helper()
	t := r.task(item)
	t.State.Stage, t.State.Active, t.UpdatedAt = at, "", time.Now()
	if at == stage.Deploy {
		t.State.Phase = stage.PhaseRelease
	} else {
		t.State.MergeSHA = ""
	}
	about := t.State.Head
	if at == stage.Deploy {
		about = t.State.MergeSHA
	}
	if words, ok := map[stage.Stage]stage.Filed{
		stage.Review: {Role: stage.Reviewer, Verdict: "approved"}, stage.Testing: {Role: stage.Tester, Verdict: "passed"},
		stage.DeployStaging: {Role: stage.Deployer, Verdict: "success"}, stage.Deploy: {Role: stage.Deployer, Verdict: "success"},
	}[at]; ok {
		words.SHA = about
		t.State.Filed = words
	}
	require.NoError(r, r.store.Commit(context.Background(), orchestrator.Commit{Task: &t}))
}

// F-1 looks and changes nothing: neither a task whose gate is not green nor one
// that has an agent is touched.
func TestReconcilerOnlyLooks(t *testing.T) {
	listed(t, &paged{size: 50}, nil, func(r *rig, _ *reconcile.Reconciler) {
		r.place.SetScript(instead(stage.Reviewer, func(ctx context.Context, c work.Command, _ map[string]string) work.Result {
			if c.Repo == selfRepo { // works on
				<-ctx.Done()
				return work.Result{Kind: work.ResultCancelled}
			}
			return work.Result{Kind: work.ResultFailed, ExitCode: 1, Reason: "broken"}
		}))
		blocked, busy := r.card(appProject, "blocked"), r.card(selfProject, "busy")
		r.toDone(appProject, blocked)
		r.toDone(selfProject, busy)
		r.settle(30 * time.Minute)
		require.Equal(r, stage.HoldBlocked, r.task(blocked).State.Hold)
		require.Equal(r, stage.Reviewer, r.task(busy).State.Active)
		seen := func() (out []int) {
			for _, item := range []string{blocked, busy} {
				entries, err := r.store.Journal(context.Background(), r.task(item).ID)
				require.NoError(r, err)
				out = append(out, len(entries))
			}
			jobs, err := r.store.Jobs(context.Background(), queue.Filter{Limit: 100_000})
			require.NoError(r, err)
			return append(out, len(jobs), len(r.board.Moves()), len(r.comments(appProject, blocked)), len(r.chat.Messages()), len(r.roles()))
		}
		before := seen()
		r.settle(5 * time.Hour)
		require.Equal(r, before, seen())
	})
}

// F-3: a CI result without a branch is the only development task's; of two it is
// nobody's.
func TestCIWithoutABranch(t *testing.T) {
	run(t, func(r *rig) {
		r.setCI("")
		result := func(item string) {
			t := r.task(item)
			r.host.SetChecks(t.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
			r.host.Push(appRepo, t.Branch, "moved on") // the host knows no branch at the commit any more
			r.hostHook(githost.Hook{Kind: githost.HookCI, Repo: appRepo, SHA: t.State.Head})
			r.settle(500 * time.Millisecond)
		}
		one, two := r.card(appProject, "one"), r.card(appProject, "two")
		r.toDone(appProject, one)
		r.toDone(appProject, two)
		result(one)
		require.Equal(r, []stage.Stage{stage.Development, stage.Development}, []stage.Stage{r.task(one).State.Stage, r.task(two).State.Stage})
		r.settle(time.Minute) // the timer finds it
		require.NotEqual(r, stage.Development, r.task(one).State.Stage)
		result(two)
		require.Equal(r, stage.Review, r.task(two).State.Stage)
	})
}

// An unblock is logged, and sent to people.
func TestUnblockIsLogged(t *testing.T) {
	var log bytes.Buffer
	runWith(t, func(r *rig) {
		r.features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *rig) {
		r.setCI(githost.CheckFailed)
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(10 * time.Minute)
		task := r.task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.NotContains(r, log.String(), "goes on")
		r.host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.settle(15 * time.Minute)
		require.Contains(r, log.String(), `msg="a task that stood still goes on" task=1 work_item=APP-1 repo=acme/app stage=development blocked=true`)
		require.Contains(r, r.notices(), "unblocked: ")
	})
}
