package agentpause_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

func Example() {
	_, err := agentpause.New(agentpause.Options{})
	fmt.Println(err)
	store := memstore.New(nil)
	f, err := agentpause.New(agentpause.Options{
		Store: store, Pauses: store, Projects: &task.Projects{}, Jobs: store, Agents: memwork.New(nil),
	})
	fmt.Println(f.Feature().Name, err)
	// Output:
	// agentpause: Options.Store, Pauses, Projects, Jobs and Agents are required
	// agent_pause <nil>
}
