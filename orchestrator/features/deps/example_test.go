package deps_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

func Example() {
	store := memstore.New(nil)
	d, err := deps.New(deps.Options{Parts: orchestrator.Parts{Store: store, Projects: &task.Projects{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rule := range d.Feature().Admission {
		fmt.Println(rule.Name)
	}
	// Output:
	// task_deps
	// task_deps_cycle
}
