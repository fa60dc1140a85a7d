package documents_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What a person may say of a task that waits for one; of one at which an agent works there is nothing to say.
func Example() {
	fmt.Println(documents.Words(stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval}))
	fmt.Println(documents.Words(stage.State{Stage: stage.Development, Active: stage.Developer}))
	// Output:
	// [approved rejected]
	// []
}
