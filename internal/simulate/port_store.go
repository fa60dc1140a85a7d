package simulate

import (
	"context"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// storePort is the store as a replica reaches it.
type storePort struct{ n *node }

func reads(name string) op  { return op{name: "store." + name, lane: LaneStore, read: true} }
func writes(name string) op { return op{name: "store." + name, lane: LaneStore} }

// void makes a call without a result.
func void(ctx context.Context, n *node, o op, arg string, f func() error) error {
	_, err := call(ctx, n, o, arg, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

func (p *storePort) mem() *memstore.Store { return p.n.sim.store }

func (p *storePort) NewTaskID(ctx context.Context) (int64, error) {
	return call(ctx, p.n, writes("NewTaskID"), "", func() (int64, error) { return p.mem().NewTaskID(ctx) })
}

func (p *storePort) Task(ctx context.Context, taskID int64) (task.Task, error) {
	return call(ctx, p.n, reads("Task"), id(taskID), func() (task.Task, error) { return p.mem().Task(ctx, taskID) })
}

func (p *storePort) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	return call(ctx, p.n, reads("Tasks"), "", func() ([]task.Task, error) { return p.mem().Tasks(ctx, f) })
}

func (p *storePort) Commit(ctx context.Context, c task.Commit) error {
	said := recorded(c)
	return void(ctx, p.n, writes("Commit"), describe(c, said), func() error {
		before := p.n.sim.check.before(c)
		err := p.mem().Commit(ctx, c)
		p.n.sim.check.committed(p.n, c, said, before, err)
		return err
	})
}

func (p *storePort) Receive(ctx context.Context, d task.Delivery, job queue.Job) (bool, error) {
	return call(ctx, p.n, writes("Receive"), d.ID, func() (bool, error) {
		duplicate, err := p.mem().Receive(ctx, d, job)
		if err == nil {
			p.n.sim.check.stored(d.BodyHash, duplicate)
		}
		return duplicate, err
	})
}

func (p *storePort) Journal(ctx context.Context, taskID int64) ([]task.JournalEntry, error) {
	return call(ctx, p.n, reads("Journal"), id(taskID), func() ([]task.JournalEntry, error) { return p.mem().Journal(ctx, taskID) })
}

func (p *storePort) JournalSince(ctx context.Context, after int64, limit int) ([]task.JournalEntry, error) {
	return call(ctx, p.n, reads("JournalSince"), "", func() ([]task.JournalEntry, error) { return p.mem().JournalSince(ctx, after, limit) })
}

func (p *storePort) GateResults(ctx context.Context, taskID int64) ([]task.GateResult, error) {
	return call(ctx, p.n, reads("GateResults"), id(taskID), func() ([]task.GateResult, error) { return p.mem().GateResults(ctx, taskID) })
}

func (p *storePort) AgentRuns(ctx context.Context, taskID int64) ([]task.AgentRun, error) {
	return call(ctx, p.n, reads("AgentRuns"), id(taskID), func() ([]task.AgentRun, error) { return p.mem().AgentRuns(ctx, taskID) })
}

func (p *storePort) LastDelivery(ctx context.Context, source string) (time.Time, error) {
	return call(ctx, p.n, reads("LastDelivery"), source, func() (time.Time, error) { return p.mem().LastDelivery(ctx, source) })
}

func (p *storePort) PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error) {
	err = void(ctx, p.n, writes("PruneJobs"), id(after), func() error {
		removed, next, err = p.mem().PruneJobs(ctx, before, after, limit)
		return err
	})
	return removed, next, err
}

func (p *storePort) PruneDeliveries(ctx context.Context, before time.Time, limit int) (int, error) {
	return call(ctx, p.n, writes("PruneDeliveries"), "", func() (int, error) { return p.mem().PruneDeliveries(ctx, before, limit) })
}

func (p *storePort) Dependencies(ctx context.Context) ([]task.Dependency, error) {
	return call(ctx, p.n, reads("Dependencies"), "", func() ([]task.Dependency, error) { return p.mem().Dependencies(ctx) })
}

func (p *storePort) SetDependencies(ctx context.Context, task int64, source string, on []int64) error {
	return void(ctx, p.n, writes("SetDependencies"), id(task), func() error { return p.mem().SetDependencies(ctx, task, source, on) })
}

func (p *storePort) Depend(ctx context.Context, d task.Dependency) error {
	return void(ctx, p.n, writes("Depend"), id(d.TaskID), func() error { return p.mem().Depend(ctx, d) })
}

func (p *storePort) Undepend(ctx context.Context, d task.Dependency) error {
	return void(ctx, p.n, writes("Undepend"), id(d.TaskID), func() error { return p.mem().Undepend(ctx, d) })
}

func (p *storePort) Reserve(ctx context.Context, r task.Reservation) error {
	return void(ctx, p.n, writes("Reserve"), id(r.TaskID), func() error { return p.mem().Reserve(ctx, r) })
}

func (p *storePort) Reservations(ctx context.Context, repo string) ([]task.Reservation, error) {
	return call(ctx, p.n, reads("Reservations"), repo, func() ([]task.Reservation, error) { return p.mem().Reservations(ctx, repo) })
}

func (p *storePort) Forget(ctx context.Context, rs ...task.Reservation) error {
	if len(rs) == 0 {
		return nil
	}
	return void(ctx, p.n, writes("Forget"), "", func() error { return p.mem().Forget(ctx, rs...) })
}

func (p *storePort) RunsSince(ctx context.Context, repo string, since time.Time) ([]task.AgentRun, error) {
	return call(ctx, p.n, reads("RunsSince"), repo, func() ([]task.AgentRun, error) { return p.mem().RunsSince(ctx, repo, since) })
}

func (p *storePort) Pauses(ctx context.Context) ([]task.Pause, error) {
	return call(ctx, p.n, reads("Pauses"), "", func() ([]task.Pause, error) { return p.mem().Pauses(ctx) })
}

func (p *storePort) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	return call(ctx, p.n, writes("Put"), kinds(jobs), func() ([]int64, error) {
		ids, err := p.mem().Put(ctx, jobs...)
		p.n.sim.check.put(jobs)
		return ids, err
	})
}

