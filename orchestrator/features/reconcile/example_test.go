package reconcile_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

func Example() {
	_, err := reconcile.New(reconcile.Options{Tracker: memtracker.New(nil)})
	fmt.Println(err)
	r, err := reconcile.New(reconcile.Options{})
	fmt.Println(r.Feature().Name, err)
	fmt.Println(r.Webhooks(context.Background()))
	// Output:
	// reconcile: Options.Board is required with Tracker
	// reconcile <nil>
	// <nil>
}
