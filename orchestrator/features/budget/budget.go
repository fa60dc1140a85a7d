// Package budget keeps what agents cost within caps in dollars: one for each task,
// one for each repository and day (UTC). Both are optional; without a cap there is
// no feature.
//
// Before an agent starts, an estimate is reserved. The record of the run puts what
// it did cost in its place, in the transaction that takes the run's result in. A
// run that was interrupted has no record: its estimate stays, so that an agent
// that is started again and again reaches the cap too.
//
// A run that might pass a cap waits: its job is held, takes no slot and is not
// looked at. The hold is set in the transaction of the decision that launches the
// agent. What a decision cannot see (two tasks that begin at the same moment) is
// seen when the job is claimed: the run is reserved first and judged beside all
// other reservations then, so that of two at least one gives way, in whatever process.
// A loop frees a hold when there is room again: the day has ended, a run cost less
// than was reserved, or the service was started with a higher cap.
//
// A run that reports neither tokens nor a cost is taken to have cost its estimate, and so is
// one that names no model, where its agent has no price either.
// A model that was used by name, cost nothing and has no known price counts as over. What
// cannot be read lets nothing start: a cap that fails open is none. The loop
// looks again soon.
package budget

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Name of the feature and of its holds.
const Name = "budget"

// Options of the feature. All up to Inspector and one cap are required.
type Options struct {
	Store     orchestrator.Storing
	Records   task.Records
	Costs     task.CostStore
	Projects  *task.Projects
	Queue     queue.Admin
	Inspector queue.Inspector
	Caps      Caps
	// Price returns what a run costs that used tokens and reported no cost, in
	// millionths of a dollar; known is false without a known price. nil: no price is known.
	Price func(task.AgentRun) (microUSD int64, known bool)
	Every time.Duration // how often holds are put right; default 30 s
	Log   *slog.Logger  // nil discards
	Now   func() time.Time
}

// Budget is the feature.
type Budget struct {
	opt   Options
	nudge chan struct{} // a cap to notify people of, or room again
}

// New checks the options.
func New(o Options) (*Budget, error) {
	switch {
	case o.Store == nil || o.Records == nil || o.Costs == nil || o.Projects == nil || o.Queue == nil || o.Inspector == nil:
		return nil, errors.New("budget: Options.Store, Records, Costs, Projects, Queue and Inspector are required")
	case o.Caps.Task < 0 || o.Caps.RepoDay < 0 || o.Caps.Run < 0:
		return nil, errors.New("budget: Options.Caps: an amount is negative, want 0 or more")
	case o.Caps.Task == 0 && o.Caps.RepoDay == 0:
		return nil, errors.New("budget: Options.Caps: Task and RepoDay are both 0: leave the feature out, or set one")
	}
	if o.Caps.Run == 0 {
		o.Caps.Run = 1_000_000
	}
	for field, limit := range map[string]int64{"Task": o.Caps.Task, "RepoDay": o.Caps.RepoDay} {
		if limit > 0 && limit < o.Caps.Run {
			return nil, fmt.Errorf("budget: Options.Caps.%s is %s, less than the %s that one run is taken to cost: "+
				"nothing would ever start", field, USD(limit), USD(o.Caps.Run))
		}
	}
	if o.Price == nil {
		o.Price = func(task.AgentRun) (int64, bool) { return 0, false }
	}
	if o.Every <= 0 {
		o.Every = 30 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = run.Real{}.Now
	}
	return &Budget{opt: o, nudge: make(chan struct{}, 1)}, nil
}

// Feature is the budget for the engine.
func (b *Budget) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name, Doc: "What agents cost stays within caps.",
		Holds: b.holds, Committed: b.committed,
		Admit: b.admit,
		Loops: []orchestrator.Loop{{Name: "loop", Run: b.loop}},
		Show:  b.show,
	}
}

// unread explains why nothing starts when the books cannot be read.
const unread = "what has been spent could not be read, and so nothing starts"

// holdOf returns the hold that keeps a task's next run from being claimed.
func holdOf(taskID int64, reason string) queue.Hold {
	return queue.Hold{Subject: subjectPrefix + strconv.FormatInt(taskID, 10), Name: Name, Reason: reason}
}

const subjectPrefix = "task/"

// taskOf is the task that a hold of ours keeps.
func taskOf(h queue.Hold) (id int64, ok bool) {
	text, found := strings.CutPrefix(h.Subject, subjectPrefix)
	id, err := strconv.ParseInt(text, 10, 64)
	return id, h.Name == Name && found && err == nil
}

// holds answers a launch with a hold when the run might pass a cap.
func (b *Budget) holds(ctx context.Context, c orchestrator.Change, with *task.Commit) error {
	own := holdOf(c.Task.ID, "")
	if c.Launched() {
		x, err := b.caseOf(ctx, c.Task, c.Run, attempt{})
		if own.Reason = unread; err == nil {
			own.Reason = b.opt.Caps.Judge(x).Reason()
		} else {
			b.opt.Log.Error(unread, "task", c.Task.ID, "repo", c.Task.Repo, "err", err)
		}
	} else if c.Task.State.Active != "" || c.Before.Active == "" {
		return nil
	}
	if own.Reason == "" {
		with.Free = append(with.Free, own)
	} else {
		with.Hold = append(with.Hold, own)
	}
	return nil
}

// committed wakes the loop: a run may have cost less than was reserved for it, and
// one that waits needs a notice.
func (b *Budget) committed(c orchestrator.Change) {
	if c.Run != nil || c.Launched() {
		b.requestPass()
	}
}

// admit reserves the estimate of a run that is about to start, or holds it. The
// reservation comes before the verdict: of two runs that are admitted at the same
// moment each sees the other's.
func (b *Budget) admit(ctx context.Context, s orchestrator.Start) (why string) {
	log := b.opt.Log.With("task", s.Task.ID, "repo", s.Task.Repo)
	own := task.Reservation{
		TaskID: s.Task.ID, JobID: s.JobID, Attempt: s.Attempt, Repo: s.Task.Repo, MicroUSD: b.estimate(s.Task), At: b.opt.Now().UTC(),
	}
	if err := b.opt.Costs.Reserve(ctx, own); err != nil {
		log.Error("an estimate could not be reserved, and so nothing starts", "err", err)
		return "the estimate of the run could not be reserved"
	}
	x, err := b.caseOf(ctx, s.Task, nil, attempt{s.JobID, s.Attempt})
	why = unread
	if err == nil {
		why = b.opt.Caps.Judge(x).Reason()
	} else if ctx.Err() == nil { // else the service is being stopped
		log.Error(unread, "err", err)
	}
	if why == "" {
		return ""
	}
	if err := b.opt.Costs.Forget(ctx, own); err != nil {
		log.Error("the reservation of a run that did not start stays, until the task ends", "err", err)
	}
	if err == nil {
		log.Info("a run waits for the budget", "why", why)
		if err := b.opt.Queue.Hold(ctx, holdOf(s.Task.ID, why)); err != nil {
			log.Error("a run that waits for the budget could not be held; it is asked for again", "err", err)
		}
		b.requestPass()
	}
	return why
}

// requestPass requests a pass of the loop soon.
func (b *Budget) requestPass() {
	run.Hint(b.nudge)
}
