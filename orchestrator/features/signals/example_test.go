package signals_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/signals"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// What is measured goes to the meter of the engine that the feature is given to.
func Example() {
	store := memstore.New(nil)
	f, err := signals.Feature(signals.Options{Parts: orchestrator.Parts{Store: store, Projects: &task.Projects{}}})
	fmt.Println(f.Name, err)
	// Output: signals <nil>
}
