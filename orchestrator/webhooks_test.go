package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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
		require.Empty(r, r.roles())
	})
}
