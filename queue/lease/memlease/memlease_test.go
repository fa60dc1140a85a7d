package memlease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/queue/lease/leasetest"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

func TestConformance(t *testing.T) {
	leasetest.Run(t, func(_ *testing.T, now func() time.Time) lease.Locker { return memlease.New(now) })
}

// Two tasks are to merge into one repository; the second has to wait.
func Example() {
	ctx := context.Background()
	l := memlease.New(nil)
	first, _ := l.Acquire(ctx, "acme/app", "task/1", time.Minute)
	_, err := l.Acquire(ctx, "acme/app", "task/2", time.Minute)
	fmt.Println(errors.Is(err, lease.ErrHeld))
	_ = l.Release(ctx, first)
	second, err := l.Acquire(ctx, "acme/app", "task/2", time.Minute)
	fmt.Println(second.Holder, second.Epoch > first.Epoch, err)
	// Output:
	// true
	// task/2 true <nil>
}
