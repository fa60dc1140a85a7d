package stage_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// The machine names the gates of the row that an event meets, takes their verdict, and decides.
func Example() {
	m, err := stage.New(stage.Default(), stage.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := stage.State{Stage: stage.Development, Head: "c0ffee"}
	e := stage.Event{On: stage.OnCI}

	edge, _ := m.Edge(s, e)
	fmt.Println("judge:", edge.Gates)

	e.Verdict = stage.Verdict{Outcome: stage.Red, Reason: "unit tests failed"}
	d := m.Decide(s, e)
	fmt.Println("stage:", d.State.Stage)
	fmt.Println("launch:", d.Launch.Role, "with", d.Launch.Feedback)
	fmt.Println("because", d.Notes[0])
	// Output:
	// judge: [check_ci_green check_work_done check_protected_paths]
	// stage: development
	// launch: developer with unit tests failed
	// because retry 1 of 3: unit tests failed
}
