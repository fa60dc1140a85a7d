package remotes_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/remotes"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// The feature is a loop, and shows when it has looked at which repository.
func Example() {
	parts := orchestrator.Parts{Store: memstore.New(nil), Projects: &task.Projects{}, Host: memhost.New()}
	f, err := remotes.Feature(remotes.Options{Parts: parts})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Name, len(f.Loops))
	fmt.Println(f.Show(context.Background()))
	// Output:
	// remotes 1
	// {true []} <nil>
}
