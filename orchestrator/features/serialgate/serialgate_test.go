package serialgate_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// gated makes a rig with the serial gate on.
func gated(t *testing.T, repos []string, f func(*Rig, *serialgate.Gate)) {
	t.Helper()
	var gate *serialgate.Gate
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency = 8
		r.Features = func() []orchestrator.Feature {
			var err error
			gate, err = serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: repos})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature()}
		}
	}, func(r *Rig) { f(r, gate) })
}

func TestSerialGate(t *testing.T) {
	gated(t, []string{"*"}, func(r *Rig, _ *serialgate.Gate) {
		first, second, third := r.Card(App, "one"), r.Card(App, "two"), r.Card(App, "three")
		other := r.Card(Self, "elsewhere")
		for _, c := range []struct{ p, item string }{{App, first}, {App, second}, {App, third}, {Self, other}} {
			r.Move(c.p, c.item, stage.StatusToAnalyse)
			r.Settle(100 * time.Millisecond)
		}
		r.Settle(10 * time.Second)
		require.Equal(r, 2, r.Ran(stage.Analyst), "one of each repository")
		r.Waits(first, stage.HoldApproval)
		x := r.Explain(second)
		require.Equal(r, "The analyst waits for a place: one task at a time in acme/app, and APP-1 (task 1) is before it (serial gate)", x.Summary)
		require.Equal(r, "Wait until APP-1 (task 1) is done, or stop it", x.Blockers[0].Do)
		require.Empty(r, r.Place.Remote(AppRepo, r.Task(second).Branch), "the branch of a waiting task is not made yet")

		r.Set(first, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(first, stage.Done)
		require.Equal(r, stage.HoldApproval, r.Task(second).State.Hold, "the next one begins")
		require.NotEmpty(r, r.Place.Remote(AppRepo, r.Task(second).Branch))
		require.Contains(r, r.Explain(third).Summary, "APP-2 (task 2)", "the reason is that of today")
		v, err := explain.ReadQueue(context.Background(), r.Engine)
		require.NoError(r, err)
		body, err := json.Marshal(v)
		require.NoError(r, err)
		require.Contains(r, string(body), `"serial_gate":{"enabled":true`)
	})
}

func TestSerialGateOfOtherRepositories(t *testing.T) {
	gated(t, []string{"acme/self"}, func(r *Rig, _ *serialgate.Gate) {
		one, two := r.Card(App, "one"), r.Card(App, "two")
		r.Set(one, stage.StatusToAnalyse)
		r.Set(two, stage.StatusToAnalyse)
		r.Settle(500 * time.Millisecond)
		require.NotEmpty(r, r.Place.Remote(AppRepo, r.Task(one).Branch), "as without the gate")
		r.Settle(10 * time.Second)
		require.Equal(r, 2, r.Ran(stage.Analyst))
	})
}

func TestFreeze(t *testing.T) {
	gated(t, []string{"*"}, func(r *Rig, gate *serialgate.Gate) {
		ctx := context.Background()
		running := r.Begin("running")
		r.Settle(10 * time.Second)
		require.NoError(r, gate.Freeze(ctx, AppRepo, 0, "task 7 is degraded"))
		r.Set(running, stage.StatusApproved)
		r.Settle(time.Minute)
		require.Equal(r, stage.Done, r.Task(running).State.Stage, "what has begun goes on")
		next := r.Begin("next")
		r.Settle(10 * time.Second)
		x, err := explain.One(ctx, r.Engine, r.Task(next).ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, "task 7 is degraded (freeze)")
		frozen, err := gate.Frozen(ctx)
		require.NoError(r, err)
		require.Len(r, frozen, 1)
		require.Equal(r, []string{AppRepo, "task 7 is degraded"}, []string{frozen[0].Repo, frozen[0].Reason})
		r.Shutdown()
		r.Start() // a freeze survives a restart
		was, reason, err := gate.Unfreeze(ctx, "ACME/app")
		require.NoError(r, err)
		require.True(r, was)
		require.Equal(r, "task 7 is degraded", reason)
		was, _, err = gate.Unfreeze(ctx, AppRepo)
		require.NoError(r, err)
		require.False(r, was)
		r.Settle(10 * time.Second)
		r.Waits(next, stage.HoldApproval)
	})
}

// lineless is a store in which no task is found before another.
type lineless struct{ *memstore.Store }

func (s lineless) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	if f.BeforeID != 0 && f.TrackerIssueID == "" {
		return nil, errors.New("the index is broken")
	}
	return s.Store.Tasks(ctx, f)
}

