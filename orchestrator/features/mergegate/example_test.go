package mergegate_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A task of which a person has said that it may be deployed is not merged before
// its branch stands on the newest main.
func Example() {
	s := stage.State{Stage: stage.Deploy, Head: "c0ffee", Pushed: "c0ffee", MergeGate: stage.MergeGate{Gated: true}}
	merge := stage.Decision{State: s, Moved: true, Effects: []stage.Effect{{Kind: stage.EffectMerge, SHA: s.Head}}}
	merge.State.Phase = stage.PhaseMerge

	d := mergegate.Rule(s, stage.Event{On: stage.OnConfirmDeploy}, merge)
	fmt.Println(d.State.Stage, d.State.Phase)
	for _, e := range d.Effects {
		if e.SHA != "" {
			fmt.Println(e.Kind, e.SHA)
		}
	}
	// Output:
	// deploy-staging catch-up
	// catch_up c0ffee
}
