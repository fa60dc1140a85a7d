package benchengine

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/internal/intercept"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// counter counts the calls of a store, and the rows that go over its port: what a call
// returns, and what it hands in.
type counter struct{ calls, rows atomic.Int64 }

func (c *counter) count(_ context.Context, call *intercept.Call, next func() error) error {
	c.calls.Add(1)
	for _, v := range call.In {
		c.rows.Add(rows(v))
	}
	err := next()
	c.rows.Add(rows(call.Out))
	return err
}

// rows are those of an argument or of a result.
func rows(v any) int64 {
	switch v := v.(type) {
	case task.Task:
		return 1
	case task.Commit:
		return int64(1 + len(v.Journal) + len(v.Gates) + len(v.Runs) + len(v.Jobs) + len(v.Hold) + len(v.Free))
	case queue.Claim:
		return 1
	case queue.Outcome:
		return int64(len(v.Then))
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		return int64(list.Len())
	}
	return 0
}
