package mergegate_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

func TestNewRefuses(t *testing.T) {
	_, err := mergegate.New(mergegate.Options{})
	require.ErrorContains(t, err, "is required")
}

// Whatever the machine decides: with the gate, nothing is merged that was not
// tested on a base, and a task that leaves the gate's hands gives its lease back.
func TestRule(t *testing.T) {
	triggers := []stage.Trigger{stage.OnCI, stage.OnConfirmDeploy, stage.OnMergeFailed, stage.OnMergeDone, stage.OnPRMerged, stage.OnStop, stage.OnAgentFinished, stage.OnCaughtUp}
	phases := []stage.Phase{"", stage.PhaseAwait, stage.PhaseMerge, stage.PhaseRelease, stage.PhaseCatchUp, stage.PhaseRetest}
	stages := []stage.Stage{stage.Development, stage.DeployStaging, stage.Deploy, stage.Done, stage.Cancelled}
	rapid.Check(t, func(t *rapid.T) {
		state := func(label string) stage.State {
			return stage.State{
				Stage: rapid.SampledFrom(stages).Draw(t, label), Phase: rapid.SampledFrom(phases).Draw(t, label+" phase"), Gated: true, Head: "h",
				Leased: rapid.Bool().Draw(t, label+" leased"), Tested: rapid.SampledFrom([]string{"", "h"}).Draw(t, label+" tested"),
			}
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
			if f.Kind == stage.EffectGatedMerge {
				require.NotEmpty(t, f.Tested)
			}
			released = released || f.Kind == stage.EffectRelease
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

func TestOrdinal(t *testing.T) {
	for n, want := range map[int]string{2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 22: "22nd", 103: "103rd", 112: "112th"} {
		require.Equal(t, want, mergegate.Ordinal(n))
	}
}
