package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// gated makes a rig with the serial gate on.
func gated(t *testing.T, repos []string, f func(*rig, *serialgate.Gate)) {
	t.Helper()
	var gate *serialgate.Gate
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency = 8
		r.features = func() []orchestrator.Feature {
			var err error
			gate, err = serialgate.New(serialgate.Options{Store: r.store, Holds: r.store, Lister: r.store, Repos: repos})
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature()}
		}
	}, func(r *rig) { f(r, gate) })
}

func TestSerialGate(t *testing.T) {
	gated(t, []string{"*"}, func(r *rig, _ *serialgate.Gate) {
		first, second, third := r.card(appProject, "one"), r.card(appProject, "two"), r.card(appProject, "three")
		other := r.card(selfProject, "elsewhere")
		for _, c := range []struct{ p, item string }{{appProject, first}, {appProject, second}, {appProject, third}, {selfProject, other}} {
			r.move(c.p, c.item, stage.StatusToAnalyse)
			r.settle(100 * time.Millisecond)
		}
		r.settle(10 * time.Second)
		require.Equal(r, 2, count(r.roles(), stage.Analyst), "one of each repository")
		require.Equal(r, stage.HoldApproval, r.task(first).State.Hold)
		x, err := r.engine.Explain(context.Background(), r.task(second).ID)
		require.NoError(r, err)
		require.Equal(r, "The analyst waits for a place: one task at a time in acme/app, and APP-1 (task 1) is before it (serial gate)", x.Summary)
		require.Equal(r, "Wait until APP-1 (task 1) is done, or stop it", x.Blockers[0].Do)
		require.Empty(r, r.place.Remote(appRepo, r.task(second).Branch), "the branch of a waiting task is not made yet")

		r.move(appProject, first, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(first).State.Stage)
		require.Equal(r, stage.HoldApproval, r.task(second).State.Hold, "the next one begins")
		require.NotEmpty(r, r.place.Remote(appRepo, r.task(second).Branch))
		x, err = r.engine.Explain(context.Background(), r.task(third).ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, "APP-2 (task 2)", "the reason is that of today")
		v, err := r.engine.QueueView(context.Background())
		require.NoError(r, err)
		body, err := json.Marshal(v)
		require.NoError(r, err)
		require.Contains(r, string(body), `"serial_gate":{"enabled":true`)
	})
}

func TestSerialGateOfOtherRepositories(t *testing.T) {
	gated(t, []string{selfRepo}, func(r *rig, _ *serialgate.Gate) {
		one, two := r.card(appProject, "one"), r.card(appProject, "two")
		r.move(appProject, one, stage.StatusToAnalyse)
		r.move(appProject, two, stage.StatusToAnalyse)
		r.settle(500 * time.Millisecond)
		require.NotEmpty(r, r.place.Remote(appRepo, r.task(one).Branch), "as without the gate")
		r.settle(10 * time.Second)
		require.Equal(r, 2, count(r.roles(), stage.Analyst))
	})
}

