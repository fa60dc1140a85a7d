package orchestrator_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// health is what a probe will see.
type health struct {
	mu   sync.Mutex
	look monitor.Look
}

func (h *health) set(l monitor.Look) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look = l
}

func (h *health) probe(context.Context, string) (monitor.Look, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.look, "seen"
}

// watched makes a rig with the monitor and the serial gate on.
func watched(t *testing.T, f func(*rig, *health, *serialgate.Gate)) {
	t.Helper()
	h := &health{look: monitor.Good}
	var gate *serialgate.Gate
	runWith(t, func(r *rig) {
		for i := range r.project {
			r.project[i].Monitor = []string{"https://x.example.org/health"}
		}
		r.features = func() []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			gate, err = serialgate.New(serialgate.Options{Store: r.store, Holds: r.store, Lister: r.store, Repos: []string{"*"}})
			require.NoError(r, err)
			m, err := monitor.Feature(monitor.Options{Store: r.store, Projects: projects, Jobs: r.store, Probe: h.probe, Freeze: gate.Freeze})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature(), m}
		}
	}, func(r *rig) { f(r, h, gate) })
}

// result is what the story says of a monitor; empty while it looks.
func (r *rig) result(item string) string {
	r.Helper()
	entries, err := r.store.Journal(context.Background(), r.task(item).ID)
	require.NoError(r, err)
	for _, e := range entries {
		var p struct{ Result string }
		if e.Kind == "monitor" {
			require.NoError(r, json.Unmarshal(e.Payload, &p))
			return p.Result
		}
	}
	return ""
}

func TestMonitorHealthy(t *testing.T) {
	watched(t, func(r *rig, h *health, _ *serialgate.Gate) {
		item := r.card(selfProject, "x")
		r.toDone(selfProject, item)
		r.move(selfProject, item, stage.StatusConfirmDeploy)
		r.settle(time.Minute)
		require.Equal(r, stage.StatusMonitoring, r.status(selfProject, item))
		h.set(monitor.Bad) // twice bad is not three times in a row
		r.settle(55 * time.Second)
		h.set(monitor.Good)
		r.shutdown()
		r.start() // and a restart loses nothing
		r.settle(5 * time.Minute)
		require.Empty(r, r.result(item))
		r.settle(12 * time.Minute)
		require.Equal(r, monitor.Healthy, r.result(item))
		require.Equal(r, stage.StatusDone, r.status(selfProject, item))
		require.Empty(r, r.open())
		require.Positive(r, r.replays())
	})
}

func TestMonitorDegraded(t *testing.T) {
	watched(t, func(r *rig, h *health, gate *serialgate.Gate) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, stage.StatusDone, r.status(appProject, item))
		h.set(monitor.Bad)
		r.settle(3 * time.Minute)
		require.Equal(r, monitor.Degraded, r.result(item))
		require.Equal(r, stage.StatusBlocked, r.status(appProject, item))
		require.Contains(r, r.notices(), "DEGRADED after deployment: https://x.example.org/health: seen")
		frozen, err := gate.Frozen(context.Background())
		require.NoError(r, err)
		require.Len(r, frozen, 1)
		require.Contains(r, frozen[0].Reason, "APP-1")
		x, err := r.engine.Explain(context.Background(), r.task(item).ID)
		require.NoError(r, err)
		require.Equal(r, "monitor: DEGRADED: https://x.example.org/health: seen", x.LastNote)
		require.Equal(r, "The task is done. After that, monitor: DEGRADED: https://x.example.org/health: seen", x.Summary)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Empty(r, r.open())
		_, err = r.store.Put(context.Background(), orchestrator.TriggerJob(orchestrator.Effect{TaskID: r.task(item).ID, Repo: appRepo, Key: "late"}, stage.Event{On: stage.OnPublished, PR: 7}))
		require.NoError(r, err)
		r.settle(time.Minute)
		late, err := r.engine.Explain(context.Background(), r.task(item).ID)
		require.NoError(r, err)
		require.NotEqual(r, x.LastNote, late.LastNote)
		require.Equal(r, "The task is done. After that, monitor: DEGRADED: https://x.example.org/health: seen", late.Summary, "an event that is too late hides nothing")

		how := "acme/app is frozen: no task of it begins until an operator ends that, with the button Unfreeze of the dashboard (Repositories) or signalbox unfreeze acme/app."
		require.Contains(r, r.notices(), how)
		require.True(r, contains(r.comments(appProject, item), how))
		next := r.card(appProject, "next")
		r.move(appProject, next, stage.StatusToAnalyse)
		r.settle(time.Minute)
		x, err = r.engine.Explain(context.Background(), r.task(next).ID)
		require.NoError(r, err)
		require.Equal(r, "Run signalbox unfreeze acme/app, or press Unfreeze on the dashboard (Repositories)", x.Blockers[0].Do)
		was, reason, err := gate.Unfreeze(context.Background(), appRepo)
		require.NoError(r, err)
		require.True(r, was)
		require.NoError(r, r.engine.TellUnfrozen(context.Background(), appRepo, reason))
		r.settle(time.Second)
		require.Contains(r, r.notices(), "acme/app is not frozen any more: its tasks may begin.")
		require.True(r, contains(r.comments(appProject, item), "acme/app is not frozen any more: its tasks may begin."))
	})
}

// The repository of the service itself is not frozen: else it could not be mended.
func TestMonitorOfTheServiceItselfOnlyAlerts(t *testing.T) {
	watched(t, func(r *rig, h *health, gate *serialgate.Gate) {
		item := r.card(selfProject, "x")
		r.toDone(selfProject, item)
		h.set(monitor.Bad)
		r.move(selfProject, item, stage.StatusConfirmDeploy)
		r.settle(5 * time.Minute)
		require.Equal(r, monitor.Degraded, r.result(item))
		require.Equal(r, stage.StatusDone, r.status(selfProject, item), "it is not looked at any more")
		require.True(r, contains(r.comments(selfProject, item), "The deployment is degraded: https://x.example.org/health: seen"))
		require.Contains(r, r.notices(), "DEGRADED")
		require.NotContains(r, r.notices(), "frozen")
		frozen, err := gate.Frozen(context.Background())
		require.NoError(r, err)
		require.Empty(r, frozen)
	})
}

// A probe that does not work changes nothing, and ends no freeze.
func TestMonitorInconclusive(t *testing.T) {
	watched(t, func(r *rig, h *health, gate *serialgate.Gate) {
		require.NoError(r, gate.Freeze(context.Background(), selfRepo, "stays"))
		h.set(monitor.Unknown)
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		moves := len(r.board.Moves())
		r.settle(20 * time.Minute)
		require.Equal(r, monitor.Inconclusive, r.result(item))
		require.Len(r, r.board.Moves(), moves)
		frozen, err := gate.Frozen(context.Background())
		require.NoError(r, err)
		require.Len(r, frozen, 1)
	})
}

func TestMonitorRefuses(t *testing.T) {
	_, err := monitor.Feature(monitor.Options{})
	require.ErrorContains(t, err, "required")
}
