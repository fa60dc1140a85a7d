package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// lose moves new cards without a webhook, a pass for each.
func lose(r *Rig, n int) {
	for range n {
		r.MoveUnseen(App, r.Card(App, "x"), stage.StatusToAnalyse)
		r.Settle(time.Minute)
	}
}

// titles counts the notices with a title.
func titles(r *Rig, title string) int {
	n := 0
	for line := range strings.Lines(r.Notices()) {
		if strings.HasPrefix(line, title+" | ") {
			n++
		}
	}
	return n
}

// Webhooks that have stopped while boards move are reported once, over restarts and
// however long it lasts; that they come again is reported once too; and a second outage
// is a new one.
func TestWebhooksHaveStopped(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		const stopped, again = "Webhooks have stopped", "Webhooks come again"
		r.Begin("x")
		r.Settle(time.Hour) // nobody moves anything: that is no outage
		lose(r, 2)
		require.Zero(r, titles(r, stopped))
		r.Settle(time.Hour) // a quiet hour does not end it
		lose(r, 1)
		require.Equal(r, 1, titles(r, stopped))
		require.Contains(r, r.Notices(), "Boards have moved 3 times and no webhook has come since")
		lose(r, 2)
		r.Shutdown()
		r.Start()
		lose(r, 5)
		require.Equal(r, 1, titles(r, stopped), "once, over a restart")
		require.Zero(r, titles(r, again))
		r.Begin("y")
		r.Settle(5 * time.Minute)
		require.Equal(r, []int{1, 1}, []int{titles(r, stopped), titles(r, again)})
		r.Settle(time.Hour)
		lose(r, 3)
		require.Equal(r, []int{2, 1}, []int{titles(r, stopped), titles(r, again)}, "a new outage")
		require.Empty(r, r.Silent(), "they make a sound")
	})
}

// Readiness reports which moves had webhooks and which had none, after a restart too.
func TestReadinessKnowsOfWebhooks(t *testing.T) {
	var rec *reconcile.Reconciler
	reconciledAs(t, &rec, func(r *Rig) {
		ready := func() error { return rec.Webhooks(context.Background()) }
		require.NoError(r, ready())
		lose(r, 3)
		require.ErrorContains(r, ready(), "without webhooks")
		r.Shutdown()
		r.Start()
		require.NoError(r, ready(), "nothing is known yet")
		r.Settle(2 * time.Minute)
		require.ErrorContains(r, ready(), "people were told at")
		r.Begin("y")
		r.Settle(2 * time.Minute)
		require.NoError(r, ready())
	})
}

// One webhook among many that are lost is enough: they have not stopped.
func TestSomeWebhooksAreLost(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		for range 5 {
			lose(r, 2)
			r.Begin("x")
			r.Settle(time.Minute)
		}
		require.NoError(r, rec.Webhooks(context.Background()))
		require.NotContains(r, r.Notices(), "Webhooks")
	})
}

// More moves than the brake lets through are moves all the same; a tracker that
// does not answer says nothing.
func TestWebhooksBehindTheBrake(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		r.Board.FailWith(errors.New("503"))
		r.Settle(time.Hour)
		require.NoError(r, rec.Webhooks(context.Background()))
		r.Board.FailWith(nil)
		for range 6 {
			r.MoveUnseen(App, r.Card(App, "x"), stage.StatusToAnalyse)
		}
		r.Settle(5 * time.Minute)
		require.Equal(r, 1, titles(r, "Webhooks have stopped"))
		require.Contains(r, r.Notices(), "Boards have moved 6 times")
		require.Empty(r, r.Roles())
	})
}

