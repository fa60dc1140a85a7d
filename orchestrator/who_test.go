package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

const ownAccount = "service/"

// moveAs moves a card as an account, and the webhook that names it comes.
func moveAs(r *Rig, account, item string, to stage.Status) {
	r.Helper()
	r.MoveAs(account, App, item, to)
	i := cardOf(r, item)
	r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: account, Status: true, To: string(to), At: i.UpdatedAt})
}

// lastDecision returns the newest decision about a trigger that the journal has.
func lastDecision(r *Rig, item string, on stage.Trigger) task.Recorded {
	r.Helper()
	entries := read(r, r.Store.Journal, r.Task(item).ID)
	var out task.Recorded
	for _, e := range entries {
		if d, err := e.Recorded(); err == nil && d.Event.On == on {
			out = d
		}
	}
	return out
}

// waiting has a card that waits for an approval.
func waiting(r *Rig) string {
	r.Helper()
	item := r.Card(App, "x")
	moveAs(r, "kim", item, stage.StatusToAnalyse)
	r.Settle(10 * time.Second)
	r.Waits(item, stage.HoldApproval)
	return item
}

// ruled makes a rig whose first project has rules for people, with the reconciler on.
func ruled(t *testing.T, people task.People, f func(*Rig, *reconcile.Reconciler)) {
	t.Helper()
	var rec *reconcile.Reconciler
	Run(t, func(r *Rig) {
		r.Projects[0].People = people
		r.Features = func() []orchestrator.Feature {
			var err error
			rec, err = reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board, Sources: []string{"plane"}})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) { f(r, rec) })
}

// A person may use an account of the service's own: what the service has not set is that
// person's word, by its webhook and when the reconciler finds it.
func TestOneAccountForBoth(t *testing.T) {
	for _, heard := range []bool{true, false} {
		reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
			move := func(item string, to stage.Status) {
				if heard {
					moveAs(r, ownAccount, item, to)
					r.Settle(10 * time.Second)
					return
				}
				r.MoveAs(ownAccount, App, item, to)
				r.Settle(3 * time.Minute)
			}
			item := r.Card(App, "x")
			move(item, stage.StatusToAnalyse)
			r.Waits(item, stage.HoldApproval)
			move(item, stage.StatusRejected)
			require.Equal(r, []any{int64(2), stage.HoldApproval}, []any{r.Task(item).State.Run, r.Task(item).State.Hold})
			move(item, stage.StatusApproved)
			r.Settle(time.Minute)
			r.Stands(item, stage.Done)
			by := lastDecision(r, item, stage.OnApproved).Event.By
			require.Equal(r, []any{stage.KindPerson, ownAccount}, []any{by.Kind, by.ID})
		})
	}
}

// What the service itself has set is nobody's word, however late and often its webhooks come,
// in whatever order: the columns of all its writes are reported again and again.
func TestEchoesAreNobodysWord(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		var items []string
		for range 2 {
			items = append(items, waiting(r))
		}
		moveAs(r, "kim", items[0], stage.StatusApproved)
		for range 120 {
			for _, item := range items {
				for _, m := range r.Board.Moves() {
					r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: ownAccount, Status: true, To: string(m.To), At: time.Now()})
				}
			}
			r.Settle(500 * time.Millisecond)
		}
		r.Stands(items[0], stage.Done)
		r.Waits(items[1], stage.HoldApproval)
		require.Len(r, r.Roles(), 8)
		require.NotContains(r, strings.Join(r.Comments(App, items[1]), " "), "moves nothing")
	})
}

// On the tracker's own pages the service moves nothing: In Progress is a person's there, although
// the service sets it too.
func TestInProgressByHand(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := waiting(r)
		for n, browser := range []bool{false, true} {
			r.MoveAs(ownAccount, App, item, stage.StatusInProgress)
			r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: ownAccount, Status: true, Browser: browser, To: string(stage.StatusInProgress), At: time.Now()})
			r.Settle(10 * time.Second)
			require.Equal(r, 1+n, r.Ran(stage.Analyst))
		}
	})
}

// A lost webhook is replayed by the tracker's log, which names the person; where there
// is no log it is replayed without a name.
func TestReplayNamesThePerson(t *testing.T) {
	for logged, want := range map[bool]stage.Principal{
		true:  {Kind: stage.KindPerson, ID: "lee", Via: stage.ViaReconciler, Proof: stage.ProofActivity},
		false: {Kind: stage.KindPerson, Via: stage.ViaReconciler, Proof: stage.ProofNone},
	} {
		reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
			r.Board.SetLogged(logged)
			item := waiting(r)
			r.MoveAs("lee", App, item, stage.StatusApproved)
			r.Settle(3 * time.Minute)
			r.Stands(item, stage.Done)
			require.Equal(r, want, lastDecision(r, item, stage.OnApproved).Event.By)
		})
	}
}

