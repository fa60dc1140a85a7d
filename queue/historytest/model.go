package historytest

import (
	"math"

	"github.com/signalbox-dev/signalbox/queue"
)

// job is a job between two calls. The zero value is one that is not there.
type job struct {
	status  queue.Status
	attempt int
	until   int64 // a running one is not given back before
}

// slack bounds what clocks may differ by within a time to live: stores round to
// microseconds, and their clock is not the one that calls are timed with.
const slack = int64(200_000)

// later is a moment after another, or never.
func later(at, span int64) int64 {
	if at > math.MaxInt64-span {
		return math.MaxInt64
	}
	return at + span
}

// next returns what may have become of a job by a call about it; nothing when what the
// caller saw cannot be.
func (j job) next(c Call) []job {
	about := c.Jobs[0]
	after, can := j.after(c, about)
	switch {
	case c.pending() && can:
		return []job{j, after}
	case c.pending():
		return []job{j}
	case c.No && can, !c.No && !can:
		return nil
	case c.No:
		return []job{j}
	default:
		return []job{after}
	}
}

// after is a job after a call that has its effect; can reports whether it has one.
func (j job) after(c Call, about Job) (after job, can bool) {
	held := j.status == queue.Running && j.attempt == about.Attempt
	switch c.Op {
	case opPut:
		return job{status: queue.Queued}, j.status == ""
	case opTake:
		known := c.pending() || about.Attempt == j.attempt+1
		return job{queue.Running, j.attempt + 1, later(c.From, c.TTL)}, j.status == queue.Queued && known
	case opExtend:
		return job{queue.Running, j.attempt, later(c.From, c.TTL)}, held
	case opFinish:
		return job{status: queue.Done, attempt: j.attempt}, held
	case opAgain:
		return job{status: queue.Queued, attempt: j.attempt}, held
	case opCancel:
		return job{status: queue.Cancelled, attempt: j.attempt}, j.status == queue.Queued || j.status == queue.Running
	case opReap:
		known := c.pending() && j.status == queue.Running || held
		return job{status: queue.Queued, attempt: j.attempt}, known && c.To >= j.until-slack
	default: // opSee
		return j, string(j.status) == about.Status && j.attempt == about.Attempt
	}
}

// right is a lease between two calls. The zero value is one that nobody ever had.
type right struct {
	holder    string
	epoch     int64
	low, high int64 // it ends between
}

// next returns what may have become of a lease by a call about it.
func (r right) next(c Call) []right {
	switch {
	case c.Op == opHolder && c.No:
		return only(r, r.holder == "" || c.To >= r.low-slack)
	case c.Op == opHolder:
		return only(r, c.pending() || r.is(c.Holder, c.Epoch) && c.From < later(r.high, slack))
	case c.pending():
		out := append(r.effects(c), r)
		if c.Op == opAcquire && (r.holder == "" || c.To >= r.low-slack) {
			out = append(out, right{r.holder, r.epoch + 1, r.low, r.high}) // an epoch is made durable before the lease is
		}
		return out
	case c.No && c.Op == opAcquire:
		return only(r, r.is(c.Holder, c.Epoch) && c.Holder != c.Asker && c.From < later(r.high, slack))
	case c.No:
		return only(r, !r.is(c.Asker, c.Epoch))
	}
	var out []right
	for _, after := range r.effects(c) {
		if c.Op != opAcquire || after.is(c.Holder, c.Epoch) && c.Holder == c.Asker {
			out = append(out, after)
		}
	}
	return out
}

func only(r right, can bool) []right {
	if !can {
		return nil
	}
	return []right{r}
}

func (r right) is(holder string, epoch int64) bool {
	return r.holder != "" && r.holder == holder && r.epoch == epoch
}

// effects returns what a call may make of a lease.
func (r right) effects(c Call) (out []right) {
	low, high := later(c.From, c.TTL), later(c.To, c.TTL)
	switch {
	case c.Op == opAcquire:
		if r.holder == "" || c.To >= r.low-slack {
			out = append(out, right{c.Asker, r.epoch + 1, low, high})
		}
		if r.holder == c.Asker && c.From < later(r.high, slack) {
			out = append(out, right{c.Asker, r.epoch, low, high})
		}
	case !r.is(c.Asker, c.Epoch):
	case c.Op == opRelease:
		out = append(out, right{epoch: r.epoch})
	}
	return out
}
