package traces_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/traces"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// The feature is given to an engine, with the store that has the journal.
func Example() {
	store := memstore.New(nil)
	f, err := traces.Feature(traces.Options{URL: secret.New("http://127.0.0.1:4318"), Store: store, Records: store})
	fmt.Println(f.Name, err)
	// Output: traces <nil>
}
