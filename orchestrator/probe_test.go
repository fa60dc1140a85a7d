package orchestrator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// answers is a deployment: what it says at each look.
type answers struct {
	says func(look int) (string, error)
	read []string
}

func (a *answers) Commit(_ context.Context, address string) (string, error) {
	a.read = append(a.read, address)
	return a.says(len(a.read))
}

const (
	stagingProbe = "https://staging.example.org/version"
	elsewhere    = "0123456789abcdef0123456789abcdef01234567"
)

// probing is a rig whose staging says which commit it runs: what its deployer was sent out
// with comes with every answer.
func probing(t *testing.T, change func(*Rig), says func(look int, wanted string) (string, error), f func(*Rig, *answers)) {
	t.Helper()
	wanted := ""
	a := &answers{says: func(look int) (string, error) { return says(look, wanted) }}
	Run(t, func(r *Rig) {
		r.Projects[0].Probe = task.Probe{Staging: stagingProbe}
		r.Deps = func(d *orchestrator.Deps) { d.Probe = a }
		if change != nil {
			change(r)
		}
	}, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Deployer, func(_ context.Context, cmd work.Command, files map[string]string) work.Result {
			if cmd.Stage == stage.DeployStaging {
				wanted = cmd.Env["SIGNALBOX_SHA"]
			}
			files[work.ReportPath] = "---\nverdict: success\nsha: " + cmd.Env["SIGNALBOX_SHA"] + "\nsummary: it is up\n---\n"
			return work.Result{Kind: work.ResultOK, Usage: memwork.Usage()}
		}))
		f(r, a)
	})
}

// A deployment needs time: it is looked at until it runs the commit.
func TestProbeIsWaitedFor(t *testing.T) {
	probing(t, nil, func(look int, wanted string) (string, error) {
		switch look {
		case 1:
			return "", errors.New("502 Bad Gateway")
		case 2:
			return elsewhere, nil
		default:
			return wanted[:12], nil
		}
	}, func(r *Rig, a *answers) {
		item := r.Finish("x")
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, []string{stagingProbe, stagingProbe, stagingProbe}, a.read)
		results := read(r, r.Store.GateResults, r.Task(item).ID)
		seen := ""
		for _, g := range results {
			for _, e := range g.Verdict.Evidence {
				if e.Kind == "probe" {
					seen = e.Name + " " + e.Note
				}
			}
		}
		require.Contains(r, seen, stagingProbe+" it runs ")
		r.Replays()
	})
}

// A deployer's report of success without the deployment is refuted by the probe.
func TestProbeOfAnotherCommit(t *testing.T) {
	probing(t, nil, func(int, string) (string, error) { return elsewhere, nil }, func(r *Rig, a *answers) {
		item := r.Finish("x")
		r.Settle(15 * time.Minute)
		require.NotEqual(r, stage.Done, r.Task(item).State.Stage)
		require.NotEqual(r, stage.Deploy, r.Task(item).State.Stage)
		require.Greater(r, len(a.read), 30, "it has had its time")
		entries := read(r, r.Store.Journal, r.Task(item).ID)
		var notes []string
		for _, e := range entries {
			if rec, err := e.Recorded(); err == nil {
				notes = append(notes, rec.Decision.Notes...)
			}
		}
		require.True(r, contains(notes, stagingProbe+" says that 0123456789ab is deployed, not "), "%q", notes)
	})
}

// What has come up late the reconciler finds, without another run of the deployer.
func TestProbeIsReadAgain(t *testing.T) {
	var up atomic.Bool
	late := func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			rec, err := reconcile.New(reconcile.Options{Tracker: r.Board, Board: r.Board, Brake: 5, Sources: []string{"plane"}})
			require.NoError(r, err)
			return []orchestrator.Feature{rec.Feature()}
		}
	}
	probing(t, late, func(_ int, wanted string) (string, error) {
		if !up.Load() {
			return "", errors.New("no such host")
		}
		return wanted, nil
	}, func(r *Rig, _ *answers) {
		item := r.Finish("x")
		r.Settle(2 * time.Hour)
		require.Equal(r, []any{stage.DeployStaging, stage.HoldBlocked}, []any{r.Task(item).State.Stage, r.Task(item).State.Hold})
		before := count(r.Roles(), stage.Deployer)
		up.Store(true)
		r.Settle(15 * time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, before+1, count(r.Roles(), stage.Deployer), "that of production alone")
	})
}

// What does not answer proves nothing: the deployer runs again, and at last a person decides.
func TestProbeThatIsSilent(t *testing.T) {
	probing(t, nil, func(int, string) (string, error) { return "", errors.New("no such host") }, func(r *Rig, _ *answers) {
		item := r.Finish("x")
		r.Settle(2 * time.Hour)
		require.Equal(r, []any{stage.DeployStaging, stage.HoldBlocked}, []any{r.Task(item).State.Stage, r.Task(item).State.Hold})
		require.Contains(r, r.Task(item).State.HoldReason, "does not say which commit is deployed: no such host")
	})
}
