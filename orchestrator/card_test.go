package orchestrator_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

type holding interface{ orchestrator.Jobs }

// slowHolds answers each look at the holds a second later than the one before.
type slowHolds struct {
	holding
	looks *atomic.Int32
}

func (s slowHolds) HoldsIn(ctx context.Context, from, to string, limit int) ([]queue.Hold, error) {
	defer func() { time.Sleep(time.Duration(s.looks.Add(1)) * time.Second) }()
	return s.holding.HoldsIn(ctx, from, to, limit)
}

// Several that find a card gone at the same moment notify people once.
func TestGoneCardIsToldOnce(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("one")
		r.Settle(time.Minute)
		r.Shutdown()
		r.Board.FailCall("Item", tracker.ErrNotFound)
		r.Deps = func(d *orchestrator.Deps) { d.Jobs = slowHolds{d.Jobs, new(atomic.Int32)} }
		r.Start()
		before := r.Task(item)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := r.Engine.LookAtCard(context.Background(), before)
				require.ErrorIs(r, err, tracker.ErrNotFound)
			})
		}
		all.Wait()
		r.Settle(time.Minute)
		require.Equal(r, 1, strings.Count(r.Notices(), "The task is held: "), r.Notices())
	})
}

// edit changes the text of a card.
func edit(r *Rig, item, title, description string) {
	i := cardOf(r, item)
	i.Title, i.Description = title, description
	r.Board.Put(i)
}

// Each agent works by the text that the card has when it begins, in its prompt and in the file of the request. An edit
// is told on the card once, and kept in the journal and in the records of the runs.
func TestEditedCard(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("one")
		r.Settle(10 * time.Second)
		before := r.Task(item)
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Role == stage.Developer {
				edit(r, item, "two", "more than that")
			}
			return GoodAgent(ctx, c, files)
		})
		edit(r, item, "one", "something else")
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		want := map[stage.Role]string{
			stage.Analyst: "what is wanted", stage.Architect: "something else", stage.Developer: "something else",
			stage.Reviewer: "more than that", stage.Tester: "more than that", stage.Deployer: "more than that",
		}
		for _, c := range r.Place.Runs() {
			require.Contains(r, c.Prompt, "    "+want[c.Role]+"\n", c.Role)
		}
		told := "The card was edited: the %s has its new text (run %d)."
		for role, run := range map[stage.Role]int{stage.Architect: 2, stage.Reviewer: 4} {
			text := fmt.Sprintf(told, role, run)
			require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), text), text)
		}
		require.Equal(r, 2, strings.Count(strings.Join(r.Comments(App, item), "\n"), "The card was edited"))
		require.Equal(r, "The task is done.", r.Explain(item).Summary, "what was before its end is not after it")
		now := r.Task(item)
		require.Equal(r, []string{"two", "more than that", before.Branch}, []string{now.Title, now.Description, now.Branch})
		files, err := r.Place.Files(context.Background(), work.Workspace{}, now.State.Head)
		require.NoError(r, err)
		request, err := fs.ReadFile(files, "docs/work/"+now.WorkItemID+"/request.md")
		require.NoError(r, err)
		require.Equal(r, "# APP-1: two\n\nmore than that\n", string(request))
		runs := runsOf(r, now.ID)
		texts := map[string]bool{}
		for _, run := range runs {
			texts[run.Text] = true
		}
		require.Len(r, texts, 3)
		require.Contains(r, texts, prompt.Hash("two\nmore than that"))
	})
}

// The agent of a card that cannot be read works by the text that is known; that of a card that is gone does not begin.
func TestUnreadableCard(t *testing.T) {
	for _, c := range []struct {
		err  error
		runs int
	}{{errors.New("502"), 2}, {tracker.ErrNotFound, 1}} {
		Run(t, nil, func(r *Rig) {
			r.Place.SetScript(func(ctx context.Context, _ work.Command, _ map[string]string) work.Result {
				return work.Result{Kind: work.ResultFailed, Reason: "no"}
			})
			r.Begin("one")
			r.Settle(10 * time.Second)
			r.Board.FailCall("Item", c.err)
			r.Settle(45 * time.Second)
			require.Len(r, r.Place.Runs(), c.runs)
		})
	}
}

