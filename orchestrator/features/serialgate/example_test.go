package serialgate_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// A repository is frozen until somebody says otherwise.
func Example() {
	ctx, s := context.Background(), memstore.New(nil)
	gate, err := serialgate.New(serialgate.Options{Parts: orchestrator.Parts{Store: s, Projects: &task.Projects{}}, Repos: []string{"*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = gate.Freeze(ctx, "acme/app", 0, "the last deployment is degraded")
	fmt.Println(gate.Unfreeze(ctx, "acme/app"))
	fmt.Println(gate.Unfreeze(ctx, "acme/app"))
	// Output:
	// true the last deployment is degraded <nil>
	// false  <nil>
}
