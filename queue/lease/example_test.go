package lease_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/queue/lease"
)

// A lease that has expired is granted to the next one under a higher epoch.
func ExampleGrant() {
	now := time.Date(2031, 1, 1, 12, 0, 0, 0, time.UTC)
	first, _ := lease.Grant(lease.Lease{}, "acme/app", "task/1", now, time.Minute)
	_, err := lease.Grant(first, "acme/app", "task/2", now.Add(30*time.Second), time.Minute)
	fmt.Println(errors.Is(err, lease.ErrHeld), err)
	second, err := lease.Grant(first, "acme/app", "task/2", now.Add(time.Minute), time.Minute)
	fmt.Println(second.Holder, second.Epoch, err)
	// Output:
	// true lease: acme/app is held by task/1 until 2031-01-01T12:01:00Z
	// task/2 2 <nil>
}
