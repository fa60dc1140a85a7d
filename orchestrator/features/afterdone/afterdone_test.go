package afterdone_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/afterdone"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// answering makes a rig whose boards are read every minute, with the feature.
func answering(t *testing.T, f func(*Rig)) {
	t.Helper()
	with(t, true, "", f)
}

func with(t *testing.T, on bool, serial string, f func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			rec, err1 := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board, AfterDone: on})
			gate, err2 := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{cmp.Or(serial, "acme/none")}})
			halt, err4 := stop.Feature(r.Parts())
			require.NoError(r, errors.Join(err1, err2, err4))
			list := []orchestrator.Feature{halt, rec.Feature(), gate.Feature()}
			if on {
				f, err := afterdone.Feature(afterdone.Options{Parts: r.Parts(), Freeze: true})
				require.NoError(r, err)
				list = append(list, f)
			}
			return list
		}
	}, f)
}

// tell is kim moving a card, with the webhook of that.
func tell(r *Rig, item string, to stage.Status) {
	r.Helper()
	r.MoveAs("kim", App, item, to)
	i, err := r.Board.Item(context.Background(), App, item)
	require.NoError(r, err)
	r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(to), At: i.UpdatedAt})
}

func tasks(r *Rig, item string) []task.Task {
	r.Helper()
	list, err := r.Store.Tasks(context.Background(), task.Filter{TrackerIssueID: item, Cancelled: true})
	require.NoError(r, err)
	return list
}

// A whole life after the end: every name is its own, every gate is passed again, and the first role is given what
// the former has left.
func TestFollowUp(t *testing.T) {
	with(t, true, AppRepo, func(r *Rig) {
		item := r.Finish("the work")
		former := r.Task(item)
		require.Equal(r, stage.Done, former.State.Stage)
		began := len(r.Place.Runs())

		other := r.Begin("another card") // the serial gate holds the follow-up behind it
		r.Settle(10 * time.Second)
		tell(r, item, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		next := r.Task(item)
		require.Equal(r, former.WorkItemID+"-2", next.WorkItemID)
		require.Equal(r, former.WorkItemID, next.State.Follows)
		require.Contains(r, r.Explain(item).Summary, "one task at a time")
		r.Set(other, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldApproval)
		r.Set(item, stage.StatusApproved)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)

		next = r.Task(item)
		require.NotEqual(r, former.Branch, next.Branch)
		require.NotEqual(r, former.State.MergeSHA, next.State.MergeSHA)
		require.Equal(r, stage.StatusDone, r.Status(App, item))
		require.True(r, r.Commented(App, item, "It is a follow-up of "+former.WorkItemID), "%q", r.Comments(App, item))
		require.Equal(r, former, tasks(r, item)[0], "the former stays as it was")
		runs := r.Place.Runs()[began:]
		first := runs[slices.IndexFunc(runs, func(c work.Command) bool { return c.WorkItem == next.WorkItemID })]
		require.Equal(r, stage.Analyst, first.Role)
		require.Contains(r, first.Prompt, next.WorkItemID+" is a follow-up of "+former.WorkItemID+", which is done")
		require.Contains(r, first.Prompt, "of "+former.WorkItemID+" has said at its end")
		require.Equal(r, former.WorkItemID, r.Explain(item).Follows)
		x, err := explain.One(context.Background(), r.Engine, former.ID)
		require.NoError(r, err)
		require.Equal(r, []string{next.WorkItemID}, x.FollowedBy)
		r.Replays()
	})
}

// moves hold what a person sees who moves the card of a task that has ended: the column in the end, and what is said.
type moves map[stage.Status]struct {
	stands stage.Status
	says   string
}

func (m moves) check(r *Rig, ended func() (item string)) {
	r.Helper()
	for to, want := range m {
		item := ended()
		before := len(r.Comments(App, item))
		for range 2 { // as trackers may save a move
			tell(r, item, to)
		}
		r.Settle(20 * time.Minute)
		said := strings.Join(r.Comments(App, item)[before:], "\n")
		require.Equal(r, want.stands, r.Status(App, item), "%s: %s", to, said)
		if want.says == "" {
			require.Empty(r, said, to)
			continue
		}
		require.Equal(r, 1, strings.Count(said, want.says), "%s: %s", to, said)
	}
}

func TestWordsAfterTheEnd(t *testing.T) {
	done := func(name string) struct {
		stands stage.Status
		says   string
	} {
		return struct {
			stands stage.Status
			says   string
		}{stage.StatusDone, name + " moves nothing: the task is done; To Analyse opens a follow-up, signalbox undo takes the change back. The card goes back to Done."}
	}
	answering(t, func(r *Rig) {
		moves{
			stage.StatusToAnalyse:     {stage.StatusInReview, "It is a follow-up of"},
			stage.StatusInProgress:    done("In Progress"),
			stage.StatusApproved:      done("Approved"),
			stage.StatusRejected:      done("Rejected"),
			stage.StatusConfirmDeploy: done("Confirm Deploy"),
			stage.StatusStop:          done("STOP"),
			stage.StatusCodeReview:    done("Code Review"),
			stage.StatusBlocked:       done("Blocked"),
			stage.StatusDone:          {stands: stage.StatusDone},
		}.check(r, func() string {
			item := r.Finish("x")
			r.Stands(item, stage.Done)
			return item
		})
	})
}

