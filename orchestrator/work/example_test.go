package work_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// Nobody pushes to a protected branch, in any role.
func Example() {
	var spaces work.Workspaces = memwork.New(nil)
	s := work.Workspace{Repo: "acme/app", CloneURL: "u", Main: "main", Branch: "main", WorkItem: "APP-1"}
	err := spaces.Push(context.Background(), s, "0badc0ffee", "")
	fmt.Println(errors.Is(err, work.ErrProtected))
	// Output: true
}
