package retention_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// How long things are kept is written in days or hours.
func Example() {
	o := retention.Options{Parts: orchestrator.Parts{Store: memstore.New(nil), Projects: &task.Projects{}}, KeepDeliveries: retention.LeastDeliveries}
	fmt.Println(o.KeepJobs.UnmarshalText([]byte("30d")), o.KeepLogs.UnmarshalText([]byte("soon")))
	f, err := retention.Feature(o)
	fmt.Println(f.Name, o.KeepJobs, o.KeepDeliveries, err)
	// Output:
	// <nil> "soon", want days or hours such as 30d or 36h, or 0 for ever
	// retention 30d 7d <nil>
}
