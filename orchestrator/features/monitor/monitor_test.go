package monitor_test

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
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// health sets what a probe will see.
type health struct {
	mu       sync.Mutex
	look     monitor.Look
	failures int // of the next start; 0 = the default
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
func watched(t *testing.T, f func(*Rig, *health, *serialgate.Gate)) {
	t.Helper()
	h := &health{look: monitor.Good}
	var gate *serialgate.Gate
	Run(t, func(r *Rig) {
		for i := range r.Projects {
			r.Projects[i].Monitor = []string{"https://x.example.org/health"}
		}
		r.Features = func() []orchestrator.Feature {
			var err error
			gate, err = serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{"*"}})
			require.NoError(r, err)
			m, err := monitor.Feature(monitor.Options{Parts: r.Parts(), Probe: h.probe, Freeze: gate.Freeze, Failures: h.failures})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature(), m}
		}
	}, func(r *Rig) { f(r, h, gate) })
}

// result returns the result of a monitor by the story; empty while it looks.
func result(r *Rig, item string) string {
	r.Helper()
	entries, err := r.Store.Journal(context.Background(), r.Task(item).ID)
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
	watched(t, func(r *Rig, h *health, _ *serialgate.Gate) {
		item := r.Card(Self, "x")
		r.ToDone(Self, item)
		r.Move(Self, item, stage.StatusConfirmDeploy)
		r.Settle(time.Minute)
		require.Equal(r, stage.StatusMonitoring, r.Status(Self, item))
		h.set(monitor.Bad) // twice bad is not three times in a row
		r.Settle(55 * time.Second)
		h.set(monitor.Good)
		r.Shutdown()
		var err error
		r.Registry, err = task.NewProjects(r.Projects...)
		require.NoError(r, err)
		r.Start() // and a restart loses nothing
		was := r.Registry.Now()
		r.Engine.Replace(&task.Projects{}) // nor does a registry that names it no more for a while
		r.Settle(time.Minute)
		r.Engine.Replace(was)
		r.Settle(5 * time.Minute)
		require.Empty(r, result(r, item))
		r.Settle(12 * time.Minute)
		require.Equal(r, monitor.Healthy, result(r, item))
		require.Equal(r, stage.StatusDone, r.Status(Self, item))
		require.Empty(r, r.Open())
		require.Positive(r, r.Replays())
	})
}

// A repository for which the registry names no address is not looked at.
func TestNothingToLookAt(t *testing.T) {
	watched(t, func(r *Rig, h *health, _ *serialgate.Gate) {
		r.Shutdown()
		for i := range r.Projects {
			r.Projects[i].Monitor = nil
		}
		r.Start()
		item := r.Finish("x")
		h.set(monitor.Bad)
		r.Settle(20 * time.Minute)
		require.Empty(r, result(r, item))
		require.Equal(r, stage.StatusDone, r.Status(App, item))
	})
}