// On a board that the service keeps itself the hook and the log say what proves who it was:
// a name that was only typed proves nothing, whether a webhook or the log reports the move.
func TestWhatProvesAPerson(t *testing.T) {
	announced := func(r *Rig, item string, proof stage.Proof) {
		i := cardOf(r, item)
		h := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(i.Status), At: i.UpdatedAt, Via: stage.ViaBoard, Proof: proof}
		for range 2 { // announced twice it is one
			require.NoError(r, r.Engine.Announce(context.Background(), "board", fmt.Sprint(item, i.UpdatedAt), h))
		}
	}
	for _, heard := range []bool{true, false} {
		for _, proof := range []stage.Proof{stage.ProofToken, stage.ProofNone} {
			ruled(t, task.People{Approvers: []string{"kim"}}, func(r *Rig, _ *reconcile.Reconciler) {
				item := waiting(r)
				r.Board.SetProof(proof)
				r.MoveAs("kim", App, item, stage.StatusApproved)
				want := stage.Principal{Kind: stage.KindPerson, ID: "kim", Via: stage.ViaReconciler, Proof: proof}
				if heard {
					announced(r, item, proof)
					want.Via = stage.ViaBoard
				}
				r.Settle(3 * time.Minute)
				require.Equal(r, want, lastDecision(r, item, stage.OnApproved).Event.By)
				require.Equal(r, proof == stage.ProofToken, r.Task(item).State.Stage == stage.Done)
			})
		}
	}
}

// A person who may not make a move gets one answer; the column goes back, and neither the
// reconciler nor a second webhook of it makes anything of it. A person who may does.
func TestOnlyWhoMay(t *testing.T) {
	ruled(t, task.People{Approvers: []string{"ann@example.org", "role:admin"}, Starters: []string{"kim"}}, func(r *Rig, _ *reconcile.Reconciler) {
		r.Board.AddPerson(tracker.Person{ID: "kim", Role: "member", Email: "kim@example.org"})
		r.Board.AddPerson(tracker.Person{ID: "ann", Role: "guest", Email: "Ann@example.org"})
		r.Board.AddPerson(tracker.Person{ID: "root", Role: "admin"})

		other := r.Card(App, "y")
		moveAs(r, "ann", other, stage.StatusToAnalyse)
		r.Settle(10 * time.Minute)
		require.Empty(r, r.Roles())
		require.Equal(r, stage.StatusBlocked, r.Status(App, other))
		require.Equal(r, []string{"The pipeline has not started: ann may not set To Analyse here; the starters are kim."}, r.Comments(App, other))

		item := waiting(r)
		for _, to := range []stage.Status{stage.StatusApproved, stage.StatusRejected} {
			moveAs(r, "kim", item, to)
			r.Settle(time.Hour)
			r.Waits(item, stage.HoldApproval)
			require.Equal(r, stage.StatusInReview, r.Status(App, item), "the column goes back")
		}
		r.MoveAs("kim", App, item, stage.StatusApproved) // and no webhook comes
		r.Settle(time.Hour)
		require.Equal(r, stage.StatusInReview, r.Status(App, item))
		var denied []string
		for _, c := range r.Comments(App, item) {
			if strings.Contains(c, "may not") {
				denied = append(denied, c)
			}
		}
		require.Equal(r, []string{
			"kim may not set Approved here; the approvers are ann@example.org, role:admin.",
			"kim may not set Rejected here; the approvers are ann@example.org, role:admin.",
			"kim may not set Approved here; the approvers are ann@example.org, role:admin.",
		}, denied)
		require.Equal(r, "kim", lastDecision(r, item, stage.OnApproved).Event.By.ID, "the journal has it")
		require.Len(r, r.Roles(), 1)

		moveAs(r, "ann", item, stage.StatusRejected)
		r.Settle(time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Analyst}, r.Roles())
		moveAs(r, "root", item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		r.Replays()
	})
}

// Where people are named, a move of which it cannot be proved who made it moves
// nothing, and the card says so once.
func TestNotProvedWherePeopleAreNamed(t *testing.T) {
	ruled(t, task.People{Approvers: []string{"ann"}}, func(r *Rig, _ *reconcile.Reconciler) {
		r.Board.SetLogged(false)
		item := waiting(r)
		r.MoveAs("ann", App, item, stage.StatusApproved)
		r.Settle(5 * time.Hour)
		r.Waits(item, stage.HoldApproval)
		said := 0
		for _, c := range r.Comments(App, item) {
			if strings.Contains(c, "it cannot be proved who has set Approved") {
				said++
			}
		}
		require.Equal(r, 1, said)
		moveAs(r, "ann", item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

// A webhook of another change that comes first (a drag changes the place of a card as well)
// keeps no move from being acted on.
func TestWebhookOfSomethingElseFirst(t *testing.T) {
	for _, logged := range []bool{true, false} {
		ruled(t, task.People{Approvers: []string{"ann"}}, func(r *Rig, _ *reconcile.Reconciler) {
			r.Board.SetLogged(logged)
			item := waiting(r)
			r.MoveAs("ann", App, item, stage.StatusApproved)
			i := cardOf(r, item)
			r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "ann", At: i.UpdatedAt})
			r.Settle(time.Second)
			r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "ann", Status: true, To: string(stage.StatusApproved), At: i.UpdatedAt})
			r.Settle(time.Minute)
			r.Stands(item, stage.Done)
		})
	}
}