func TestWordsAfterTheEndSwitchedOff(t *testing.T) {
	with(t, false, "", func(r *Rig) {
		const says = " moves nothing: the task is done, and what is left to do begins as another card. The card goes back to Done."
		moves{
			stage.StatusToAnalyse:  {stage.StatusDone, "To Analyse" + says},
			stage.StatusApproved:   {stage.StatusDone, "Approved" + says},
			stage.StatusCodeReview: {stands: stage.StatusCodeReview},
		}.check(r, func() string { return r.Finish("x") })
	})
}

func TestWordsAfterSTOP(t *testing.T) {
	stays := func(to stage.Status) struct {
		stands stage.Status
		says   string
	} {
		info, _ := stage.StatusNamed(to)
		return struct {
			stands stage.Status
			says   string
		}{to, info.Name + " moves nothing: the task of this card was cancelled. To Analyse starts another."}
	}
	answering(t, func(r *Rig) {
		m := moves{stage.StatusToAnalyse: {stage.StatusInReview, "The task is taken up"}}
		for _, to := range []stage.Status{
			stage.StatusInProgress, stage.StatusApproved, stage.StatusRejected, stage.StatusConfirmDeploy, stage.StatusCodeReview,
		} {
			m[to] = stays(to)
		}
		m.check(r, func() string {
			item := r.Begin("x")
			r.Settle(10 * time.Second)
			tell(r, item, stage.StatusStop)
			r.Settle(2 * time.Minute)
			r.Cancelled(item)
			return item
		})
	})
}

// A lost webhook is found; a follow-up that is cancelled comes again under the same name; the third is counted on.
func TestFollowUpOfFollowUps(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Finish("x")
		first := r.Task(item).WorkItemID
		r.MoveUnseen(App, item, stage.StatusToAnalyse)
		r.Settle(10 * time.Minute)
		require.Equal(r, first+"-2", r.Task(item).WorkItemID)
		tell(r, item, stage.StatusStop)
		r.Settle(2 * time.Minute)
		r.Cancelled(item)
		tell(r, item, stage.StatusToAnalyse)
		r.Settle(2 * time.Minute)
		require.Equal(r, []string{first + "-2", first}, []string{r.Task(item).WorkItemID, r.Task(item).State.Follows})
		r.Board.FailCall("SetStatus", faulttest.Error(faulttest.Final)) // which keeps no follow-up from beginning
		r.Set(item, stage.StatusApproved)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
		tell(r, item, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		require.Equal(r, []string{first + "-3", first + "-2"}, []string{r.Task(item).WorkItemID, r.Task(item).State.Follows})
		require.Len(r, tasks(r, item), 4)
	})
}

// A follow-up is begun by who may begin a task, and of a card that is fit for it.
func TestFollowUpThatIsRefused(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Finish("x")
		i, err := r.Board.Item(context.Background(), App, item)
		require.NoError(r, err)
		i.Description = ""
		r.Board.Put(i)
		tell(r, item, stage.StatusToAnalyse)
		r.Settle(20 * time.Minute)
		require.Len(r, tasks(r, item), 1)
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))
		require.True(r, r.Commented(App, item, "The pipeline has not started"), "%q", r.Comments(App, item))
		i.Description = "what is wanted"
		i.Status = stage.StatusBlocked
		r.Board.Put(i)
		tell(r, item, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		require.Len(r, tasks(r, item), 2)
		r.Set(item, stage.StatusApproved)
		r.Settle(2 * time.Minute)
		r.Board.Remove(App, item)
		i.ProjectID = Self
		r.Board.Put(i)
		r.Move(Self, item, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		require.Equal(r, "acme/self", r.Task(item).Repo, "its board's by now")
	})
}

// Two processes take the same word: one task begins.
func TestFollowUpOfTwoDeliveries(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Finish("x")
		r.MoveAs("kim", App, item, stage.StatusToAnalyse)
		r.Start() // a second process over the same store
		for range 5 {
			r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true})
		}
		r.Settle(10 * time.Minute)
		require.Len(r, tasks(r, item), 2)
	})
}

// What was deployed is shown as monitored; a person may put it into Done.
func TestMonitoredCardIsPutIntoDone(t *testing.T) {
	answering(t, func(r *Rig) {
		item := r.Card(Self, "x")
		r.ToDone(Self, item)
		r.Move(Self, item, stage.StatusConfirmDeploy)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, stage.StatusMonitoring, r.Status(Self, item))
		r.MoveAs("kim", Self, item, stage.StatusDone)
		i, err := r.Board.Item(context.Background(), Self, item)
		require.NoError(r, err)
		r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: Self, ItemID: item, ActorID: "kim", Status: true, To: string(stage.StatusDone), At: i.UpdatedAt})
		r.Settle(20 * time.Minute)
		require.Equal(r, stage.StatusDone, r.Status(Self, item))
	})
}
