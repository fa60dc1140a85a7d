package waitcomment_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// The feature is a loop of the engine that is given it.
func Example() {
	_, err := waitcomment.Feature(orchestrator.Parts{})
	fmt.Println(err)
	f, err := waitcomment.Feature(orchestrator.Parts{Store: memstore.New(nil), Projects: &task.Projects{}})
	fmt.Println(f.Name, f.Loops[0].Name, err)
	// Output:
	// waitcomment: Parts.Store and Projects are required
	// wait_comment loop <nil>
}