func (p *storePort) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	return call(ctx, p.n, writes("Take"), pool, func() ([]queue.Claim, error) {
		claims, err := p.mem().Take(ctx, pool, worker, n, ttl)
		p.n.sim.check.taken(p.n, claims)
		return claims, err
	})
}

func (p *storePort) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return void(ctx, p.n, writes("Extend"), id(c.Job.ID), func() error { return p.mem().Extend(ctx, c, ttl) })
}

func (p *storePort) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return void(ctx, p.n, writes("Finish"), finishing(c, o), func() error {
		held := p.n.sim.check.holds(c)
		err := p.mem().Finish(ctx, c, o)
		p.n.sim.check.finished(c, o, held, err)
		return err
	})
}

func (p *storePort) FinishTake(
	ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) ([]queue.Claim, error) {
	return call(ctx, p.n, writes("FinishTake"), finishing(c, o), func() ([]queue.Claim, error) {
		held := p.n.sim.check.holds(c)
		claims, err := p.mem().FinishTake(ctx, c, o, pool, worker, n, ttl)
		p.n.sim.check.finished(c, o, held, err)
		p.n.sim.check.taken(p.n, claims)
		return claims, err
	})
}

func (p *storePort) Cancel(ctx context.Context, task int64, pools ...string) ([]queue.Job, error) {
	return call(ctx, p.n, writes("Cancel"), id(task), func() ([]queue.Job, error) { return p.mem().Cancel(ctx, task, pools...) })
}

func (p *storePort) Hasten(ctx context.Context, pool string, taskID int64) (int, error) {
	return call(ctx, p.n, writes("Hasten"), "", func() (int, error) { return p.mem().Hasten(ctx, pool, taskID) })
}

func (p *storePort) Repeat(ctx context.Context, job int64) (int64, error) {
	return call(ctx, p.n, writes("Repeat"), "", func() (int64, error) { return p.mem().Repeat(ctx, job) })
}

func (p *storePort) Reap(ctx context.Context) ([]queue.Job, error) {
	return call(ctx, p.n, writes("Reap"), "", func() ([]queue.Job, error) { return p.mem().Reap(ctx) })
}

func (p *storePort) Hold(ctx context.Context, holds ...queue.Hold) error {
	if len(holds) == 0 {
		return nil
	}
	return void(ctx, p.n, writes("Hold"), holds[0].Subject, func() error { return p.mem().Hold(ctx, holds...) })
}

func (p *storePort) Free(ctx context.Context, holds ...queue.Hold) error {
	if len(holds) == 0 {
		return nil
	}
	return void(ctx, p.n, writes("Free"), holds[0].Subject, func() error {
		p.n.sim.check.freed(holds)
		return p.mem().Free(ctx, holds...)
	})
}

func (p *storePort) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	return call(ctx, p.n, reads("Waiting"), f.Pool, func() ([]queue.Wait, error) { return p.mem().Waiting(ctx, f) })
}

func (p *storePort) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	return call(ctx, p.n, reads("Jobs"), f.Pool, func() ([]queue.Job, error) { return p.mem().Jobs(ctx, f) })
}

func (p *storePort) Holds(ctx context.Context) ([]queue.Hold, error) {
	return call(ctx, p.n, reads("Holds"), "", func() ([]queue.Hold, error) { return p.mem().Holds(ctx) })
}

func (p *storePort) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	return call(ctx, p.n, reads("HoldsIn"), "", func() ([]queue.Hold, error) { return p.mem().HoldsIn(ctx, from, before, limit) })
}

func (p *storePort) Depth(ctx context.Context) ([]queue.Depth, error) {
	return call(ctx, p.n, reads("Depth"), "", func() ([]queue.Depth, error) { return p.mem().Depth(ctx) })
}

func (p *storePort) Wake(pool string) <-chan struct{} { return p.mem().Wake(pool) }
