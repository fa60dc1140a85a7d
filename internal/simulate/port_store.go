package simulate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/intercept"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// fated has each call of a port meet its fate; reads are the names of those that change nothing.
func (n *node) fated(port, lane, reads string) intercept.Hook {
	read := map[string]bool{}
	for name := range strings.FieldsSeq(reads) {
		read[name] = true
	}
	return func(ctx context.Context, c *intercept.Call, next func() error) (err error) {
		c.Out, err = call(ctx, n, op{name: port + "." + c.Name, lane: lane, read: read[c.Name]}, words(c.In), func() (any, error) {
			err := next()
			return c.Out, err
		})
		return err
	}
}

// words tell a call's arguments, for the trace.
func words(in []any) string {
	var out []string
	for _, v := range in {
		out = append(out, told(v))
	}
	return strings.TrimSpace(strings.Join(out, " "))
}

func told(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return id(v)
	case task.Commit:
		return describe(v, recorded(v))
	case task.Delivery:
		return v.ID
	case []queue.Job:
		return kinds(v)
	case []queue.Hold:
		return v[0].Subject
	case queue.Filter:
		return v.Pool
	case queue.Claim:
		return v.Job.Kind + " " + id(v.Job.ID) + "." + id(int64(v.Job.Attempt))
	case queue.Outcome:
		return strings.TrimSuffix(fmt.Sprintf("%s (%s)", v.Kind, v.Error), " ()")
	case githost.NewPullRequest:
		return v.Head
	case githost.Merge:
		return v.HeadSHA
	case work.Workspace:
		return v.Branch
	}
	return ""
}

// void makes a call without a result.
func void(ctx context.Context, n *node, o op, arg string, f func() error) error {
	_, err := call(ctx, n, o, arg, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// watchedStore is the store with a look at what a replica does to it.
type watchedStore struct {
	*memstore.Store

	n     *node
	check *checker
}

func (w watchedStore) Commit(ctx context.Context, c task.Commit) error {
	before := w.check.before(c)
	w.check.freed(c.Free)
	err := w.Store.Commit(ctx, c)
	w.check.committed(w.n, c, recorded(c), before, err)
	return err
}

func (w watchedStore) Receive(ctx context.Context, d task.Delivery, job queue.Job) (bool, error) {
	duplicate, err := w.Store.Receive(ctx, d, job)
	if err == nil {
		w.check.stored(d.BodyHash, duplicate)
	}
	return duplicate, err
}

func (w watchedStore) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	ids, err := w.Store.Put(ctx, jobs...)
	w.check.put(jobs)
	return ids, err
}

func (w watchedStore) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	claims, err := w.Store.Take(ctx, pool, worker, n, ttl)
	w.check.taken(w.n, claims)
	return claims, err
}

func (w watchedStore) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	held := w.check.holds(c)
	err := w.Store.Finish(ctx, c, o)
	w.check.finished(c, o, held, err)
	return err
}

func (w watchedStore) FinishTake(
	ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) ([]queue.Claim, error) {
	held := w.check.holds(c)
	claims, err := w.Store.FinishTake(ctx, c, o, pool, worker, n, ttl)
	w.check.finished(c, o, held, err)
	w.check.taken(w.n, claims)
	return claims, err
}
