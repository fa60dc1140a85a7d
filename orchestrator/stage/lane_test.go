package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A lane is some of the stages in their order, a pipeline of its own by the rules of all; what is none has a way out.
func TestLanes(t *testing.T) {
	p := stage.Default()
	fix := stage.Lane{Name: "fix", Stages: []stage.Stage{stage.Development, stage.Review, stage.Deploy}}
	for want, lanes := range map[string][]stage.Lane{
		"":                                   {fix, {Name: "plan", Stages: []stage.Stage{stage.Analysis, stage.Development, stage.Deploy}}},
		"lane fix is there twice":            {fix, fix},
		`lane is "Fix!", want small letters`: {{Name: "Fix!", Stages: fix.Stages}},
		"and not full, which is the way":     {{Name: stage.WholeLane, Stages: fix.Stages}},
		"lane x: stages are [development reviews deploy], want some of analysis, architecture, ": {
			{Name: "x", Stages: []stage.Stage{stage.Development, "reviews", stage.Deploy}},
		},
		"deploy-staging, deploy, in this order and each once": {{Name: "x", Stages: []stage.Stage{stage.Development, stage.Deploy, stage.Done}}},
		"lane x: stages are [development testing review deploy], want": {
			{Name: "x", Stages: []stage.Stage{stage.Development, stage.Testing, stage.Review, stage.Deploy}},
		},
		"lane x: stages are [development deploy deploy], want": {{Name: "x", Stages: []stage.Stage{stage.Development, stage.Deploy, stage.Deploy}}},
		"lane x: development and deploy are missing: ":         {fix, {Name: "x", Stages: []stage.Stage{stage.Development, stage.Review}}},
		"lane y: development and deploy are missing: e":        {{Name: "y"}},
	} {
		p.Lanes = lanes
		_, err := stage.New(p, stage.Options{})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	p.Lanes = []stage.Lane{fix}
	require.NoError(t, p.CheckLane(stage.WholeLane))
	require.EqualError(t, p.CheckLane("fast"), `there is no lane "fast", want full or fix`)
	require.Equal(t, stage.Analysis, p.First(stage.State{}))
	require.Equal(t, stage.Development, p.First(stage.State{Lane: "fix"}))
	require.True(t, p.Lacks(stage.State{Lane: "fix"}, stage.Testing))
	require.False(t, p.Lacks(stage.State{Lane: "fix"}, stage.Done))
	require.False(t, p.Lacks(stage.State{}, stage.Testing))
}
