package agentpause

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// paused are the pauses of the agent that a task waits for, as they are now.
type paused struct {
	pauses []task.Pause
	now    time.Time
}

// read reads the pauses, those with what the decision makes of them that launches the task. Where the task
// that tries an agent cannot do so, nobody does.
func (f *Pauses) read(ctx context.Context, p *admit.Pass, s admit.Start) (admit.Facts, error) {
	stored, err := f.stored(ctx, p)
	if err != nil {
		return nil, err
	}
	if s.With != nil {
		stored = slices.DeleteFunc(slices.Clone(stored), func(o task.Pause) bool {
			same := func(p task.Pause) bool { return p.Agent == o.Agent && p.Model == o.Model }
			return slices.ContainsFunc(slices.Concat(s.With.Pauses, s.With.Resumed), same)
		})
		stored = append(stored, s.With.Pauses...)
	}
	out := paused{now: f.opt.Now()}
	for _, one := range stored {
		if !f.uses(s.Task, one) {
			continue
		}
		if one.Task != 0 && one.Task != s.Task.ID {
			able, err := f.able(ctx, one)
			if err != nil {
				return nil, err
			}
			if !able {
				one.Task = 0
			}
		}
		out.pauses = append(out.pauses, one)
	}
	return out, nil
}

func (f *Pauses) stored(ctx context.Context, p *admit.Pass) ([]task.Pause, error) {
	return admit.Once(p, f, func() ([]task.Pause, error) { return f.opt.Store.Pauses(ctx) })
}

// tries reports whether a task may try an agent that is paused.
func tries(p task.Pause, id int64, now time.Time) bool {
	return p.Task == id || p.Task == 0 && !now.Before(p.Next)
}

// over reports whether a pause has ended by itself.
func over(p task.Pause, now time.Time) bool { return !p.Until.IsZero() && !now.Before(p.Until) }

// Seen are the pauses of agents that the task uses.
func (f paused) Seen() any {
	out := []map[string]any{}
	for _, p := range f.pauses {
		out = append(out, map[string]any{"agent": p.Agent, "model": p.Model, "until": p.Until, "tried_by": p.Task})
	}
	return out
}

func (f paused) Judge(s admit.Start) (r admit.Reason, waits bool) {
	i := slices.IndexFunc(f.pauses, func(p task.Pause) bool { return !over(p, f.now) && !tries(p, s.Task.ID, f.now) })
	if i < 0 {
		return r, false
	}
	p := f.pauses[i]
	r = admit.Reason{Text: waitText(p), Brief: waitText(p), Until: p.Until}
	if strings.Contains(p.Agent, " ") { // for a command line
		p.Agent = strconv.Quote(p.Agent)
	}
	resume := "to try at once, run signalbox resume " + p.Agent + ", or press Resume on the dashboard (Queue)"
	if !p.Until.IsZero() {
		r.Who, r.Do = admit.WhoOutside, "Wait, it ends by itself; "+resume
		return r, true
	}
	r.Who = admit.WhoYou
	r.Do = "Mend the agent: the notice in the chat and the queue page say how. It is tried again by itself; " + resume
	if r.Text += "; another task tries it now"; p.Task == 0 {
		r.Text, r.Until = r.Brief+"; it is tried again at "+orchestrator.Moment(f.now, p.Next), p.Next
	}
	return r, true
}

// admitted has a task that may start try the agents that are paused.
func (f *Pauses) admitted(p *admit.Pass, s admit.Start, c *task.Commit) {
	stored, _ := admit.Once(p, f, func() ([]task.Pause, error) { return nil, task.ErrConflict })
	for _, one := range stored {
		if now := f.opt.Now(); f.uses(s.Task, one) && !over(one, now) && one.Task != s.Task.ID {
			one.Task = s.Task.ID
			c.Pauses = append(c.Pauses, one)
		}
	}
}

// able reports whether nothing but the pause keeps the task that tries an agent from it.
func (f *Pauses) able(ctx context.Context, p task.Pause) (bool, error) {
	t, err := f.opt.Store.Task(ctx, p.Task)
	if errors.Is(err, task.ErrNotFound) || err == nil && !f.uses(t, p) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	waits, err := f.opt.Store.Waiting(ctx, queue.Filter{Pool: queue.PoolAgents, TaskID: t.ID})
	for _, w := range waits {
		other := func(r queue.Reason) bool { return r.Kind == queue.ReasonHold && r.Name != Name }
		if slices.ContainsFunc(w.Reasons, other) {
			return false, err
		}
	}
	return len(waits) > 0, err
}

// tend ends the pauses that are over. next is when the next one is. Where there are fewer than before, in whatever
// process they ended, all that waits is to be judged.
func (f *Pauses) tend(ctx context.Context, started, reloaded bool) (all bool, next time.Time, err error) {
	stored, err := f.opt.Store.Pauses(ctx)
	if err != nil {
		return false, next, err
	}
	now := f.opt.Now()
	var c task.Commit
	for _, p := range stored {
		switch {
		case reloaded:
			f.end(&c, p, "the registry was read again")
		case over(p, now):
			f.end(&c, p, "it can be used again, by its own word")
		case started && p.Task == 0 && now.Before(p.Next):
			p.Next = now.UTC() // who starts the service may have mended it
			c.Pauses = append(c.Pauses, p)
		}
		if at := p.Until; !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if len(c.Pauses)+len(c.Resumed) > 0 {
		err = f.opt.Store.Commit(ctx, c)
	}
	if err == nil {
		left := int64(len(stored) - len(c.Resumed))
		all = f.left.Swap(left) > left
	}
	return all, next, err
}

// resumeMax is how often an operator's word is tried while others change the pause.
const resumeMax = 5

// Resume ends the pauses of an agent by an operator's word, and returns whether there was one. What waited for it is
// let go when the desk looks next.
func (f *Pauses) Resume(ctx context.Context, agent string) (was bool, err error) {
	for range resumeMax {
		stored, err := f.opt.Store.Pauses(ctx)
		own := slices.DeleteFunc(stored, func(p task.Pause) bool { return p.Agent != agent })
		if err != nil || len(own) == 0 {
			return false, err
		}
		var c task.Commit
		for _, p := range own {
			f.end(&c, p, "an operator has resumed it")
		}
		if err = f.opt.Store.Commit(ctx, c); !errors.Is(err, task.ErrConflict) {
			return err == nil, err
		}
	}
	return false, task.ErrConflict
}
