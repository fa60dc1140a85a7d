package budget_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

func Example() {
	store := memstore.New(nil)
	b, err := budget.New(budget.Options{Parts: orchestrator.Parts{Store: store, Projects: &task.Projects{}}, Caps: budget.Caps{Task: 5_000_000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Feature().Name)
	fmt.Println(b.Spent(context.Background(), "acme/app"))
	// Output:
	// budget
	// 0 <nil>
}