// dragUnseen has a person put a card into a column that is none of the pipeline's; no webhook arrives.
func dragUnseen(r *Rig, item, column string, ends bool) {
	i := cardOf(r, item)
	i.Status, i.StatusName, i.Finished = stage.StatusUnknown, column, ends
	r.Board.PutAs("kim", i)
}

// drag is the same, with the tracker's webhook.
func drag(r *Rig, item, column string, ends bool) {
	dragUnseen(r, item, column, ends)
	r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: column})
}

// A column that ends work at the tracker is a STOP where the registry says so.
func TestCancelledIsStop(t *testing.T) {
	Run(t, func(r *Rig) {
		withReconciler(r)
		reads := r.Features
		r.Features = func() []orchestrator.Feature { return append(reads(), stopFeature(r)) }
		r.Projects[0].CancelledIsStop = true
	}, func(r *Rig) {
		for _, lost := range []bool{false, true} {
			item := r.Begin("one")
			r.Settle(10 * time.Second)
			if lost {
				dragUnseen(r, item, "Cancelled", true)
				r.Settle(10 * time.Minute)
			} else {
				drag(r, item, "Cancelled", true)
				r.Settle(10 * time.Second)
			}
			r.Cancelled(item)
		}
	})
}

// A column that ends work at the tracker holds the task: what runs ends, nothing begins or is merged, and the service
// does not pull the card out of it. The card says so once, and how the task goes on or ends.
func TestCardInCancelled(t *testing.T) {
	for _, to := range []stage.Status{stage.StatusInProgress, stage.StatusStop} {
		Run(t, func(r *Rig) {
			withReconciler(r)
			reads := r.Features
			r.Features = func() []orchestrator.Feature { return append(reads(), stopFeature(r)) }
		}, func(r *Rig) {
			item := r.Begin("one")
			r.Settle(10 * time.Second)
			r.Set(item, stage.StatusApproved)
			r.Settle(time.Second)
			drag(r, item, "Cancelled", true)
			r.Settle(10 * time.Minute)
			require.Equal(r, "Cancelled", cardOf(r, item).StatusName)
			ran := len(r.Roles())
			require.Less(r, ran, 6)
			const says = "The card stands in Cancelled, which ends work on the board. The task is held"
			require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), says), r.Comments(App, item))
			require.Equal(r, "the card stands in Cancelled, which ends work on the board", r.Explain(item).Blockers[0].Why)

			r.Set(item, to)
			r.Settle(10 * time.Minute)
			if to == stage.StatusStop {
				r.Cancelled(item)
				require.Len(r, r.Roles(), ran)
				return
			}
			r.Stands(item, stage.Done)
			require.Equal(r, stage.StatusDone, r.Status(App, item))
			require.True(r, r.Commented(App, item, "The task goes on at "), r.Comments(App, item))
		})
	}
}

// A webhook that proves that a person has put the card where the tracker ends work brakes at once, while the board cannot be
// read: the task is held, or stopped where the registry says so. A card that was put back meanwhile goes on.
func TestCancelledBrakesFirst(t *testing.T) {
	for _, c := range []struct{ stop, back bool }{{}, {stop: true}, {back: true}} {
		Run(t, func(r *Rig) {
			r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{stopFeature(r)} }
			r.Projects[0].CancelledIsStop = c.stop
		}, func(r *Rig) {
			r.Place.SetScript(Instead(stage.Architect, Hang))
			item := r.Begin("one")
			r.Settle(10 * time.Second)
			r.Set(item, stage.StatusApproved)
			r.Settle(10 * time.Second)
			ran := len(r.Roles())
			dragUnseen(r, item, "Cancelled", true)
			at := time.Now()
			r.Board.FailCall("Item", &fault.Error{Text: "502 bad gateway", Again: true})
			r.Hook(tracker.Hook{
				Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: "c", Column: "Cancelled",
				Finished: true, At: at,
			})
			r.Settle(2 * time.Second)
			if c.stop {
				r.Cancelled(item)
				return
			}
			require.Equal(r, "the card stands in Cancelled, which ends work on the board", r.Explain(item).Blockers[0].Why)
			r.Board.FailCall("Item", nil)
			if c.back {
				r.MoveAs("kim", App, item, stage.StatusInProgress)
			}
			r.Settle(10 * time.Minute)
			held, err := r.Store.HoldsIn(context.Background(), "card/", "card0", 10)
			require.NoError(r, err)
			require.Equal(r, c.back, len(held) == 0)
			require.Equal(r, ran, len(r.Roles()))
			const says = "The card stands in Cancelled, which ends work on the board. The task is held"
			require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), says), r.Comments(App, item))
		})
	}
}

