package agentpause_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

func Example() {
	_, err := agentpause.New(orchestrator.Parts{})
	fmt.Println(err)
	store := memstore.New(nil)
	f, err := agentpause.New(orchestrator.Parts{Store: store, Projects: &task.Projects{}, Agents: memwork.New(nil)})
	fmt.Println(f.Feature().Name, err)
	// Output:
	// agentpause: Parts.Store and Projects are required
	// agent_pause <nil>
}
