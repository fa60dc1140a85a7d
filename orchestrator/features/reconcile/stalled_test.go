package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
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

// set defines how listings fail from now on.
func (p *paged) set(broken int, endless bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken, p.endless = broken, endless
}

func (p *paged) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	if q.Since.IsZero() && !q.Placed {
		return tracker.Page{}, errors.New("more is listed than stands in columns")
	}
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
func listed(t *testing.T, board *paged, grace map[stage.Stage]time.Duration, f func(*Rig, *reconcile.Reconciler)) {
	t.Helper()
	var rec *reconcile.Reconciler
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency = 20
		board.Tracker = r.Board
		r.Features = func() []orchestrator.Feature {
			var err error
			rec, err = reconcile.New(reconcile.Options{Tracker: board, Board: r.Board, Grace: grace, Sources: []string{"plane"}})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) { f(r, rec) })
}

// F-2: a listing is read to its end, page by page, and items that come twice count
// once.
func TestBoardsAreReadInPages(t *testing.T) {
	board := &paged{size: 3, overlap: 2}
	listed(t, board, nil, func(r *Rig, _ *reconcile.Reconciler) {
		for range 8 {
			r.MoveUnseen(App, r.Card(App, "x"), stage.StatusToAnalyse)
		}
		r.Settle(2 * time.Minute)
		require.Equal(r, 8, r.Ran(stage.Analyst))
		require.Contains(r, view(r), "Replayed:8")
	})
}

// view is the reconciler's block of the queue.
func view(r *Rig) string {
	v, err := explain.ReadQueue(r.Context(), r.Engine)
	require.NoError(r, err)
	return fmt.Sprintf("%+v", v.Features["reconcile"])
}

// F-2: from a listing that breaks off, or does not end, nothing is concluded.
func TestPartialListing(t *testing.T) {
	board := &paged{size: 2, broken: 3}
	listed(t, board, nil, func(r *Rig, rec *reconcile.Reconciler) {
		for range 7 {
			r.MoveUnseen(App, r.Card(App, "x"), stage.StatusToAnalyse)
		}
		r.Settle(5 * time.Minute)
		require.Empty(r, r.Roles(), "not even what the first pages said")
		require.ErrorContains(r, rec.Pass(context.Background(), r.Engine), "503")
		require.Contains(r, view(r), "503")
		board.set(0, true)
		require.ErrorContains(r, rec.Pass(context.Background(), r.Engine), "does not end")
		r.Settle(10 * time.Second)
		require.Empty(r, r.Roles())
		board.set(0, false)
		r.Settle(2 * time.Minute)
		require.Equal(r, 7, r.Ran(stage.Analyst))
	})
}

// F-2: a Confirm Deploy without a webhook is found too.
func TestLostConfirmDeploy(t *testing.T) {
	listed(t, &paged{size: 50}, nil, func(r *Rig, _ *reconcile.Reconciler) {
		item := r.Card(Self, "x")
		r.ToDone(Self, item)
		r.Waits(item, stage.HoldConfirm)
		r.Settle(time.Hour)
		require.Zero(r, r.Host.Merges(), "nothing is deployed by itself")
		r.MoveUnseen(Self, item, stage.StatusConfirmDeploy)
		r.Settle(3 * time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, 1, r.Host.Merges())
	})
}

// A webhook and the reconciler that find the same card at the same time make one
// task, one branch and one job.
func TestReconcilerAndWebhookRace(t *testing.T) {
	listed(t, &paged{size: 50}, nil, func(r *Rig, rec *reconcile.Reconciler) {
		var items []string
		for range 10 {
			item := r.Card(App, "x")
			items = append(items, item)
			r.MoveUnseen(App, item, stage.StatusToAnalyse)
			var both sync.WaitGroup
			both.Go(func() { // a process makes one pass at a time
				for range 3 {
					_ = rec.Pass(context.Background(), r.Engine)
				}
			})
			r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, Status: true})
			both.Wait()
			r.Settle(5 * time.Second)
		}
		for _, item := range items {
			list, err := r.Store.Tasks(context.Background(), task.Filter{TrackerIssueID: item})
			require.NoError(r, err)
			require.Len(r, list, 1)
		}
		require.Len(r, r.Roles(), len(items))
		require.Len(r, r.Place.Checkouts(), len(items))
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
			listed(t, &paged{size: 50}, grace, func(r *Rig, _ *reconcile.Reconciler) {
				item := r.Finish("x")
				r.Stands(item, stage.Done)
				runs := len(r.Roles())
				stall(r, item, at)
				if want == 0 {
					r.Settle(5 * time.Hour)
					require.Equal(r, at, r.Task(item).State.Stage)
					require.Len(r, r.Roles(), runs)
					return
				}
				r.Settle(want - 30*time.Second)
				require.Equal(r, at, r.Task(item).State.Stage, "the grace is not over")
				require.Len(r, r.Roles(), runs)
				r.Settle(100 * time.Second)
				require.NotEqual(r, at, r.Task(item).State.Stage)
				for _, c := range r.Place.Runs()[runs:] {
					require.NotEqual(r, at, c.Stage, "no agent has finished there again")
				}
			})
		})
	}
}

// stall puts a finished task back to a stage, without a job: what it needs to go on
// is there.
func stall(r *Rig, item string, at stage.Stage) {
	r.Helper()
	t := r.Task(item)
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
	require.NoError(r, r.Store.Commit(context.Background(), task.Commit{Task: &t}))
}

