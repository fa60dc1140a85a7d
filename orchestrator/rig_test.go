package orchestrator_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// reconciled makes a rig with the reconciler and STOP on.
func reconciled(t *testing.T, f func(*Rig, *reconcile.Reconciler)) {
	t.Helper()
	var rec *reconcile.Reconciler
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			var err error
			rec, err = reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board, Brake: 5, Sources: []string{"plane"}})
			require.NoError(r, err)
			return []orchestrator.Feature{stopFeature(r), rec.Feature()}
		}
	}, func(r *Rig) { f(r, rec) })
}

// stoppable makes a rig with STOP on, and the serial gate beside it.
func stoppable(t *testing.T, f func(*Rig)) {
	t.Helper()
	stoppableWith(t, func(*Rig) {}, f)
}

func stoppableWith(t *testing.T, prepare, f func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		prepare(r)
		r.Features = func() []orchestrator.Feature {
			gate, err := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{AppRepo}})
			require.NoError(r, err)
			return []orchestrator.Feature{stopFeature(r), gate.Feature()}
		}
	}, f)
}

func stopFeature(r *Rig) orchestrator.Feature {
	r.Helper()
	s, err := stop.Feature(r.Parts())
	require.NoError(r, err)
	return s
}

func count[T comparable](list []T, want T) int {
	n := 0
	for _, v := range list {
		if v == want {
			n++
		}
	}
	return n
}

func contains(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}

// read asks a port, which is to answer.
func read[Q, A any](t testing.TB, port func(context.Context, Q) (A, error), of Q) A {
	t.Helper()
	answer, err := port(context.Background(), of)
	require.NoError(t, err)
	return answer
}

func runsOf(r *Rig, taskID int64) []task.AgentRun {
	return read(r, func(ctx context.Context, id int64) ([]task.AgentRun, error) { return r.Store.AgentRuns(ctx, id) }, taskID)
}

// cardOf is a card of the project App as the board shows it.
func cardOf(r *Rig, item string) tracker.Item {
	return read(r, func(ctx context.Context, id string) (tracker.Item, error) { return r.Board.Item(ctx, App, id) }, item)
}
