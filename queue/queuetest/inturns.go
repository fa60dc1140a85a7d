package queuetest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// InTurns is one queue by several handles, as several processes have them: some
// calls go to one, then some to another. What a handle caches must not be what
// another has changed since.
func InTurns(seed uint64, handles ...Queue) Queue {
	return &inTurns{handles: handles, rand: rand.New(rand.NewPCG(seed, 1))}
}

type inTurns struct {
	handles []Queue

	mu   sync.Mutex
	rand *rand.Rand
	at   int
}

// one changes the handle one call in six.
func (q *inTurns) one() Queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rand.IntN(6) == 0 {
		q.at = q.rand.IntN(len(q.handles))
	}
	return q.handles[q.at]
}

func (q *inTurns) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	return q.one().Put(ctx, jobs...)
}

func (q *inTurns) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	return q.one().Take(ctx, pool, worker, n, ttl)
}

func (q *inTurns) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return q.one().Extend(ctx, c, ttl)
}

func (q *inTurns) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return q.one().Finish(ctx, c, o)
}

func (q *inTurns) FinishTake(
	ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) ([]queue.Claim, error) {
	return q.one().FinishTake(ctx, c, o, pool, worker, n, ttl)
}

func (q *inTurns) Cancel(ctx context.Context, taskID int64, pools ...string) ([]queue.Job, error) {
	return q.one().Cancel(ctx, taskID, pools...)
}

func (q *inTurns) Hasten(ctx context.Context, pool string, taskID int64) (int, error) {
	return q.one().Hasten(ctx, pool, taskID)
}

func (q *inTurns) Repeat(ctx context.Context, id int64) (int64, error) {
	return q.one().Repeat(ctx, id)
}

func (q *inTurns) Reap(ctx context.Context) ([]queue.Job, error) { return q.one().Reap(ctx) }

func (q *inTurns) Hold(ctx context.Context, holds ...queue.Hold) error {
	return q.one().Hold(ctx, holds...)
}

func (q *inTurns) Free(ctx context.Context, holds ...queue.Hold) error {
	return q.one().Free(ctx, holds...)
}

func (q *inTurns) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	return q.one().Waiting(ctx, f)
}

func (q *inTurns) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	return q.one().Jobs(ctx, f)
}

func (q *inTurns) Holds(ctx context.Context) ([]queue.Hold, error) { return q.one().Holds(ctx) }

func (q *inTurns) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	return q.one().HoldsIn(ctx, from, before, limit)
}

func (q *inTurns) Depth(ctx context.Context) ([]queue.Depth, error) { return q.one().Depth(ctx) }

// Wake is the first handle's.
func (q *inTurns) Wake(pool string) <-chan struct{} { return q.handles[0].Wake(pool) }
