package orchestrator_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

const ownAccount = "service/"

// says moves a card as an account, and the webhook that names it comes.
func (r *rig) says(account, item string, to stage.Status) {
	r.Helper()
	r.moveAs(account, appProject, item, to)
	i, err := r.board.Item(context.Background(), appProject, item)
	require.NoError(r, err)
	r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: account, Status: true, To: string(to), At: i.UpdatedAt})
}

// told is the newest decision about a trigger that the journal has.
func (r *rig) told(item string, on stage.Trigger) orchestrator.Recorded {
	r.Helper()
	entries, err := r.store.Journal(context.Background(), r.task(item).ID)
	require.NoError(r, err)
	var out orchestrator.Recorded
	for _, e := range entries {
		if d, err := e.Recorded(); err == nil && d.Event.On == on {
			out = d
		}
	}
	return out
}

// waiting has a card that waits for an approval.
func (r *rig) waiting() string {
	r.Helper()
	item := r.card(appProject, "x")
	r.says("kim", item, stage.StatusToAnalyse)
	r.settle(10 * time.Second)
	require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
	return item
}

// ruled makes a rig whose first project has rules for people, with the reconciler on.
func ruled(t *testing.T, people orchestrator.People, f func(*rig, *reconcile.Reconciler)) {
	t.Helper()
	var rec *reconcile.Reconciler
	runWith(t, func(r *rig) {
		r.project[0].People = people
		r.features = func() []orchestrator.Feature {
			var err error
			rec, err = reconcile.New(reconcile.Options{Tracker: r.board, Board: r.board, Source: "plane"})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *rig) { f(r, rec) })
}

// What an account of the service's own has set on the board is nobody's word: not by
// its own webhook, not when a person's webhook of something else makes the service
// look, and not when the reconciler finds it. A person's word at the same column is.
func TestOwnMovesAreNobodysWord(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		item := r.waiting()
		before := r.task(item)
		r.says(ownAccount, item, stage.StatusApproved)
		r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "kim"}) // kim has changed the title
		r.settle(time.Hour)
		require.Equal(r, before.State, r.task(item).State)
		require.NoError(r, rec.Webhooks(context.Background()), "nor is it taken for a lost webhook")
		r.moveAs("kim", appProject, item, stage.StatusInReview)
		r.says("kim", item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		by := r.told(item, stage.OnApproved).Event.By
		require.Equal(r, stage.Principal{Kind: stage.KindPerson, ID: "kim", Via: stage.ViaWebhook, Proof: stage.ProofSignature}, by)
	})
}

// A card that only the service's own account has put at To Analyse begins nothing.
func TestOwnStartIsNone(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		item := r.card(appProject, "x")
		r.moveAs(ownAccount, appProject, item, stage.StatusToAnalyse)
		r.settle(time.Hour)
		require.Empty(r, r.roles())
	})
}

// A lost webhook is replayed by the tracker's log, which names the person; where there
// is no log it is replayed without a name.
func TestReplayNamesThePerson(t *testing.T) {
	for logged, want := range map[bool]stage.Principal{
		true:  {Kind: stage.KindPerson, ID: "lee", Via: stage.ViaReconciler, Proof: stage.ProofActivity},
		false: {Kind: stage.KindPerson, Via: stage.ViaReconciler, Proof: stage.ProofNone},
	} {
		reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
			r.board.SetLogged(logged)
			item := r.waiting()
			r.moveAs("lee", appProject, item, stage.StatusApproved)
			r.settle(3 * time.Minute)
			require.Equal(r, stage.Done, r.task(item).State.Stage)
			require.Equal(r, want, r.told(item, stage.OnApproved).Event.By)
		})
	}
}

// Who may not make a move is told so once; the column goes back, and neither the
// reconciler nor a second webhook of it makes anything of it. Who may does.
func TestOnlyWhoMay(t *testing.T) {
	ruled(t, orchestrator.People{Approvers: []string{"ann@example.org", "role:admin"}, Starters: []string{"kim"}}, func(r *rig, _ *reconcile.Reconciler) {
		r.board.AddPerson(tracker.Person{ID: "kim", Role: "member", Email: "kim@example.org"})
		r.board.AddPerson(tracker.Person{ID: "ann", Role: "guest", Email: "Ann@example.org"})
		r.board.AddPerson(tracker.Person{ID: "root", Role: "admin"})

		other := r.card(appProject, "y")
		r.says("ann", other, stage.StatusToAnalyse)
		r.settle(10 * time.Minute)
		require.Empty(r, r.roles())
		require.Equal(r, stage.StatusBlocked, r.status(appProject, other))
		require.Equal(r, []string{"The pipeline has not started: ann may not set To Analyse here; the starters are kim."}, r.comments(appProject, other))

		item := r.waiting()
		for _, to := range []stage.Status{stage.StatusApproved, stage.StatusRejected} {
			r.says("kim", item, to)
			r.settle(time.Hour)
			require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
			require.Equal(r, stage.StatusInReview, r.status(appProject, item), "the column goes back")
		}
		r.moveAs("kim", appProject, item, stage.StatusApproved) // and no webhook comes
		r.settle(time.Hour)
		require.Equal(r, stage.StatusInReview, r.status(appProject, item))
		var denied []string
		for _, c := range r.comments(appProject, item) {
			if strings.Contains(c, "may not") {
				denied = append(denied, c)
			}
		}
		require.Equal(r, []string{
			"kim may not set Approved here; the approvers are ann@example.org, role:admin.",
			"kim may not set Rejected here; the approvers are ann@example.org, role:admin.",
			"kim may not set Approved here; the approvers are ann@example.org, role:admin.",
		}, denied)
		require.Equal(r, "kim", r.told(item, stage.OnApproved).Event.By.ID, "the journal has it")
		require.Len(r, r.roles(), 1)

		r.says("ann", item, stage.StatusRejected)
		r.settle(time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Analyst}, r.roles())
		r.says("root", item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		r.replays()
	})
}

