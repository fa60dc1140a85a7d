package main

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// counter is a store whose calls are counted, and the rows that go over its port:
// what a call returns, and what it hands in.
type counter struct {
	store
	calls, rows atomic.Int64
}

// call counts a call that hands in so many rows. It comes before the call itself.
func (c *counter) call(rows int) *counter {
	c.calls.Add(1)
	c.rows.Add(int64(rows))
	return c
}

// many counts the rows of a call that returns a list.
func many[T any](c *counter, list []T, err error) ([]T, error) {
	c.rows.Add(int64(len(list)))
	return list, err
}

// committed is how many rows a commit hands in.
func committed(c task.Commit) int {
	return 1 + len(c.Journal) + len(c.Gates) + len(c.Runs) + len(c.Jobs) + len(c.Hold) + len(c.Free)
}

// Every call is counted: one that is added to a port, and not counted here, would
// make a life look cheaper than it is.
func TestEveryCallIsCounted(t *testing.T) {
	port := reflect.TypeFor[interface {
		store
		task.Store
	}]()
	for m := range port.Methods() {
		if m.Name == "Wake" { // a channel in memory
			continue
		}
		c := &counter{} // without a store: a method that does not count panics before c.calls rises
		func() {
			defer func() { _ = recover() }()
			f := reflect.ValueOf(c).MethodByName(m.Name)
			var args []reflect.Value
			for i := range f.Type().NumIn() {
				args = append(args, reflect.Zero(f.Type().In(i)))
			}
			if f.Type().IsVariadic() {
				f.CallSlice(args)
			} else {
				f.Call(args)
			}
		}()
		require.EqualValues(t, 1, c.calls.Load(), "%s is counted", m.Name)
	}
}

func (c *counter) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	list, err := c.call(0).store.Tasks(ctx, f)
	return many(c, list, err)
}

func (c *counter) Journal(ctx context.Context, taskID int64) ([]task.JournalEntry, error) {
	list, err := c.call(0).store.Journal(ctx, taskID)
	return many(c, list, err)
}

func (c *counter) JournalSince(ctx context.Context, after int64, limit int) ([]task.JournalEntry, error) {
	list, err := c.call(0).store.JournalSince(ctx, after, limit)
	return many(c, list, err)
}

func (c *counter) JournalBefore(ctx context.Context, taskID, before int64, limit int) ([]task.JournalEntry, error) {
	list, err := c.call(0).store.JournalBefore(ctx, taskID, before, limit)
	return many(c, list, err)
}

func (c *counter) DecisionsAt(ctx context.Context, id int64) ([]task.JournalEntry, error) {
	list, err := c.call(0).store.DecisionsAt(ctx, id)
	return many(c, list, err)
}

func (c *counter) GateResults(ctx context.Context, taskID int64) ([]task.GateResult, error) {
	list, err := c.call(0).store.GateResults(ctx, taskID)
	return many(c, list, err)
}

func (c *counter) AgentRuns(ctx context.Context, taskID int64) ([]task.AgentRun, error) {
	list, err := c.call(0).store.AgentRuns(ctx, taskID)
	return many(c, list, err)
}

func (c *counter) RunsSince(ctx context.Context, repo string, since time.Time) ([]task.AgentRun, error) {
	list, err := c.call(0).store.RunsSince(ctx, repo, since)
	return many(c, list, err)
}

func (c *counter) Dependencies(ctx context.Context) ([]task.Dependency, error) {
	list, err := c.call(0).store.Dependencies(ctx)
	return many(c, list, err)
}

func (c *counter) Pauses(ctx context.Context) ([]task.Pause, error) {
	list, err := c.call(0).store.Pauses(ctx)
	return many(c, list, err)
}

func (c *counter) Reservations(ctx context.Context, repo string) ([]task.Reservation, error) {
	list, err := c.call(0).store.Reservations(ctx, repo)
	return many(c, list, err)
}

func (c *counter) DayCosts(ctx context.Context, since time.Time) ([]task.DayCost, error) {
	list, err := c.call(0).store.DayCosts(ctx, since)
	return many(c, list, err)
}

func (c *counter) Ended(ctx context.Context, limit int) ([]task.Task, error) {
	list, err := c.call(0).store.Ended(ctx, limit)
	return many(c, list, err)
}

func (c *counter) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	list, err := c.call(0).store.Take(ctx, pool, worker, n, ttl)
	return many(c, list, err)
}

