package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// lose moves new cards that no webhook tells of, a pass for each.
func (r *rig) lose(n int) {
	for range n {
		r.place0(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		r.settle(time.Minute)
	}
}

// titles counts the notices with a title.
func (r *rig) titles(title string) int {
	n := 0
	for line := range strings.Lines(r.notices()) {
		if strings.HasPrefix(line, title+" | ") {
			n++
		}
	}
	return n
}

// Webhooks that have stopped while boards move are told of once, over restarts and
// however long it lasts; that they come again is told once too; and a second outage
// is a new one.
func TestWebhooksHaveStopped(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		const stopped, again = "Webhooks have stopped", "Webhooks come again"
		r.move(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		r.settle(time.Hour) // nobody moves anything: that is no outage
		r.lose(2)
		require.Zero(r, r.titles(stopped))
		r.settle(time.Hour) // a quiet hour does not end it
		r.lose(1)
		require.Equal(r, 1, r.titles(stopped))
		require.Contains(r, r.notices(), "Boards have moved 3 times and no webhook has come since")
		r.lose(2)
		r.shutdown()
		r.start()
		r.lose(5)
		require.Equal(r, 1, r.titles(stopped), "once, over a restart")
		require.Zero(r, r.titles(again))
		r.move(appProject, r.card(appProject, "y"), stage.StatusToAnalyse)
		r.settle(5 * time.Minute)
		require.Equal(r, []int{1, 1}, []int{r.titles(stopped), r.titles(again)})
		r.settle(time.Hour)
		r.lose(3)
		require.Equal(r, []int{2, 1}, []int{r.titles(stopped), r.titles(again)}, "a new outage")
		require.Empty(r, r.silent(), "they make a sound")
	})
}

// What webhooks tell and what they do not is known to readiness, after a restart too.
func TestReadinessKnowsOfWebhooks(t *testing.T) {
	var rec *reconcile.Reconciler
	reconciledAs(t, &rec, func(r *rig) {
		ready := func() error { return rec.Webhooks(context.Background()) }
		require.NoError(r, ready())
		r.lose(3)
		require.ErrorContains(r, ready(), "without webhooks")
		r.shutdown()
		r.start()
		require.NoError(r, ready(), "nothing is known yet")
		r.settle(2 * time.Minute)
		require.ErrorContains(r, ready(), "people were told at")
		r.move(appProject, r.card(appProject, "y"), stage.StatusToAnalyse)
		r.settle(2 * time.Minute)
		require.NoError(r, ready())
	})
}

// One webhook among many that are lost is enough: they have not stopped.
func TestSomeWebhooksAreLost(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		for range 5 {
			r.lose(2)
			r.move(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
			r.settle(time.Minute)
		}
		require.NoError(r, rec.Webhooks(context.Background()))
		require.NotContains(r, r.notices(), "Webhooks")
	})
}

// More moves than the brake lets through are moves all the same; a tracker that
// does not answer says nothing.
func TestWebhooksBehindTheBrake(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		r.board.FailWith(errors.New("503"))
		r.settle(time.Hour)
		require.NoError(r, rec.Webhooks(context.Background()))
		r.board.FailWith(nil)
		for range 6 {
			r.place0(appProject, r.card(appProject, "x"), stage.StatusToAnalyse)
		}
		r.settle(5 * time.Minute)
		require.Equal(r, 1, r.titles("Webhooks have stopped"))
		require.Contains(r, r.notices(), "Boards have moved 6 times")
		require.Empty(r, r.roles())
	})
}

// Events that are stored and cannot be worked off are not lost, however many passes find
// their cards unchanged: neither those of webhooks nor one that was lost and is replayed.
func TestStoredIsNotLost(t *testing.T) {
	var board *locked
	runWith(t, func(r *rig) {
		board = &locked{Board: r.board}
		r.tracker = board
	}, func(r *rig) {
		rec, err := reconcile.New(reconcile.Options{Tracker: r.board, Board: r.board, Brake: 2, Source: "plane"})
		require.NoError(r, err)
		pass := func(n int) {
			for range n {
				r.settle(time.Minute)
				require.NoError(r, rec.Pass(context.Background(), r.engine))
			}
		}
		board.lock(true)
		var items []string
		for range 4 { // more than the brake lets through, if they were lost
			items = append(items, r.card(appProject, "x"))
			r.move(appProject, items[len(items)-1], stage.StatusToAnalyse)
		}
		pass(10)
		lost := r.card(appProject, "y")
		r.place0(appProject, lost, stage.StatusToAnalyse)
		pass(10)
		require.NoError(r, rec.Webhooks(context.Background()))
		require.Empty(r, r.notices())
		board.lock(false)
		r.settle(10 * time.Minute)
		for _, item := range append(items, lost) {
			require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
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
		return tracker.Item{}, noAnswerError{}
	}
	return l.Board.Item(ctx, project, item)
}

// Moves whose webhooks are on their way when a pass finds them are no outage.
func TestWebhooksOnTheirWay(t *testing.T) {
	reconciled(t, func(r *rig, rec *reconcile.Reconciler) {
		for range 5 {
			for range 4 {
				item := r.card(appProject, "x")
				r.place0(appProject, item, stage.StatusToAnalyse)
				h := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, ActorID: "kim", Status: true}
				time.AfterFunc(61*time.Second, func() { r.hook(h) })
			}
			r.settle(5 * time.Minute)
			require.NoError(r, rec.Webhooks(context.Background()))
		}
		require.NotContains(r, r.notices(), "Webhooks")
	})
}

// People hear once that many cards would move at once, with what to do, over restarts and
// however long it lasts; and once more when it comes again.
func TestBrakeIsTold(t *testing.T) {
	reconciled(t, func(r *rig, _ *reconcile.Reconciler) {
		const title = "acme/app: many cards would move at once"
		var items []string
		many := func() {
			for range 6 {
				items = append(items, r.card(appProject, "x"))
				r.place0(appProject, items[len(items)-1], stage.StatusToAnalyse)
			}
		}
		many()
		r.settle(10 * time.Minute)
		require.Equal(r, 1, r.titles(title))
		require.Contains(r, r.notices(), "6 cards, of 6 that stand where a person asks for something, were not acted on and are not now")
		require.Contains(r, r.notices(), "Look at the board and put back what nobody wants")
		r.shutdown()
		r.start()
		r.settle(10 * time.Minute)
		require.Equal(r, 1, r.titles(title), "once, over a restart")
		require.Empty(r, r.roles())
		r.place0(appProject, items[0], stage.StatusBlocked) // what the message says to do: few are left
		r.settle(10 * time.Minute)
		require.Len(r, r.roles(), 5)
		require.Equal(r, 1, r.titles(title))
		many()
		r.settle(10 * time.Minute)
		require.Equal(r, 2, r.titles(title), "it has come again")
		require.Empty(r, r.silent())
	})
}