// Where people are named, a move of which it cannot be proved who made it moves
// nothing, and the card says so once.
func TestNotProvedWherePeopleAreNamed(t *testing.T) {
	ruled(t, orchestrator.People{Approvers: []string{"ann"}}, func(r *rig, _ *reconcile.Reconciler) {
		r.board.SetLogged(false)
		item := r.waiting()
		r.moveAs("ann", appProject, item, stage.StatusApproved)
		r.settle(5 * time.Hour)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		said := 0
		for _, c := range r.comments(appProject, item) {
			if strings.Contains(c, "it cannot be proved who has set Approved") {
				said++
			}
		}
		require.Equal(r, 1, said)
		r.says("ann", item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// A webhook of something else that comes first (whoever drags a card changes its place
// as well) keeps nobody's word from being heard.
func TestWebhookOfSomethingElseFirst(t *testing.T) {
	for _, logged := range []bool{true, false} {
		ruled(t, orchestrator.People{Approvers: []string{"ann"}}, func(r *rig, _ *reconcile.Reconciler) {
			r.board.SetLogged(logged)
			item := r.waiting()
			r.moveAs("ann", appProject, item, stage.StatusApproved)
			i, err := r.board.Item(context.Background(), appProject, item)
			require.NoError(r, err)
			r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "ann", At: i.UpdatedAt})
			r.settle(time.Second)
			r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "ann", Status: true, To: string(stage.StatusApproved), At: i.UpdatedAt})
			r.settle(time.Minute)
			require.Equal(r, stage.Done, r.task(item).State.Stage)
		})
	}
}

// Whatever the lists say, anybody stops a task, and even without proof.
func TestAnybodyStops(t *testing.T) {
	nobody := []string{"nobody"}
	for _, logged := range []bool{true, false} {
		reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
			r.project[0].People = orchestrator.People{Starters: []string{"kim"}, Approvers: nobody, Releasers: nobody, Separate: true}
			r.shutdown()
			r.start()
			r.board.SetLogged(logged)
			item := r.waiting()
			r.moveAs("guest", appProject, item, stage.StatusStop)
			r.settle(10 * time.Minute)
			require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
		})
	}
}

// A log that cannot be read keeps an approval that was lost waiting, and no STOP; nor
// does it keep the reconciler from other cards.
func TestLogThatIsAway(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		approved, stopped := r.waiting(), r.waiting()
		r.board.FailCall("LastMove", faulttest.Error(faulttest.Passing))
		r.moveAs("lee", appProject, approved, stage.StatusApproved)
		r.moveAs("lee", appProject, stopped, stage.StatusStop)
		r.settle(time.Hour)
		require.Equal(r, stage.Cancelled, r.cancelled(stopped).State.Stage)
		require.Equal(r, stage.HoldApproval, r.task(approved).State.Hold)
		r.board.FailCall("LastMove", nil)
		r.settle(time.Hour)
		require.Equal(r, stage.Done, r.task(approved).State.Stage)
		require.Equal(r, "lee", r.told(approved, stage.OnApproved).Event.By.ID)
	})
}

// With separate, who has started a task does not approve it.
func TestSeparate(t *testing.T) {
	ruled(t, orchestrator.People{Separate: true}, func(r *rig, _ *reconcile.Reconciler) {
		item := r.waiting()
		require.Equal(r, "kim", r.task(item).State.Starter)
		r.says("kim", item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		require.True(r, contains(r.comments(appProject, item), "kim has started the task, and somebody else is to approve it."))
		r.says("lee", item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
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

// While the log is behind the board, what the service's own account has set is not
// taken for a person's, although nobody is named.
func TestLogThatComesLate(t *testing.T) {
	var late *lagging
	runWith(t, func(r *rig) {
		late = &lagging{Board: r.board}
		r.tracker = late
		r.features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Tracker: r.board, Board: r.board})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *rig) {
		item := r.waiting()
		last, err := r.board.LastMove(context.Background(), appProject, item)
		require.NoError(r, err)
		late.before, late.until = last, time.Now().Add(90*time.Second)
		r.moveAs(ownAccount, appProject, item, stage.StatusApproved)
		r.settle(time.Hour)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
	})
}

// Journals from before principals are read and replay as they were: an event's "by"
// was an id, and no state has a starter.
func TestOldJournalsReplay(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		item := r.waiting()
		r.says("kim", item, stage.StatusApproved)
		r.settle(time.Minute)
		task := r.task(item)
		require.Equal(r, stage.Done, task.State.Stage)
		old := func(entries []orchestrator.JournalEntry) []orchestrator.JournalEntry {
			for i, e := range entries {
				var all map[string]map[string]any
				require.NoError(r, json.Unmarshal(e.Payload, &all))
				if by, ok := all["event"]["by"].(map[string]any); ok {
					all["event"]["by"] = by["id"]
				}
				for _, field := range []string{"starter", "heard_at", "asked_after"} {
					delete(all["decision"]["state"].(map[string]any), field)
				}
				body, err := json.Marshal(all)
				require.NoError(r, err)
				entries[i].Payload = body
			}
			return entries
		}
		r.engine.Story = forger{r.store, old}
		again, err := r.engine.Replay(context.Background(), task.ID)
		require.NoError(r, err)
		require.Empty(r, again.First())
		entries, err := r.engine.Story.Journal(context.Background(), task.ID)
		require.NoError(r, err)
		require.Equal(r, stage.Principal{ID: "kim"}, recordedIn(r.T, entries[0]).Event.By)
	})
}