// Events that are stored and cannot be worked off are not lost, however many passes find
// their cards unchanged: neither those of webhooks nor one that was lost and is replayed.
func TestStoredIsNotLost(t *testing.T) {
	var board *locked
	Run(t, func(r *Rig) {
		board = &locked{Board: r.Board}
		r.Tracker = board
	}, func(r *Rig) {
		rec, err := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board, Brake: 2, Sources: []string{"plane"}})
		require.NoError(r, err)
		pass := func(n int) {
			for range n {
				r.Settle(time.Minute)
				require.NoError(r, rec.Pass(context.Background(), r.Engine))
			}
		}
		board.lock(true)
		var items []string
		for range 4 { // more than the brake lets through, if they were lost
			items = append(items, r.Card(App, "x"))
			r.Set(items[len(items)-1], stage.StatusToAnalyse)
		}
		pass(10)
		lost := r.Card(App, "y")
		r.MoveUnseen(App, lost, stage.StatusToAnalyse)
		pass(10)
		require.NoError(r, rec.Webhooks(context.Background()))
		require.Empty(r, r.Notices())
		board.lock(false)
		r.Settle(10 * time.Minute)
		for _, item := range append(items, lost) {
			r.Waits(item, stage.HoldApproval)
		}
	})
}

// locked is a board whose single items cannot be read.
type locked struct {
	*memtracker.Board

	shut atomic.Bool
}

func (l *locked) lock(shut bool) { l.shut.Store(shut) }

func (l *locked) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	if l.shut.Load() {
		return tracker.Item{}, faulttest.Error(faulttest.Passing)
	}
	return l.Board.Item(ctx, project, item)
}

// Moves whose webhooks are on their way when a pass finds them are no outage.
func TestWebhooksOnTheirWay(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		for range 5 {
			for range 4 {
				item := r.Card(App, "x")
				r.MoveUnseen(App, item, stage.StatusToAnalyse)
				h := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true}
				time.AfterFunc(61*time.Second, func() { r.Hook(h) })
			}
			r.Settle(5 * time.Minute)
			require.NoError(r, rec.Webhooks(context.Background()))
		}
		require.NotContains(r, r.Notices(), "Webhooks")
	})
}

// People are notified once that many cards would move at once, with what to do, over restarts and
// however long it lasts; and once more when it comes again.
func TestBrakeIsTold(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		const title = "acme/app: many cards would move at once"
		var items []string
		many := func() {
			for range 6 {
				items = append(items, r.Card(App, "x"))
				r.MoveUnseen(App, items[len(items)-1], stage.StatusToAnalyse)
			}
		}
		many()
		r.Settle(10 * time.Minute)
		require.Equal(r, 1, titles(r, title))
		require.Contains(r, r.Notices(), "6 cards, of 6 that stand where a person asks for something, were not acted on and are not now")
		require.Contains(r, r.Notices(), "Look at the board and put back what nobody wants")
		r.Shutdown()
		r.Start()
		r.Settle(10 * time.Minute)
		require.Equal(r, 1, titles(r, title), "once, over a restart")
		require.Empty(r, r.Roles())
		require.Contains(r, view(r), "6 work items of acme/app would change at once")
		r.MoveUnseen(App, items[0], stage.StatusBlocked) // what the message says to do: few are left
		r.Settle(10 * time.Minute)
		require.Len(r, r.Roles(), 5)
		require.Equal(r, 1, titles(r, title))
		many()
		r.Settle(10 * time.Minute)
		require.Equal(r, 2, titles(r, title), "it has come again")
		require.Empty(r, r.Silent())
	})
}

// While webhooks wait for our accounts the board is no sign that they were lost.
func TestReconcilerWaitsForOurAccounts(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		r.Board.SetIdentified(false)
		r.Begin("x")
		lose(r, 1)
		r.Settle(time.Hour)
		require.NoError(r, rec.Webhooks(context.Background()))
		require.Empty(r, titles(r, "Webhooks have stopped"))
		require.Len(r, r.Open(), 1, "nothing is replayed")
		r.Board.SetIdentified(true)
		r.Settle(5 * time.Minute)
		require.Equal(r, 2, r.Ran(stage.Analyst), "and what was lost is found then")
	})
}

// The brake on one board is reported once, whatever the other one of the repository does.
func TestBrakeOfOneBoardOfTwo(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Projects[0].MoreBoards = []task.Board{{TrackerProject: "p-web", Prefix: "WEB"}}
		r.Board.AddProject("p-web")
		r.Features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board, Brake: 5})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}, func(r *Rig) {
		for range 6 {
			r.MoveUnseen("p-web", r.Card("p-web", "x"), stage.StatusToAnalyse)
		}
		r.Settle(10 * time.Minute)
		require.Equal(r, 1, titles(r, "acme/app: many cards would move at once"))
		require.Empty(r, r.Roles())
	})
}
