package deps_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
)

func Example() {
	store := memstore.New(nil)
	d, err := deps.New(deps.Options{Store: store, Table: store, Jobs: store})
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