func (c *counter) Cancel(ctx context.Context, taskID int64, pools ...string) ([]queue.Job, error) {
	list, err := c.call(0).store.Cancel(ctx, taskID, pools...)
	return many(c, list, err)
}

func (c *counter) Hasten(ctx context.Context, pool string, taskID int64) (int, error) {
	return c.call(0).store.Hasten(ctx, pool, taskID)
}

func (c *counter) Repeat(ctx context.Context, id int64) (int64, error) {
	return c.call(0).store.Repeat(ctx, id)
}

func (c *counter) PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (int, int64, error) {
	return c.call(0).store.PruneJobs(ctx, before, after, limit)
}

func (c *counter) PruneDeliveries(ctx context.Context, before time.Time, limit int) (int, error) {
	return c.call(0).store.PruneDeliveries(ctx, before, limit)
}

func (c *counter) Reap(ctx context.Context) ([]queue.Job, error) {
	list, err := c.call(0).store.Reap(ctx)
	return many(c, list, err)
}

func (c *counter) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	list, err := c.call(0).store.Waiting(ctx, f)
	return many(c, list, err)
}

func (c *counter) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	list, err := c.call(0).store.Jobs(ctx, f)
	return many(c, list, err)
}

func (c *counter) Holds(ctx context.Context) ([]queue.Hold, error) {
	list, err := c.call(0).store.Holds(ctx)
	return many(c, list, err)
}

func (c *counter) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	list, err := c.call(0).store.HoldsIn(ctx, from, before, limit)
	return many(c, list, err)
}

func (c *counter) Depth(ctx context.Context) ([]queue.Depth, error) {
	list, err := c.call(0).store.Depth(ctx)
	return many(c, list, err)
}

func (c *counter) NewTaskID(ctx context.Context) (int64, error) {
	return c.call(1).store.NewTaskID(ctx)
}

func (c *counter) Task(ctx context.Context, id int64) (task.Task, error) {
	return c.call(1).store.Task(ctx, id)
}

func (c *counter) Receive(ctx context.Context, d task.Delivery, job queue.Job) (bool, error) {
	return c.call(1).store.Receive(ctx, d, job)
}

func (c *counter) LastDelivery(ctx context.Context, source string) (time.Time, error) {
	return c.call(1).store.LastDelivery(ctx, source)
}

func (c *counter) TaskCosts(ctx context.Context, ids []int64) (map[int64]task.Cost, error) {
	return c.call(len(ids)).store.TaskCosts(ctx, ids)
}

func (c *counter) Extend(ctx context.Context, k queue.Claim, ttl time.Duration) error {
	return c.call(1).store.Extend(ctx, k, ttl)
}

func (c *counter) Finish(ctx context.Context, k queue.Claim, o queue.Outcome) error {
	return c.call(1).store.Finish(ctx, k, o)
}

func (c *counter) Hold(ctx context.Context, holds ...queue.Hold) error {
	return c.call(len(holds)).store.Hold(ctx, holds...)
}

func (c *counter) Free(ctx context.Context, holds ...queue.Hold) error {
	return c.call(len(holds)).store.Free(ctx, holds...)
}

func (c *counter) Forget(ctx context.Context, rs ...task.Reservation) error {
	return c.call(len(rs)).store.Forget(ctx, rs...)
}

func (c *counter) Reserve(ctx context.Context, r task.Reservation) error {
	return c.call(1).store.Reserve(ctx, r)
}

func (c *counter) SetDependencies(ctx context.Context, taskID int64, source string, on []int64) error {
	return c.call(len(on)).store.SetDependencies(ctx, taskID, source, on)
}

func (c *counter) Depend(ctx context.Context, d task.Dependency) error {
	return c.call(0).store.Depend(ctx, d)
}

func (c *counter) Undepend(ctx context.Context, d task.Dependency) error {
	return c.call(0).store.Undepend(ctx, d)
}

func (c *counter) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	return c.call(len(jobs)).store.Put(ctx, jobs...)
}

func (c *counter) Commit(ctx context.Context, k task.Commit) error {
	return c.call(committed(k)).store.Commit(ctx, k)
}

func (c *counter) FinishTake(ctx context.Context, k queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	list, err := c.call(1+len(o.Then)).store.FinishTake(ctx, k, o, pool, worker, n, ttl)
	return many(c, list, err)
}
