package features_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// The engine is built with the features that are switched on, and with those that have no switch.
func Example() {
	place := memwork.New(nil)
	parts := features.Parts{
		Parts:  orchestrator.Parts{Store: memstore.New(nil), Projects: &task.Projects{}, Host: memhost.New(), Workspaces: place, Agents: place},
		Leases: memlease.New(nil),
		Merger: orchestrator.RunnerFunc(func(context.Context, orchestrator.Effect) queue.Outcome { return queue.Outcome{} }),
	}
	made, err := features.Set{Stop: true, WIP: true}.Make(parts)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range made.List {
		fmt.Println(f.Name)
	}
	// Output:
	// stop
	// wip
	// merge_gate
	// remotes
	// retention
	// signals
}
