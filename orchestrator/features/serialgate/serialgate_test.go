package serialgate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
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
			gate, err = serialgate.New(serialgate.Options{Store: r.Store, Holds: r.Store, Inspector: r.Store, Repos: repos})
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
		x = r.Explain(third)
		require.Contains(r, x.Summary, "APP-2 (task 2)", "the reason is that of today")
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

// blind is a store whose tasks cannot be listed.
type blind struct{ *memstore.Store }

func (blind) Tasks(context.Context, task.Filter) ([]task.Task, error) {
	return nil, errors.New("the index is broken")
}

// The gate clause fails open: what cannot be read holds nobody. The freeze is in
// the claim itself: where that cannot be read, nothing is claimed.
func TestSerialGateFailsOpen(t *testing.T) {
	s := memstore.New(nil)
	blindGate := func() *serialgate.Gate {
		gate, err := serialgate.New(serialgate.Options{Store: blind{s}, Holds: s, Inspector: s, Repos: []string{"*"}})
		require.NoError(t, err)
		return gate
	}
	gate := blindGate()
	f := gate.Feature()
	var with task.Commit
	begun := orchestrator.Change{Task: task.Task{ID: 2, Repo: AppRepo, State: stage.State{Stage: stage.Analysis}}, Blind: errors.New("the index is broken")}
	require.Error(t, f.Holds(t.Context(), begun, &with))
	require.Equal(t, task.Commit{}, with)
	require.Error(t, gate.Repair(t.Context()))
	Run(t, func(r *Rig) {
		r.Deps = func(d *orchestrator.Deps) { d.Store = lineless{r.Store} }
		r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{blindGate().Feature()} }
	}, func(r *Rig) {
		one, two := r.Card(App, "one"), r.Card(App, "two")
		r.Set(one, stage.StatusToAnalyse)
		r.Set(two, stage.StatusToAnalyse)
		r.Settle(20 * time.Second)
		require.Equal(r, 2, r.Ran(stage.Analyst))
	})
}

// What a failure in between left behind is put right.
func TestSerialGateRepairs(t *testing.T) {
	ctx := t.Context()
	s := memstore.New(nil)
	gate, err := serialgate.New(serialgate.Options{Store: s, Holds: s, Inspector: s, Repos: []string{"*"}})
	require.NoError(t, err)
	for id := int64(1); id <= 3; id++ {
		row := task.Task{ID: id, Repo: AppRepo, TrackerIssueID: fmt.Sprint(id), WorkItemID: fmt.Sprint("APP-", id), Branch: fmt.Sprint(id), State: stage.State{Stage: stage.Analysis}}
		if id == 1 {
			row.State.Stage = stage.Done
		}
		require.NoError(t, s.Commit(ctx, task.Commit{Task: &row}))
	}
	analyst := func(id int64) string { return orchestrator.RoleInTask(stage.Analyst, id) }
	require.NoError(t, s.Hold(ctx, queue.Hold{Subject: analyst(2), Name: serialgate.Name, Reason: "stale"}, queue.Hold{Subject: analyst(9), Name: serialgate.Name}))
	require.NoError(t, gate.Freeze(ctx, AppRepo, 0, "stays"))
	require.NoError(t, gate.Repair(ctx))
	held, err := s.Holds(ctx)
	require.NoError(t, err)
	got := map[string]string{}
	for _, h := range held {
		got[h.Subject] = h.Name + ": " + h.Reason
	}
	require.Equal(t, map[string]string{analyst(3): "serial_gate: waits for a place: one task at a time in acme/app, and APP-2 (task 2) is before it", "analyst@acme/app": "freeze: stays"}, got)
	require.NoError(t, gate.Repair(ctx), "again is a success")
}

func TestSerialGateRefuses(t *testing.T) {
	_, err := serialgate.New(serialgate.Options{})
	require.ErrorContains(t, err, "required")
	s := memstore.New(nil)
	_, err = serialgate.New(serialgate.Options{Store: s, Holds: s, Inspector: s, Repos: []string{"app"}})
	require.ErrorContains(t, err, `"app"`)
}

// A repository that the gate does not cover has the same trace as with the gate off and
// without any gate.
func TestSerialGateOffIsTheBase(t *testing.T) {
	story := func(features func(r *Rig) []orchestrator.Feature) (out []string) {
		Run(t, func(r *Rig) {
			if features != nil {
				r.Features = func() []orchestrator.Feature { return features(r) }
			}
		}, func(r *Rig) {
			item := r.Finish("x")
			entries, err := r.Store.Journal(context.Background(), r.Task(item).ID)
			require.NoError(r, err)
			for _, e := range entries {
				out = append(out, string(e.Payload))
			}
		})
		return out
	}
	base := story(nil)
	require.NotEmpty(t, base)
	require.Equal(t, base, story(func(r *Rig) []orchestrator.Feature {
		gate, err := serialgate.New(serialgate.Options{Store: r.Store, Holds: r.Store, Inspector: r.Store, Repos: []string{"acme/self"}})
		require.NoError(r, err)
		return []orchestrator.Feature{gate.Feature()}
	}))
}

// Two processes begin tasks of one repository at the same moment: neither sees
// the other's while it decides, and yet only one begins.
func TestSerialGateOfReplicas(t *testing.T) {
	slow := orchestrator.Feature{Name: "slow", Holds: func(context.Context, orchestrator.Change, *task.Commit) error {
		time.Sleep(50 * time.Millisecond) // after the gate has looked, and before the commit
		return nil
	}}
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency, r.Options.EventWorkers = 8, 1 // a second worker would wait for the lock of the process, which stops the clock
		r.Features = func() []orchestrator.Feature {
			gate, err := serialgate.New(serialgate.Options{Store: r.Store, Holds: r.Store, Inspector: r.Store, Repos: []string{"*"}, Every: time.Hour})
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
