package wip_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// The feature is a rule of who may start.
func Example() {
	projects, err := task.NewProjects(task.Project{TrackerProject: "app", Repo: "acme/app", CloneURL: "u", Prefix: "APP", WIP: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := wip.New(wip.Options{Parts: orchestrator.Parts{Store: memstore.New(nil), Projects: projects}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l.Feature().Name, l.Feature().Admission[0].Closed)
	fmt.Println(l.Feature().Show(context.Background()))
	// Output:
	// wip waits until the places of its repository can be counted
	// {true [{acme/app 2 [] []}]} <nil>
}
