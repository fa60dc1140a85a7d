package traces_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/traces"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// The feature is given to an engine, with the store that has the journal.
func Example() {
	store := memstore.New(nil)
	f, err := traces.Feature(traces.Options{Parts: orchestrator.Parts{Store: store, Projects: &task.Projects{}}, URL: secret.New("http://127.0.0.1:4318")})
	fmt.Println(f.Name, err)
	// Output: traces <nil>
}
