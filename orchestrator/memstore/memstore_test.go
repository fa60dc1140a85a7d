package memstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/storetest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, now func() time.Time) storetest.Store { return memstore.New(now) })
	queuetest.Run(t, func(_ *testing.T, now func() time.Time) queuetest.Queue { return memstore.New(now) })
}

// A delivery that comes twice is taken once.
func Example() {
	s := memstore.New(nil)
	d := task.Delivery{Source: "plane", ID: "4ad1", BodyHash: "9f86d081", ReceivedAt: time.Now()}
	for range 2 {
		duplicate, err := s.Receive(context.Background(), d, queue.Job{Pool: queue.PoolEvents, Kind: "tracker"})
		fmt.Println(duplicate, err)
	}
	// Output:
	// false <nil>
	// true <nil>
}