// The gate clause fails open: what cannot be read holds nobody. The freeze is in
// the claim itself: where that cannot be read, nothing is claimed.
func TestSerialGateFailsOpen(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Deps = func(d *orchestrator.Deps) { d.Store = lineless{r.Store} }
		r.Features = func() []orchestrator.Feature {
			gate, err := serialgate.New(serialgate.Options{Parts: orchestrator.Parts{Store: lineless{r.Store}, Projects: &task.Projects{}}, Repos: []string{"*"}})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature()}
		}
	}, func(r *Rig) {
		one, two := r.Card(App, "one"), r.Card(App, "two")
		r.Set(one, stage.StatusToAnalyse)
		r.Set(two, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		require.Equal(r, 2, r.Ran(stage.Analyst))
	})
}

// What a version of before has left behind, or what ended beside a kill, is put right.
func TestSerialGatePutsRight(t *testing.T) {
	gated(t, []string{"*"}, func(r *Rig, gate *serialgate.Gate) {
		ctx := context.Background()
		one := r.Begin("one")
		r.Settle(time.Second)
		two := r.Begin("two")
		r.Settle(10 * time.Second)
		r.Shutdown()
		stale := queue.Hold{Subject: admit.Subjects(AppRepo, r.Task(one).ID)[1], Name: serialgate.Name, Reason: "stale"}
		require.NoError(r, r.Store.Hold(ctx, stale))
		require.NoError(r, gate.Freeze(ctx, AppRepo, 0, "stays"))
		r.Start()
		r.Settle(10 * time.Second)
		held, err := r.Store.Holds(ctx)
		require.NoError(r, err)
		got := map[string]string{}
		for _, h := range held {
			got[h.Subject] = h.Name + ": " + h.Reason
		}
		require.Equal(r, map[string]string{
			admit.Subjects(AppRepo, r.Task(two).ID)[1]: "serial_gate: waits for a place: one task at a time in acme/app, and APP-1 (task 1) is before it",
			"analyst@acme/app":                         "freeze: stays",
		}, got)
	})
}

func TestSerialGateRefuses(t *testing.T) {
	s := memstore.New(nil)
	_, err := serialgate.New(serialgate.Options{Parts: orchestrator.Parts{Store: s, Projects: &task.Projects{}}, Repos: []string{"app"}})
	require.ErrorContains(t, err, `"app"`)
}

// Two processes begin tasks of one repository at the same moment: neither sees
// the other's while it decides, and yet only one begins.
func TestSerialGateOfReplicas(t *testing.T) {
	slow := orchestrator.Feature{Name: "slow", On: func(_ context.Context, m any) error {
		if c, ok := m.(orchestrator.Change); ok && c.With != nil {
			time.Sleep(50 * time.Millisecond) // after the gate has looked, and before the commit
		}
		return nil
	}}
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency, r.Options.EventWorkers = 8, 1 // a second worker would wait for the lock of the process, which stops the clock
		r.Features = func() []orchestrator.Feature {
			gate, err := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{"*"}})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature(), slow}
		}
	}, func(r *Rig) {
		r.Start() // a second process over the same store
		items := []string{r.Card(App, "one"), r.Card(App, "two"), r.Card(App, "three")}
		for _, item := range items {
			r.Set(item, stage.StatusToAnalyse)
		}
		r.Settle(20 * time.Second)
		require.Equal(r, 1, r.Ran(stage.Analyst), "one begins")
		held, err := r.Store.Holds(context.Background())
		require.NoError(r, err)
		require.Len(r, held, 2, "and two wait for it")
	})
}