func TestMonitorDegraded(t *testing.T) {
	watched(t, func(r *Rig, h *health, gate *serialgate.Gate) {
		item := r.Finish("x")
		require.Equal(r, stage.StatusDone, r.Status(App, item))
		h.set(monitor.Bad)
		r.Settle(3 * time.Minute)
		require.Equal(r, monitor.Degraded, result(r, item))
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))
		require.Contains(r, r.Notices(), "DEGRADED after deployment: https://x.example.org/health: seen")
		frozen, err := gate.Frozen(context.Background())
		require.NoError(r, err)
		require.Len(r, frozen, 1)
		require.Contains(r, frozen[0].Reason, "APP-1")
		x := r.Explain(item)
		require.Equal(r, "the monitor saw DEGRADED: https://x.example.org/health: seen", x.LastNote)
		require.Equal(r, "The task is done. After that, the monitor saw DEGRADED: https://x.example.org/health: seen", x.Summary)
		r.Stands(item, stage.Done)
		require.Empty(r, r.Open())
		_, err = r.Store.Put(context.Background(), orchestrator.TriggerJob(orchestrator.Effect{TaskID: r.Task(item).ID, Repo: AppRepo, Key: "late"}, stage.Event{On: stage.OnPublished, PR: 7}))
		require.NoError(r, err)
		r.Settle(time.Minute)
		late := r.Explain(item)
		require.NotEqual(r, x.LastNote, late.LastNote)
		require.Equal(r, "The task is done. After that, the monitor saw DEGRADED: https://x.example.org/health: seen", late.Summary, "an event that is too late hides nothing")

		how := "acme/app is frozen: no task of it begins until an operator ends that, with the button Unfreeze of the dashboard (Repositories) or signalbox unfreeze acme/app."
		require.Contains(r, r.Notices(), how)
		require.True(r, r.Commented(App, item, how))
		next := r.Begin("next")
		r.Settle(time.Minute)
		require.Equal(r, "Run signalbox unfreeze acme/app, or press Unfreeze on the dashboard (Repositories)", r.Explain(next).Blockers[0].Do)
		was, _, err := gate.Unfreeze(context.Background(), AppRepo)
		require.NoError(r, err)
		require.True(r, was)
		r.Settle(time.Second)
		require.Contains(r, r.Notices(), "acme/app is not frozen any more: its tasks may begin.")
		require.True(r, r.Commented(App, item, "acme/app is not frozen any more: its tasks may begin."))
	})
}

// The repository of the service itself is not frozen: else it could not be mended.
func TestMonitorOfTheServiceItselfOnlyAlerts(t *testing.T) {
	watched(t, func(r *Rig, h *health, gate *serialgate.Gate) {
		item := r.Card(Self, "x")
		r.ToDone(Self, item)
		h.set(monitor.Bad)
		r.Move(Self, item, stage.StatusConfirmDeploy)
		r.Settle(5 * time.Minute)
		require.Equal(r, monitor.Degraded, result(r, item))
		require.Equal(r, stage.StatusBlocked, r.Status(Self, item), "Done is for what is healthy")
		require.True(r, r.Commented(Self, item, "The deployment is degraded: https://x.example.org/health: seen"))
		require.Contains(r, r.Notices(), "DEGRADED")
		require.NotContains(r, r.Notices(), "frozen")
		frozen, err := gate.Frozen(context.Background())
		require.NoError(r, err)
		require.Empty(r, frozen)
	})
}

// What a later deployment has replaced is not blamed for it, also where one bad look is enough.
func TestMonitorOfWhatWasReplaced(t *testing.T) {
	for _, failures := range []int{3, 1} {
		watched(t, func(r *Rig, h *health, _ *serialgate.Gate) {
			r.Shutdown()
			h.failures = failures
			r.Start()
			one := r.Finish("one")
			r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				if c.Stage == stage.Deploy {
					h.set(monitor.Bad)
				}
				return GoodAgent(ctx, c, files)
			})
			two := r.Finish("two")
			r.Settle(5 * time.Minute)
			require.Equal(r, []string{"REPLACED", monitor.Degraded}, []string{result(r, one), result(r, two)})
			require.Equal(r, stage.StatusDone, r.Status(App, one))
		})
	}
}

// A probe that does not work changes nothing, and ends no freeze.
func TestMonitorInconclusive(t *testing.T) {
	watched(t, func(r *Rig, h *health, gate *serialgate.Gate) {
		require.NoError(r, gate.Freeze(context.Background(), "acme/self", 0, "stays"))
		h.set(monitor.Unknown)
		item := r.Finish("x")
		moves := len(r.Board.Moves())
		r.Settle(20 * time.Minute)
		require.Equal(r, monitor.Inconclusive, result(r, item))
		require.Len(r, r.Board.Moves(), moves)
		frozen, err := gate.Frozen(context.Background())
		require.NoError(r, err)
		require.Len(r, frozen, 1)
	})
}
