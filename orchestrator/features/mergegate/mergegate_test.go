package mergegate_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

func TestNewRefuses(t *testing.T) {
	_, err := mergegate.New(mergegate.Options{})
	require.ErrorContains(t, err, "are required")
}

// Whatever the machine decides: with the gate, nothing is merged that was not
// tested on a base, and a task that leaves the gate's hands gives its lease back.
func TestRule(t *testing.T) {
	triggers := []stage.Trigger{
		stage.OnCI, stage.OnConfirmDeploy, stage.OnMergeFailed, stage.OnMergeDone, stage.OnPRMerged, stage.OnStop, stage.OnAgentFinished,
		orchestrator.OnCaughtUp,
	}
	phases := []stage.Phase{"", stage.PhaseAwait, stage.PhaseMerge, stage.PhaseRelease, stage.PhaseCatchUp, stage.PhaseRetest}
	stages := []stage.Stage{stage.Development, stage.DeployStaging, stage.Deploy, stage.Done, stage.Cancelled}
	rapid.Check(t, func(t *rapid.T) {
		state := func(label string) stage.State {
			s := stage.State{Stage: rapid.SampledFrom(stages).Draw(t, label), Head: "h"}
			s.Phase = rapid.SampledFrom(phases).Draw(t, label+" phase")
			s.Gated, s.Leased = true, rapid.Bool().Draw(t, label+" leased")
			s.Tested = rapid.SampledFrom([]string{"", "h"}).Draw(t, label+" tested")
			return s
		}
		s, d := state("before"), stage.Decision{State: state("after"), Moved: true}
		if rapid.Bool().Draw(t, "merges") {
			d.Effects = append(d.Effects, stage.Effect{Kind: stage.EffectMerge, SHA: "h"})
		}
		e := stage.Event{On: rapid.SampledFrom(triggers).Draw(t, "trigger"), Moved: rapid.Bool().Draw(t, "main moved")}
		got := mergegate.Rule(s, e, d)
		released := false
		for _, f := range got.Effects {
			require.NotEqual(t, stage.EffectMerge, f.Kind, "only the gate merges")
			if f.Kind == orchestrator.EffectGatedMerge {
				require.NotEmpty(t, f.Tested)
			}
			if f.Kind == stage.EffectAskCI {
				require.Equal(t, stage.PhaseCatchUp, d.State.Phase)
				require.Equal(t, stage.DeployStaging, d.State.Stage, "what is sent back is not tested")
			}
			released = released || f.Kind == orchestrator.EffectRelease
		}
		n := got.State
		ended := n.Stage == stage.Done || n.Stage == stage.Cancelled || n.Stage == stage.Development
		if got.Moved && s.Leased && ended {
			require.True(t, released, "the lease is given back")
			require.False(t, n.Leased)
		}
	})
}

// A task that began without the gate goes on without it.
func TestRuleLeavesOthers(t *testing.T) {
	s := stage.State{Stage: stage.Deploy, Head: "h"}
	d := stage.Decision{State: s, Moved: true, Effects: []stage.Effect{{Kind: stage.EffectMerge, SHA: "h"}}}
	require.Equal(t, d, mergegate.Rule(s, stage.Event{}, d))
}

// A task in the gate goes on under the program after the one that wrote it: its state is read and written as before.
func TestStateOfBefore(t *testing.T) {
	const old = `{"stage":"deploy-staging","phase":"re-test","seq":9,"run":6,"head":"h","gated":true,"leased":true,` +
		`"lined_up":"2026-05-04T09:00:00Z","leased_at":"2026-05-04T10:00:00Z","base":"m","tested":"h","retests":2,"self_hosting":true}`
	var s stage.State
	require.NoError(t, json.Unmarshal([]byte(old), &s))
	d := mergegate.Rule(s, stage.Event{On: stage.OnRetry}, stage.Decision{State: s, Moved: true})
	now, err := json.Marshal(d.State)
	require.NoError(t, err)
	require.Equal(t, old, string(now))
}

func TestCovers(t *testing.T) {
	own, other := task.Project{Repo: "acme/own", SelfHosting: true}, task.Project{Repo: "Acme/App"}
	for _, c := range []struct {
		repos      []string
		own, other bool
	}{{nil, true, false}, {[]string{"acme/app"}, false, true}, {[]string{"*"}, true, true}} {
		g := mergegate.For(c.repos)
		require.Equal(t, c.own, g.Covers(own), "%v", c.repos)
		require.Equal(t, c.other, g.Covers(other), "%v", c.repos)
	}
}

// Wherever a task has gone while its branch was brought up to date: what was pushed is known.
func TestWhatWasPushedIsKnown(t *testing.T) {
	feature := mergegate.For(nil).Feature()
	pipeline := stage.Default()
	pipeline.When = map[stage.Condition]func(stage.State) bool{}
	pipeline = feature.Pipeline(pipeline)
	m, err := stage.New(pipeline, stage.Options{}, feature.Rules...)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom(pipeline.Stages).Filter(func(i stage.Info) bool { return !i.Sink }).Draw(t, "stage")
		s := stage.State{Stage: at.Stage, Head: "h", Pushed: "h", MergeGate: stage.MergeGate{Gated: true}}
		s.Phase = rapid.SampledFrom([]stage.Phase{"", stage.PhaseAwait, stage.PhaseCatchUp, stage.PhaseRetest}).Draw(t, "phase")
		s.Hold = rapid.SampledFrom([]stage.Hold{"", stage.HoldApproval, stage.HoldNeedsInput, stage.HoldBlocked}).Draw(t, "hold")
		s.Active = rapid.SampledFrom([]stage.Role{"", at.Role}).Draw(t, "at work")
		green := stage.Derived{Verdict: stage.Verdict{Outcome: stage.Green}}
		d := m.Decide(s, stage.Event{On: orchestrator.OnCaughtUp, SHA: "onto main", Derived: green})
		require.Equal(t, "onto main", d.State.Pushed)
	})
}

// What the host's own queue tests neither has the lease nor is compared with what was tested here.
func TestRuleOfAHostsQueue(t *testing.T) {
	s := stage.State{Stage: stage.DeployStaging, Phase: stage.PhaseCatchUp, Head: "h"}
	d := mergegate.Rule(s, stage.Event{On: orchestrator.OnCaughtUp, SHA: "h", Outside: true}, stage.Decision{State: s, Moved: true})
	require.False(t, d.State.Leased)
	require.Equal(t, stage.PhaseRetest, d.State.Phase)
	for base, landed := range map[string]int{"": 0, "m": 1} {
		s = stage.State{Stage: stage.Deploy, Phase: stage.PhaseRelease, Head: "h"}
		s.Tested, s.Base = "h", base
		d = mergegate.Rule(s, stage.Event{On: stage.OnMergeDone, SHA: "x"}, stage.Decision{State: s, Moved: true})
		require.Len(t, d.Effects, landed)
	}
}
