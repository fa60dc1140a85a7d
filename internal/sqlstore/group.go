package sqlstore

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// request is one caller's share of a transaction: exactly one of alone, commit, put,
// finish, extend, receive and take is set, or commit or finish with take. The results are
// read after done.
type request struct {
	ctx context.Context

	alone   func(*Tx) error
	commit  *task.Commit
	put     []queue.Job
	finish  *finishing
	extend  *extending
	receive *receiving
	take    *taking

	ids       []int64
	claims    []queue.Claim
	duplicate bool
	err       error
	done      chan struct{}
}

type finishing struct {
	claim   queue.Claim
	outcome queue.Outcome
	untold  bool // nobody has the claim, if it was made at all
}

type extending struct {
	claim queue.Claim
	ttl   time.Duration
}

type receiving struct {
	delivery task.Delivery
	job      queue.Job
}

type taking struct {
	pool, worker string
	n            int
	ttl          time.Duration
}

// Alone runs f with statements of its own in a shared transaction. Its error undoes what it
// did, and nothing else. It may be run more than once.
func (s *Store) Alone(ctx context.Context, f func(*Tx) error) error {
	return s.hand(&request{ctx: ctx, alone: f})
}

// exec carries out one statement.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.Alone(ctx, func(t *Tx) error { t.Queue(nil, query, slices.Clone(args)...); return nil })
}

// hand submits a request and returns when it is committed, or certainly not. A
// caller that gives up before its turn changes nothing.
func (s *Store) hand(r *request) error {
	r.done = make(chan struct{})
	s.closing.RLock()
	if s.closed {
		s.closing.RUnlock()
		return ErrClosed
	}
	select {
	case s.reqs <- r:
	case <-r.ctx.Done():
		s.closing.RUnlock()
		return r.ctx.Err()
	}
	s.closing.RUnlock()
	<-r.done
	return r.err
}

// groupMax bounds how many requests share a commit.
const groupMax = 1024

func (s *Store) writing(context.Context) {
	for first := range s.reqs {
		group := s.gather(first)
		s.carryOut(group)
		for _, r := range group {
			close(r.done)
		}
	}
}

// gather takes what has been handed in. It yields first, so that callers which the last
// commit released can join this group.
func (s *Store) gather(first *request) []*request {
	group := []*request{first}
	for {
		before := len(group)
		runtime.Gosched()
		for n := len(s.reqs); n > 0 && len(group) < groupMax; n-- {
			if r, ok := <-s.reqs; ok {
				group = append(group, r)
			}
		}
		if len(group) == before || len(group) == groupMax {
			return group
		}
	}
}

// aloneError is the error of one request of a group.
type aloneError struct {
	r   *request
	err error
}

func (e *aloneError) Error() string { return e.err.Error() }
func (e *aloneError) Unwrap() error { return e.err }

// carryOut does a group in one transaction. When a request with statements of its own
// fails, the others are done without it; when a shared statement is refused, each request
// gets a transaction of its own: what one has wrong must not fail the others. A request that
// failed is judged again by itself: it may have been judged on what others of its group did,
// and that was undone.
func (s *Store) carryOut(group []*request) {
	err := s.transact(group)
	var failed *aloneError
	alone := errors.As(err, &failed)
	switch {
	case err == nil:
	case alone && len(group) > 1 && !s.Driver.Away(err):
		s.carryOut(slices.DeleteFunc(slices.Clone(group), func(r *request) bool { return r == failed.r }))
		s.carryOut([]*request{failed.r})
	case len(group) > 1 && !s.Driver.Away(err):
		for _, r := range group {
			s.carryOut([]*request{r})
		}
	case alone && !s.Driver.Away(err):
		failed.r.err = failed.err
	default: // nothing was changed, or nobody can tell
		for _, r := range group {
			for _, c := range r.claims { // nobody has them: the next transaction gives back those that were made
				given := &finishing{claim: c, outcome: queue.Outcome{Kind: queue.OutcomeRelease}, untold: true}
				s.untold = append(s.untold, &request{ctx: context.Background(), finish: given})
			}
			r.err, r.ids, r.claims = err, nil, nil
			if r.commit != nil && s.Driver.Taken(err) {
				r.err = task.ErrConflict
			}
		}
	}
}

// transact does a group once, in one transaction.
func (s *Store) transact(group []*request) error {
	var t *Tx
	err := s.Driver.Write(func(c Conn) (err error) {
		t = &Tx{
			Conn: c, Now: Stamp(s.Now()), store: s,
			deduped: map[string]int64{}, added: map[string]queue.Job{}, wake: map[string]bool{}, depth: map[string]int64{},
		}
		if panicked := run.Guard("store transaction", func() { err = t.all(append(slices.Clip(s.untold), group...)) }); panicked != nil {
			return panicked
		}
		return err
	})
	if err != nil {
		return err
	}
	s.untold = nil
	pools := slices.Collect(maps.Keys(t.wake))
	for _, pool := range pools {
		s.wakers.hint(pool)
	}
	if len(pools) > 0 && s.Committed != nil {
		s.Committed(pools)
	}
	return nil
}

// all does the requests of a group: those that can share their statements together, then
// each of the others, then all claims.
func (t *Tx) all(group []*request) error {
	var shared []*request
	var rest [][]*request
	tasks, claims := map[int64]bool{}, map[int64]bool{}
	for _, r := range group {
		r.claims, r.ids, r.duplicate = nil, nil, false
		if r.err = r.ctx.Err(); r.err != nil {
			continue
		}
		if r.stands(tasks, claims) {
			rest = append(rest, []*request{r})
		} else {
			shared = append(shared, r)
		}
	}
	takers := takersOf(group)
	if len(takers) > 0 {
		t.Queue(t.waking, dueJobs, t.Now, int64(dueMax))
	}
	for _, k := range takers { // with what the group is decided on: that saves a round trip
		if _, bounded := t.store.Bounds[k.pool]; !bounded && len(rest) == 0 {
			t.readHead(k, min(k.want, claimMax))
		}
	}
	for _, round := range append([][]*request{shared}, rest...) {
		if err := t.round(round); err != nil {
			return err
		}
	}
	for _, k := range takers {
		if err := t.takeFrom(k); err != nil {
			return err
		}
	}
	t.count()
	return nil
}

// stands reports a request that must see what the others of its group did: one with
// statements of its own, a decision with more than rows to write, and the second one on
// the same task or claim.
func (r *request) stands(tasks, claims map[int64]bool) bool {
	if r.alone != nil {
		return true
	}
	var claim int64
	switch {
	case r.finish != nil:
		claim = r.finish.claim.Job.ID
	case r.commit != nil:
		c := r.commit
		if c.Line != nil || len(c.CancelPools)+len(c.CancelQueued)+len(c.Hold)+len(c.Free)+len(c.Pauses)+len(c.Resumed) > 0 {
			return true
		}
		if c.Task != nil {
			if tasks[c.Task.ID] {
				return true
			}
			tasks[c.Task.ID] = true
		}
		if c.Claim != nil {
			claim = c.Claim.Job.ID
		}
	}
	twice := claim != 0 && claims[claim]
	claims[claim] = true
	return twice
}