func TestFreeze(t *testing.T) {
	gated(t, []string{"*"}, func(r *rig, gate *serialgate.Gate) {
		ctx := context.Background()
		running := r.card(appProject, "running")
		r.move(appProject, running, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.NoError(r, gate.Freeze(ctx, appRepo, "task 7 is degraded"))
		r.move(appProject, running, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(running).State.Stage, "what has begun goes on")
		next := r.card(appProject, "next")
		r.move(appProject, next, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		x, err := r.engine.Explain(ctx, r.task(next).ID)
		require.NoError(r, err)
		require.Contains(r, x.Summary, "task 7 is degraded (freeze)")
		frozen, err := gate.Frozen(ctx)
		require.NoError(r, err)
		require.Len(r, frozen, 1)
		require.Equal(r, []string{appRepo, "task 7 is degraded"}, []string{frozen[0].Repo, frozen[0].Reason})
		r.shutdown()
		r.start() // a freeze survives a restart
		was, reason, err := gate.Unfreeze(ctx, "ACME/app")
		require.NoError(r, err)
		require.True(r, was)
		require.Equal(r, "task 7 is degraded", reason)
		was, _, err = gate.Unfreeze(ctx, appRepo)
		require.NoError(r, err)
		require.False(r, was)
		r.settle(10 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(next).State.Hold)
	})
}

// lineless is a store in which nobody can be found who stands before another.
type lineless struct{ *memstore.Store }

func (s lineless) Tasks(ctx context.Context, f orchestrator.TaskFilter) ([]orchestrator.Task, error) {
	if f.BeforeID != 0 {
		return nil, errors.New("the index is broken")
	}
	return s.Store.Tasks(ctx, f)
}

// blind is a store whose tasks cannot be listed.
type blind struct{ *memstore.Store }

func (blind) Tasks(context.Context, orchestrator.TaskFilter) ([]orchestrator.Task, error) {
	return nil, errors.New("the index is broken")
}

// The gate clause fails open: what cannot be read holds nobody. The freeze is in
// the claim itself: where that cannot be read, nothing is claimed.
func TestSerialGateFailsOpen(t *testing.T) {
	s := memstore.New(nil)
	blindGate := func() *serialgate.Gate {
		gate, err := serialgate.New(serialgate.Options{Store: blind{s}, Holds: s, Lister: s, Repos: []string{"*"}})
		require.NoError(t, err)
		return gate
	}
	gate := blindGate()
	f := gate.Feature()
	hold, free, err := f.Holds(t.Context(), orchestrator.Change{Task: orchestrator.Task{ID: 2, Repo: appRepo, State: stage.State{Stage: stage.Analysis}}, Blind: errors.New("the index is broken")})
	require.Error(t, err)
	require.Empty(t, hold)
	require.Empty(t, free)
	require.Error(t, gate.Repair(t.Context()))
	runWith(t, func(r *rig) {
		r.decides = lineless{r.store}
		r.features = func() []orchestrator.Feature { return []orchestrator.Feature{blindGate().Feature()} }
	}, func(r *rig) {
		one, two := r.card(appProject, "one"), r.card(appProject, "two")
		r.move(appProject, one, stage.StatusToAnalyse)
		r.move(appProject, two, stage.StatusToAnalyse)
		r.settle(20 * time.Second)
		require.Equal(r, 2, count(r.roles(), stage.Analyst))
	})
}

// What a failure in between left behind is put right.
func TestSerialGateRepairs(t *testing.T) {
	ctx := t.Context()
	s := memstore.New(nil)
	gate, err := serialgate.New(serialgate.Options{Store: s, Holds: s, Lister: s, Repos: []string{"*"}})
	require.NoError(t, err)
	for id := int64(1); id <= 3; id++ {
		task := orchestrator.Task{ID: id, Repo: appRepo, TrackerIssueID: fmt.Sprint(id), WorkItemID: fmt.Sprint("APP-", id), Branch: fmt.Sprint(id), State: stage.State{Stage: stage.Analysis}}
		if id == 1 {
			task.State.Stage = stage.Done
		}
		require.NoError(t, s.Commit(ctx, orchestrator.Commit{Task: &task}))
	}
	analyst := func(id int64) string { return orchestrator.RoleInTask(stage.Analyst, id) }
	require.NoError(t, s.Hold(ctx, queue.Hold{Subject: analyst(2), Name: serialgate.Name, Reason: "stale"}, queue.Hold{Subject: analyst(9), Name: serialgate.Name}))
	require.NoError(t, gate.Freeze(ctx, appRepo, "stays"))
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
	_, err = serialgate.New(serialgate.Options{Store: s, Holds: s, Lister: s, Repos: []string{"app"}})
	require.ErrorContains(t, err, `"app"`)
}

// With the gate off, a repository that it does not cover and no gate at all tell
// the same story.
func TestSerialGateOffIsTheBase(t *testing.T) {
	story := func(features func(r *rig) []orchestrator.Feature) (out []string) {
		runWith(t, func(r *rig) {
			if features != nil {
				r.features = func() []orchestrator.Feature { return features(r) }
			}
		}, func(r *rig) {
			item := r.card(appProject, "x")
			r.toDone(appProject, item)
			entries, err := r.store.Journal(context.Background(), r.task(item).ID)
			require.NoError(r, err)
			for _, e := range entries {
				out = append(out, string(e.Payload))
			}
		})
		return out
	}
	base := story(nil)
	require.NotEmpty(t, base)
	require.Equal(t, base, story(func(r *rig) []orchestrator.Feature {
		gate, err := serialgate.New(serialgate.Options{Store: r.store, Holds: r.store, Lister: r.store, Repos: []string{selfRepo}})
		require.NoError(r, err)
		return []orchestrator.Feature{gate.Feature()}
	}))
}
