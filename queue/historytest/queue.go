package historytest

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Queue lists the calls that a history of jobs is made with.
type Queue interface {
	queue.Queue
	queue.Admin
	queue.Inspector
}

const (
	opPut    = "put"
	opTake   = "take"
	opExtend = "extend"
	opFinish = "finish"
	opAgain  = "again"
	opCancel = "cancel"
	opReap   = "reap"
	opSee    = "see"

	opCrash = "crash"

	pool = "history"
)

// client is one caller of a queue.
type client struct {
	q    Queue
	log  *Log
	rand *rand.Rand
	next int64 // task id
	mine []queue.Claim
}

// Jobs calls a queue as workers, keepers and producers do, n times at random:
// claims are ended late, twice, by those who lost them, or never. ttl is how
// long claims live: a few times as long as a call takes.
func Jobs(ctx context.Context, q Queue, log *Log, n int, ttl time.Duration) {
	c := &client{q: q, log: log, rand: rand.New(rand.NewPCG(uint64(log.client), 1)), next: int64(log.client) * 1_000_000}
	for range n {
		switch c.rand.IntN(12) {
		case 0, 1:
			c.put(ctx)
		case 2, 3, 4:
			c.take(ctx, ttl)
		case 5:
			c.cancel(ctx)
		case 6:
			c.reap(ctx)
		default:
			c.claim(ctx, ttl)
		}
	}
}

func (c *client) put(ctx context.Context) {
	c.next++
	call := c.log.begin(Call{Op: opPut, Jobs: []Job{{Task: c.next}}})
	_, err := c.q.Put(ctx, queue.Job{Pool: pool, TaskID: c.next})
	c.log.end(call, err)
}

func (c *client) take(ctx context.Context, ttl time.Duration) {
	call := c.log.begin(Call{Op: opTake, TTL: int64(ttl)})
	claims, err := c.q.Take(ctx, pool, "w", 1+c.rand.IntN(3), ttl)
	for _, got := range claims {
		call.Jobs = append(call.Jobs, Job{Task: got.Job.TaskID, Attempt: got.Job.Attempt})
	}
	c.log.end(call, err)
	c.mine = append(c.mine, claims...)
	if len(c.mine) > 8 {
		c.mine = c.mine[len(c.mine)-8:] // the others are left to the reaper
	}
}

// claim does something with a claim, held or not.
func (c *client) claim(ctx context.Context, ttl time.Duration) {
	if len(c.mine) == 0 {
		return
	}
	claim := c.mine[c.rand.IntN(len(c.mine))]
	about := []Job{{Task: claim.Job.TaskID, Attempt: claim.Job.Attempt}}
	switch c.rand.IntN(6) {
	case 0:
		call := c.log.begin(Call{Op: opExtend, Jobs: about, TTL: int64(ttl)})
		c.answer(call, c.q.Extend(ctx, claim, ttl))
	case 1, 2:
		kind := []queue.OutcomeKind{queue.OutcomeRetry, queue.OutcomeRelease}[c.rand.IntN(2)]
		call := c.log.begin(Call{Op: opAgain, Jobs: about})
		c.answer(call, c.q.Finish(ctx, claim, queue.Outcome{Kind: kind}))
	case 3: // slow
		time.Sleep(ttl / 4)
	default:
		call := c.log.begin(Call{Op: opFinish, Jobs: about})
		c.answer(call, c.q.Finish(ctx, claim, queue.Outcome{Kind: queue.OutcomeDone}))
	}
}

func (c *client) answer(call Call, err error) {
	if call.No = errors.Is(err, queue.ErrLost); call.No {
		err = nil
	}
	c.log.end(call, err)
}

func (c *client) cancel(ctx context.Context) {
	task := c.next - int64(c.rand.IntN(6))
	if len(c.mine) > 0 && c.rand.IntN(2) == 0 {
		task = c.mine[c.rand.IntN(len(c.mine))].Job.TaskID
	}
	call := c.log.begin(Call{Op: opCancel, Jobs: []Job{{Task: task}}})
	jobs, err := c.q.Cancel(ctx, task)
	call.No = len(jobs) == 0
	c.log.end(call, err)
}

func (c *client) reap(ctx context.Context) {
	call := c.log.begin(Call{Op: opReap})
	jobs, err := c.q.Reap(ctx)
	for _, j := range jobs {
		call.Jobs = append(call.Jobs, Job{Task: j.TaskID, Attempt: j.Attempt})
	}
	c.log.end(call, err)
}

// See records how every job ended. All other clients have stopped.
func See(ctx context.Context, q Queue, log *Log) {
	call := log.begin(Call{Op: opSee})
	jobs, err := q.Jobs(ctx, queue.Filter{Pool: pool, Limit: 10_000_000})
	for _, j := range jobs {
		call.Jobs = append(call.Jobs, Job{Task: j.TaskID, Attempt: j.Attempt, Status: string(j.Status)})
	}
	log.end(call, err)
}
