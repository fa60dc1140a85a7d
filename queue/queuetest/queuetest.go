// Package queuetest is the conformance suite of package queue: what memory,
// SQLite and every later store must do alike. A new rule of the queue is written
// here, never into the test of one adapter.
package queuetest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

// Queue is everything that a store's queue does.
type Queue interface {
	queue.Queue
	queue.Admin
	queue.Restarter
	queue.Inspector
	queue.HoldFinder
}

// Open opens an empty queue with a clock; the test's Cleanup closes it.
type Open func(t *testing.T, now func() time.Time) Queue

// Clock is a clock that moves only by its methods.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// NewClock stands at a fixed moment.
func NewClock() *Clock { return &Clock{t: time.Date(2031, 5, 4, 8, 0, 0, 0, time.UTC)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// Add moves the clock on.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

const (
	pool = "p"
	ttl  = time.Minute
)

// kit is a queue under test with its clock.
type kit struct {
	*testing.T
	q     Queue
	clock *Clock
}

func (k *kit) put(jobs ...queue.Job) []int64 {
	k.Helper()
	for i := range jobs {
		if jobs[i].Pool == "" {
			jobs[i].Pool = pool
		}
	}
	ids, err := k.q.Put(k.Context(), jobs...)
	require.NoError(k, err)
	require.Len(k, ids, len(jobs))
	return ids
}

func (k *kit) take(n int) []queue.Claim {
	k.Helper()
	claims, err := k.q.Take(k.Context(), pool, "w1", n, ttl)
	require.NoError(k, err)
	return claims
}

// one takes the only claimable job.
func (k *kit) one() queue.Claim {
	k.Helper()
	claims := k.take(10)
	require.Len(k, claims, 1)
	return claims[0]
}

// none asserts that nothing can be claimed.
func (k *kit) none() {
	k.Helper()
	require.Empty(k, k.take(10))
}

func (k *kit) finish(c queue.Claim, o queue.Outcome) {
	k.Helper()
	require.NoError(k, k.q.Finish(k.Context(), c, o))
}

func (k *kit) done(c queue.Claim) {
	k.Helper()
	k.finish(c, queue.Outcome{Kind: queue.OutcomeDone})
}

// job reads one job back.
func (k *kit) job(id int64) queue.Job {
	k.Helper()
	jobs, err := k.q.Jobs(k.Context(), queue.Filter{Limit: 100_000})
	require.NoError(k, err)
	for _, j := range jobs {
		if j.ID == id {
			return j
		}
	}
	require.Failf(k, "no such job", "job %d", id)
	return queue.Job{}
}

// reasons lists the kinds of reasons that a job waits for.
func (k *kit) reasons(id int64) []queue.ReasonKind {
	k.Helper()
	waits, err := k.q.Waiting(k.Context(), queue.Filter{})
	require.NoError(k, err)
	for _, w := range waits {
		if w.Job.ID == id {
			kinds := []queue.ReasonKind{}
			for _, r := range w.Reasons {
				require.NotEmpty(k, r.Text)
				kinds = append(kinds, r.Kind)
			}
			return kinds
		}
	}
	require.Failf(k, "job is not waiting", "job %d", id)
	return nil
}

func ids(claims []queue.Claim) []int64 {
	out := []int64{}
	for _, c := range claims {
		out = append(out, c.Job.ID)
	}
	return out
}

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, test := range tests() {
		t.Run(name, func(t *testing.T) {
			clock := NewClock()
			test(&kit{T: t, q: open(t, clock.Now), clock: clock})
		})
	}
	t.Run("random schedules", func(t *testing.T) { random(t, open) })
}

func tests() map[string]func(*kit) {
	return map[string]func(*kit){
		"a job is read back as it was put":                  readsBack,
		"priority then id is the order":                     ordersByPriority,
		"jobs with one key run one at a time, in order":     keepsKeyOrder,
		"a retry keeps its place in the key":                retryKeepsPlace,
		"a delayed job is not claimable before its time":    delays,
		"attempts that are used up fail":                    usesUpAttempts,
		"a release does not count as an attempt":            releases,
		"a dead job is failed and leaves its key":           dies,
		"a stale claim changes nothing":                     fences,
		"the reaper gives back what has lost its heartbeat": reaps,
		"a heartbeat prolongs a claim":                      extends,
		"a dedupe key is unique while unfinished":           dedupes,
		"finishing puts the jobs that follow":               putsThen,
		"a finished claim's dedupe key is free for Then":    reusesKeyInThen,
		"cancel ends queued and running jobs for good":      cancels,
		"cancel can be narrowed to pools":                   cancelsPools,
		"a held subject keeps jobs waiting":                 holds,
		"holds are listed by a span of subjects":            holdsIn,
		"a subject is free when its last hold is":           freesLast,
		"a hold that comes later takes the token back":      holdsLate,
		"holding twice is holding once":                     holdsIdempotent,
		"held jobs do not hide what is behind them":         holdsInFront,
		"a job that names two held subjects waits for both": holdsBoth,
		"waiting names every reason":                        explains,
		"pools are separate":                                separatesPools,
		"depth counts unfinished jobs":                      counts,
		"jobs are listed by filter":                         filters,
		"what failed can be made due at once":               hastens,
		"what failed is listed, the newest end first":       listsFailed,
		"what failed is put again, once":                    repeats,
		"taking none takes none":                            takesNone,
		"one call ends a claim and takes the next":          relays,
		"a lost claim keeps nobody from the next job":       relaysAfterLoss,
		"what the end of a job lets in is taken in order":   relaysInOrder,
		"a hint comes when a job becomes claimable":         wakes,
		"workers never share a job":                         concurrent,
	}
}
