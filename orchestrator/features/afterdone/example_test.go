package afterdone_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/afterdone"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// The feature adds two rows to the pipeline: an undo goes its way as any other task.
func Example() {
	f, err := afterdone.Feature(afterdone.Options{Parts: orchestrator.Parts{Store: memstore.New(nil), Projects: &task.Projects{}}, Freeze: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := f.Pipeline(stage.Default())
	for _, e := range p.Edges[len(stage.Default().Edges):] {
		fmt.Println(e.On, "→", e.To+":", e.Why)
	}
	// Output:
	// undo → development: what has landed is taken back
	// reverted → development: the revert is made; CI decides
}
