package agentpause

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

func (f *Pauses) loop(ctx context.Context, e *orchestrator.Engine) {
	for {
		paused, next, err := f.pass(ctx)
		if err == nil {
			e.Metrics.AgentsPaused.Set(float64(paused), orchestrator.NoLabels{})
		}
		wait := f.opt.Every
		switch {
		case errors.Is(err, task.ErrConflict): // another process looks after them too
			wait = time.Second
		case err != nil && ctx.Err() == nil:
			f.opt.Log.Error("the pauses of agents could not be looked after", "err", err)
		case !next.IsZero():
			wait = min(wait, max(next.Sub(f.opt.Now()), time.Second))
		}
		if e.Wait(ctx, wait, f.nudge) != nil {
			return
		}
	}
}

// pass ends the pauses that are over, lets a task try an agent whose time has come, and makes
// the holds those that the pauses require. It returns how many are left, and when the next of
// them is due; zero = none is.
func (f *Pauses) pass(ctx context.Context) (paused int, next time.Time, err error) {
	again, first := f.reloaded.Swap(false), f.started.CompareAndSwap(false, true)
	defer func() { // what was missed is made up for
		if err != nil && again {
			f.reloaded.Store(true)
		}
		if err != nil && first {
			f.started.Store(false)
		}
	}()
	stored, err1 := f.opt.Pauses.Pauses(ctx)
	waiting, err2 := f.waiting(ctx)
	if err := errors.Join(err1, err2); err != nil {
		return 0, next, err
	}
	f.busy.Store(len(stored)+len(waiting) > 0)
	var errs []error
	var left []task.Pause
	for _, p := range stored {
		if first && p.Task == 0 && p.Since.Before(f.made) {
			p.Next = f.opt.Now().UTC() // who starts the service may have mended it
		}
		over, why := !p.Until.IsZero() && !f.opt.Now().Before(p.Until), "it can be used again, by its own word"
		if again {
			over, why = true, "the registry was read again"
		}
		if over {
			if err := f.resume(ctx, why, p); err != nil {
				errs, left = append(errs, err), append(left, p)
			}
			continue
		}
		tried, err := f.try(ctx, p, waiting)
		errs, left = append(errs, err), append(left, tried)
		for _, at := range []time.Time{tried.Until, tried.Next} {
			if f.opt.Now().Before(at) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return len(left), next, errors.Join(append(errs, f.putRight(ctx, left, waiting))...)
}

// held is a task that waits for an agent, by its hold.
type held struct {
	hold queue.Hold
	task task.Task // zero: there is none
}

// waiting lists the tasks that are held, oldest first.
func (f *Pauses) waiting(ctx context.Context) (out []held, err error) {
	holds, err := f.opt.Inspector.Holds(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		id, ours := heldTask(h)
		if !ours {
			continue
		}
		t, err := f.opt.Store.Task(ctx, id)
		if err != nil && !errors.Is(err, task.ErrNotFound) {
			return nil, err
		}
		out = append(out, held{h, t})
	}
	slices.SortFunc(out, func(a, b held) int { return cmp.Compare(a.task.ID, b.task.ID) })
	return out, nil
}

// try sees to it that a task tries a paused agent when it is time, and returns the pause as
// it is then. A task that cannot do so gives way to another.
func (f *Pauses) try(ctx context.Context, p task.Pause, waiting []held) (task.Pause, error) {
	was := p
	if p.Task != 0 {
		able, err := f.able(ctx, p.Task, p)
		if err != nil || able {
			return p, err
		}
		p.Task = 0
	}
	var c task.Commit
	if !f.opt.Now().Before(p.Next) {
		for _, h := range waiting {
			able, err := f.able(ctx, h.task.ID, p)
			if err != nil {
				return was, err
			}
			if able {
				p.Task, c.Free = h.task.ID, []queue.Hold{h.hold}
				break
			}
		}
	}
	if p.Task == was.Task && p.Task == 0 {
		return p, nil // nobody can
	}
	c.Pauses = []task.Pause{p}
	if err := f.opt.Store.Commit(ctx, c); err != nil {
		return was, err
	}
	p.Version++
	return p, nil
}

// able reports whether nothing but the pause keeps a task from the agent.
func (f *Pauses) able(ctx context.Context, id int64, p task.Pause) (bool, error) {
	t, err := f.opt.Store.Task(ctx, id)
	if errors.Is(err, task.ErrNotFound) || err == nil && !f.uses(t, p) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	waits, err := f.opt.Inspector.Waiting(ctx, queue.Filter{Pool: queue.PoolAgents, TaskID: id})
	if err != nil {
		return false, err
	}
	for _, w := range waits {
		if slices.ContainsFunc(w.Reasons, func(r queue.Reason) bool { return r.Kind == queue.ReasonHold && r.Name != Name }) {
			return false, nil
		}
	}
	return len(waits) > 0, nil
}

// putRight frees the tasks whose agent is not paused any more, and brings the reasons of the
// others up to date.
func (f *Pauses) putRight(ctx context.Context, stored []task.Pause, waiting []held) error {
	var stale, changed []queue.Hold
	for _, h := range waiting {
		p, stopped := f.stops(stored, h.task)
		switch {
		case !stopped:
			stale = append(stale, h.hold)
		case h.hold.Reason != waitText(p):
			h.hold.Reason = waitText(p)
			changed = append(changed, h.hold)
		}
	}
	return errors.Join(f.opt.Queue.Hold(ctx, changed...), f.opt.Queue.Free(ctx, stale...))
}

// resume ends pauses.
func (f *Pauses) resume(ctx context.Context, why string, pauses ...task.Pause) error {
	var c task.Commit
	for _, p := range pauses {
		f.end(&c, p, why)
	}
	return f.opt.Store.Commit(ctx, c)
}

// resumeMax is how often an operator's word is tried while others change the pause.
const resumeMax = 5

// Resume ends the pauses of an agent by an operator's word, and returns whether there was one.
func (f *Pauses) Resume(ctx context.Context, agent string) (was bool, err error) {
	for range resumeMax {
		stored, err := f.opt.Pauses.Pauses(ctx)
		own := slices.DeleteFunc(stored, func(p task.Pause) bool { return p.Agent != agent })
		if err != nil || len(own) == 0 {
			return false, err
		}
		err = f.resume(ctx, "an operator has resumed it", own...)
		if err == nil {
			run.Hint(f.nudge)
		}
		if !errors.Is(err, task.ErrConflict) {
			return err == nil, err
		}
	}
	return false, task.ErrConflict
}