// Whatever the lists say, anybody stops a task, and even without proof.
func TestAnybodyStops(t *testing.T) {
	nobody := []string{"nobody"}
	for _, logged := range []bool{true, false} {
		reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
			r.Projects[0].People = task.People{Starters: []string{"kim"}, Approvers: nobody, Releasers: nobody, Separate: true}
			r.Shutdown()
			r.Start()
			r.Board.SetLogged(logged)
			item := waiting(r)
			r.MoveAs("guest", App, item, stage.StatusStop)
			r.Settle(10 * time.Minute)
			r.Cancelled(item)
		})
	}
}

// A log that cannot be read keeps an approval that was lost waiting, and no STOP; nor
// does it keep the reconciler from other cards.
func TestLogThatIsAway(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		approved, stopped := waiting(r), waiting(r)
		r.Board.FailCall("LastMove", faulttest.Error(faulttest.Passing))
		r.MoveAs("lee", App, approved, stage.StatusApproved)
		r.MoveAs("lee", App, stopped, stage.StatusStop)
		r.Settle(time.Hour)
		r.Cancelled(stopped)
		r.Waits(approved, stage.HoldApproval)
		r.Board.FailCall("LastMove", nil)
		r.Settle(time.Hour)
		r.Stands(approved, stage.Done)
		require.Equal(r, "lee", lastDecision(r, approved, stage.OnApproved).Event.By.ID)
	})
}

// With separate, who has started a task does not approve it, and may reject it.
func TestSeparate(t *testing.T) {
	ruled(t, task.People{Separate: true, Approvers: []string{"kim", "lee"}}, func(r *Rig, _ *reconcile.Reconciler) {
		item := waiting(r)
		require.Equal(r, "kim", r.Task(item).State.Starter)
		moveAs(r, "kim", item, stage.StatusRejected)
		r.Settle(time.Minute)
		require.Equal(r, 2, r.Ran(stage.Analyst))
		moveAs(r, "kim", item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldApproval)
		require.True(r, r.Commented(App, item, "kim has started the task, and somebody else is to approve it."))
		moveAs(r, "lee", item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

// lagging is a board whose log comes late.
type lagging struct {
	*memtracker.Board
	until  time.Time
	before tracker.Move
}

func (l *lagging) LastMove(ctx context.Context, project, item string) (tracker.Move, error) {
	if time.Now().Before(l.until) {
		return l.before, nil
	}
	return l.Board.LastMove(ctx, project, item)
}

// While the log is behind the board, a move that no webhook has told of waits for it, although
// nobody is named.
func TestLogThatComesLate(t *testing.T) {
	var late *lagging
	Run(t, func(r *Rig) {
		late = &lagging{Board: r.Board}
		r.Tracker = late
		r.Features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) {
		item := waiting(r)
		last, err := r.Board.LastMove(context.Background(), App, item)
		require.NoError(r, err)
		late.before, late.until = last, time.Now().Add(90*time.Second)
		r.MoveAs("lee", App, item, stage.StatusApproved)
		r.Settle(80 * time.Second)
		r.Waits(item, stage.HoldApproval)
		r.Settle(time.Hour)
		require.Equal(r, "lee", lastDecision(r, item, stage.OnApproved).Event.By.ID)

		made := waiting(r) // who made a card has not moved it minutes later
		late.before = tracker.Move{ActorID: "ann", At: time.Now().Add(-2 * time.Minute)}
		late.until = time.Now().Add(90 * time.Second)
		r.MoveAs("lee", App, made, stage.StatusApproved)
		r.Settle(time.Hour)
		require.Equal(r, "lee", lastDecision(r, made, stage.OnApproved).Event.By.ID)
	})
}

// Who has said a word is named as the tracker names its member, however the word was found; a tracker that describes nobody, or
// cannot at the moment, holds no word up.
func TestWordsAreByName(t *testing.T) {
	const kim, ann = "5f1e7c2a-kim", "5f1e7c2a-ann"
	ruled(t, task.People{}, func(r *Rig, _ *reconcile.Reconciler) {
		r.Board.AddPerson(tracker.Person{ID: kim, Name: "Kim Müller"})
		item := waiting(r)
		moveAs(r, kim, item, stage.StatusApproved)
		r.Settle(time.Minute)
		require.Equal(r, "Kim Müller", lastDecision(r, item, stage.OnApproved).Event.By.Who())
		require.Equal(r, kim, lastDecision(r, item, stage.OnApproved).Event.By.ID)
		require.Equal(r, "Kim Müller", r.Task(item).ApprovedBy)
		words, err := explain.One(context.Background(), r.Engine, r.Task(item).ID)
		require.NoError(r, err)
		require.Contains(r, fmt.Sprint(words.Words), "Kim Müller")

		other := waiting(r)
		moveAs(r, ann, other, stage.StatusApproved)
		r.Settle(time.Minute)
		require.Equal(r, ann, r.Task(other).ApprovedBy, "nobody knows better")
	})
}
