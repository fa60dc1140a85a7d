package memqueue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/memqueue"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

func TestConformance(t *testing.T) {
	queuetest.Run(t, func(_ *testing.T, now func() time.Time) queuetest.Queue { return memqueue.New(now) })
}

// Two jobs of one key run one after the other; a held subject keeps a third
// from running, and Waiting says so.
func Example() {
	ctx := context.Background()
	q := memqueue.New(func() time.Time { return time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC) })
	_, _ = q.Put(ctx,
		queue.Job{Pool: "agents", Kind: "build", Key: "task/1"},
		queue.Job{Pool: "agents", Kind: "test", Key: "task/1"},
		queue.Job{Pool: "agents", Kind: "build", Key: "task/2", Holds: []string{"repo/acme/app"}})
	_ = q.Hold(ctx, queue.Hold{Subject: "repo/acme/app", Name: "freeze", Reason: "the last deployment is degraded"})

	claims, _ := q.Take(ctx, "agents", "worker-1", 10, time.Minute)
	fmt.Println("claimed:", claims[0].Job.Kind, "of", claims[0].Job.Key)
	waits, _ := q.Waiting(ctx, queue.Filter{})
	for _, w := range waits[1:] {
		fmt.Println(w.Job.Kind, w.Job.Key, "waits:", w.Reasons[0].Text)
	}
	_ = q.Finish(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDone})
	claims, _ = q.Take(ctx, "agents", "worker-1", 10, time.Minute)
	fmt.Println("claimed:", claims[0].Job.Kind, "of", claims[0].Job.Key)
	// Output:
	// claimed: build of task/1
	// test task/1 waits: job 1 with the same key comes first
	// build task/2 waits: the last deployment is degraded (freeze)
	// claimed: test of task/1
}
