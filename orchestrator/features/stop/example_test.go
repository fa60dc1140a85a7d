package stop_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// STOP ends a task at once, but for the middle of a deployment.
func ExampleRule() {
	m, err := stage.New(stage.Default(), stage.Options{}, stop.Rule)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := m.Decide(stage.State{Stage: stage.Testing, Active: stage.Tester}, stage.Event{On: stage.OnStop})
	fmt.Println(d.State.Stage, d.Cancel)
	d = m.Decide(stage.State{Stage: stage.Deploy, Phase: stage.PhaseMerge}, stage.Event{On: stage.OnStop})
	fmt.Println(d.State.Stage, d.State.Stopping)
	d = m.Decide(d.State, stage.Event{On: stage.OnMergeFailed, Reason: "conflict"})
	fmt.Println(d.State.Stage)
	// Output:
	// cancelled true
	// deploy true
	// cancelled
}