// A STOP of which no webhook came, and that was moved on, is found in the board's log before anything is merged or deployed.
// Where STOP is switched off it keeps nothing from being merged.
func TestStopThatWasMovedOnUnseen(t *testing.T) {
	for _, at := range []stage.Role{stage.Architect, stage.Tester, stage.Deployer, ""} {
		Run(t, func(r *Rig) {
			if at != "" {
				r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{stopFeature(r)} }
			}
		}, func(r *Rig) {
			item := r.Begin("one")
			r.Place.SetScript(Instead(cmp.Or(at, stage.Architect), func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				if time.Sleep(time.Second); r.Status(App, item) != stage.StatusStop {
					r.MoveAs("kim", App, item, stage.StatusStop)
					time.Sleep(time.Second)
					r.MoveAs("kim", App, item, stage.StatusInProgress)
				}
				return GoodAgent(ctx, c, files)
			}))
			r.Settle(10 * time.Second)
			r.Set(item, stage.StatusApproved)
			r.Settle(10 * time.Minute)
			if at == "" {
				r.Stands(item, stage.Done)
				return
			}
			r.Cancelled(item)
			require.Zero(r, r.Host.Merges(), at)
		})
	}
}

// A merge that waits for the board has not begun, and does not begin any more when STOP is said.
func TestStopBeforeAMergeThatWaits(t *testing.T) {
	for _, gone := range []bool{false, true} {
		Run(t, func(r *Rig) {
			r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{stopFeature(r)} }
		}, func(r *Rig) {
			item := r.Begin("one")
			r.Settle(10 * time.Second)
			why := error(&fault.Error{Text: "502 bad gateway", Again: true})
			if gone {
				why = tracker.ErrNotFound
			}
			r.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				r.Board.FailCall("Item", why)
				return GoodAgent(ctx, c, files)
			}))
			r.Set(item, stage.StatusApproved)
			r.Settle(10 * time.Minute)
			t := r.Task(item)
			require.Equal(r, stage.PhaseMerge, t.State.Phase)
			require.NoError(r, admin.Stop(context.Background(), r.Engine, t.ID, admin.OperatorBy(stage.ViaAPI)))
			r.Settle(2 * time.Minute)
			r.Board.FailCall("Item", nil)
			r.Settle(10 * time.Minute)
			r.Cancelled(item)
			require.Zero(r, r.Host.Merges())
		})
	}
}

// A column that means nothing to the pipeline is answered and put back; so is each word on a task that is done.
func TestColumnsThatMeanNothing(t *testing.T) {
	Run(t, withReconciler, func(r *Rig) {
		item := r.Begin("one")
		r.Settle(10 * time.Second)
		drag(r, item, "Backlog", false)
		r.Settle(time.Minute)
		require.Equal(r, stage.StatusInReview, r.Status(App, item))
		const says = "Backlog is no column of the pipeline: the task is at analysis and goes on. The card goes back to In Review; STOP ends the task."
		require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), says), r.Comments(App, item))

		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		for _, to := range []stage.Status{stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusRejected, stage.StatusStop} {
			r.Set(item, to)
			r.Settle(10 * time.Minute)
			info, _ := stage.StatusNamed(to)
			says := info.Name + " moves nothing: the task is done, and what is left to do begins as another card. The card goes back to Done."
			require.Equal(r, 1, strings.Count(strings.Join(r.Comments(App, item), "\n"), says), r.Comments(App, item))
			require.Equal(r, stage.StatusDone, r.Status(App, item))
		}
		drag(r, item, "Released", true)
		r.Settle(10 * time.Minute)
		require.Equal(r, "Released", cardOf(r, item).StatusName, "where a card that is done is kept is the team's own matter")
	})
}