// F-1 looks and changes nothing: neither a task whose gate is not green nor one
// that has an agent is touched.
func TestReconcilerOnlyLooks(t *testing.T) {
	listed(t, &paged{size: 50}, nil, func(r *Rig, _ *reconcile.Reconciler) {
		r.Place.SetScript(Instead(stage.Reviewer, func(ctx context.Context, c work.Command, _ map[string]string) work.Result {
			if c.Repo == "acme/self" { // works on
				return Hang(ctx, c, nil)
			}
			return work.Result{Kind: work.ResultFailed, ExitCode: 1, Reason: "broken"}
		}))
		blocked, busy := r.Card(App, "blocked"), r.Card(Self, "busy")
		r.ToDone(App, blocked)
		r.ToDone(Self, busy)
		r.Settle(30 * time.Minute)
		r.Waits(blocked, stage.HoldBlocked)
		require.Equal(r, stage.Reviewer, r.Task(busy).State.Active)
		seen := func() (out []int) {
			for _, item := range []string{blocked, busy} {
				entries, err := r.Store.Journal(context.Background(), r.Task(item).ID)
				require.NoError(r, err)
				out = append(out, len(entries))
			}
			jobs, err := r.Store.Jobs(context.Background(), queue.Filter{Limit: 100_000})
			require.NoError(r, err)
			return append(out, len(jobs), len(r.Board.Moves()), len(r.Comments(App, blocked)), len(r.Chat.Messages()), len(r.Roles()))
		}
		before := seen()
		r.Settle(5 * time.Hour)
		require.Equal(r, before, seen())
	})
}

// F-3: a CI result without a branch is the only development task's; of two it is
// nobody's.
func TestCIWithoutABranch(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI("")
		result := func(item string) {
			t := r.Task(item)
			r.Host.SetChecks(t.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
			r.Host.Push(AppRepo, t.Branch, "moved on") // the host has no branch at the commit any more
			r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: t.State.Head})
			r.Settle(500 * time.Millisecond)
		}
		one, two := r.Card(App, "one"), r.Card(App, "two")
		r.ToDone(App, one)
		r.ToDone(App, two)
		result(one)
		require.Equal(r, []stage.Stage{stage.Development, stage.Development}, []stage.Stage{r.Task(one).State.Stage, r.Task(two).State.Stage})
		r.Settle(time.Minute) // the timer finds it
		require.NotEqual(r, stage.Development, r.Task(one).State.Stage)
		result(two)
		r.Stands(two, stage.Review)
	})
}

// A task that was not Blocked is told of as well: it stood still because nobody had said that its gate is green.
func TestEveryTaskThatGoesOnIsToldOf(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Options.Stage.CIPoll = 24 * time.Hour
		r.Features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) {
		r.SetCI("")
		item := r.Finish("x")
		task := r.Task(item)
		require.Equal(r, stage.HoldNone, task.State.Hold)
		require.Equal(r, stage.Development, task.State.Stage)
		r.SetCI(githost.CheckPassed)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.Settle(30 * time.Minute)
		r.Stands(item, stage.Done)
		require.Contains(r, r.Notices(), "unblocked: development is green now; the task goes on to review")
	})
}

// F-1: a blocked task whose gate has turned green goes on, which is logged, and people are notified.
func TestUnblockIsLogged(t *testing.T) {
	var log bytes.Buffer
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) {
		r.SetCI(githost.CheckFailed)
		item := r.Finish("x")
		r.Settle(10 * time.Minute)
		task := r.Task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		r.Settle(time.Hour)
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold, "red is silent")
		require.NotContains(r, log.String(), "goes on")
		r.SetCI(githost.CheckPassed) // of the reports that follow
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.Settle(15 * time.Minute)
		require.Contains(r, log.String(), `msg="a task that stood still goes on" task=1 work_item=APP-1 repo=acme/app stage=development blocked=true`)
		r.Stands(item, stage.Done)
		require.Contains(r, r.Notices(), "unblocked: development is green now; the task goes on to review")
	})
}

// unreadable is a board of which one card cannot be read.
type unreadable struct {
	*memtracker.Board

	log, card atomic.Value // ids
}

func (u *unreadable) LastMove(ctx context.Context, project, item string) (tracker.Move, error) {
	if u.log.Load() == item {
		return tracker.Move{}, faulttest.Error(faulttest.Final)
	}
	return u.Board.LastMove(ctx, project, item)
}

func (u *unreadable) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	if u.card.Load() == item {
		return tracker.Item{}, faulttest.Error(faulttest.Passing)
	}
	return u.Board.Item(ctx, project, item)
}

// A STOP that was lost is found beside a card that cannot be read, which is reported.
func TestOneCardBlindsNoBoard(t *testing.T) {
	for name, spoil := range map[string]func(*unreadable, string){
		"its log": func(u *unreadable, item string) { u.log.Store(item) },
		"it is gone from the listing": func(u *unreadable, item string) {
			u.card.Store(item)
			u.Remove(App, item)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var board *unreadable
			var rec *reconcile.Reconciler
			reconciledAs(t, &rec, func(r *Rig) {
				a, other := r.Begin("a"), r.Begin("b")
				r.Settle(30 * time.Second)
				spoil(board, a)
				r.Settle(2 * time.Hour)
				r.MoveUnseen(App, other, stage.StatusStop)
				r.Settle(3 * time.Minute)
				require.Equal(r, stage.Cancelled, r.Cancelled(other).State.Stage)
				require.Error(r, rec.Pass(r.Context(), r.Engine))
			}, func(r *Rig) {
				board = &unreadable{Board: r.Board}
				r.Tracker = board
			})
		})
	}
}
