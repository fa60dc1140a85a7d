// Package agentpause keeps tasks from an agent that could work for none of them: nobody is
// signed in, its account is empty, a limit of use is reached, its model does not exist.
//
// The first run that ends so pauses the agent, for all tasks and in all processes, in the
// transaction that takes the run in, with one notice to people. The run is no failure of its
// task, and the agent's jobs wait: they take no slot and are not looked at.
//
// Where the agent has said when it can work again, the pause ends then, and one task tries it
// every hour until then, for the agent may be wrong or lie. Elsewhere one task at a time tries
// it: after 5 minutes, then 10, 20, 40, and every hour; a full disk each minute. When a service starts one tries it too.
// A run that works ends the pause, with a second notice; one that meets the same trouble puts
// off the next try and notifies nobody. Another registry and an operator end a pause at once.
//
// A pause is a row that each change compares with what it was decided on, so that of two
// processes which see the same one notice is owed by one of them.
package agentpause

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Name of the feature and of its rule.
const Name = "agent_pause"

// Pauses is the feature.
type Pauses struct {
	opt  orchestrator.Parts
	left atomic.Int64 // how many pauses there were when they were looked at
}

// New checks the options.
func New(o orchestrator.Parts) (*Pauses, error) {
	if err := o.Complete("agentpause"); err != nil {
		return nil, err
	}
	return &Pauses{opt: o}, nil
}

// Feature is the feature for the engine.
func (f *Pauses) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name,
		On:   f.on, Admission: []admit.Rule{f.rule()}, Show: f.show,
	}
}

func (f *Pauses) rule() admit.Rule {
	return admit.Rule{
		Name: Name, Closed: "which agents are paused could not be read", Tend: f.tend, Read: f.read, Admitted: f.admitted,
		Hinders: true,
	}
}

// uses reports whether the agent that a task waits for is the one of a pause.
func (f *Pauses) uses(t task.Task, p task.Pause) bool {
	project, ok := f.opt.Projects.ByRepo(t.Repo)
	if !ok || t.State.Active == "" {
		return false
	}
	agent := project.Agents[t.State.Active]
	name, _ := work.Identify(f.opt.Agents, agent)
	return p.Stops(name, agent.Model)
}

// The times between two tries of an agent that is paused.
const (
	firstTry = 5 * time.Minute
	roomTry  = time.Minute // of a full disk, which may have room at any moment
	lastTry  = time.Hour
)

// nextTry is when a task tries an agent that was found to be unable now: the time between
// two tries doubles.
func nextTry(kind work.TroubleKind, since, now time.Time) time.Time {
	if kind == work.TroubleRoom {
		return now.Add(roomTry)
	}
	return now.Add(min(max(now.Sub(since), 0)+firstTry, lastTry))
}

// The bounds of an end that an agent has named, from now.
const (
	endMin = time.Minute
	endMax = 8 * 24 * time.Hour // limits of use are of a week at most
)

// on keeps what an attempt says of its agent.
func (f *Pauses) on(ctx context.Context, m any) error {
	c, _ := m.(orchestrator.Change)
	r, with := c.Report, c.With
	if r == nil || with == nil {
		return nil
	}
	stored, err := f.opt.Store.Pauses(ctx)
	if err != nil {
		return err
	}
	now := f.opt.Now().UTC()
	if h := r.Hindered; h != nil {
		p := f.renewed(stored, *h, r.Reason, c.Task.ID, now)
		fresh := !slices.ContainsFunc(stored, func(o task.Pause) bool {
			return o.Agent == p.Agent && o.Model == p.Model && o.Kind == p.Kind
		})
		with.Pauses = append(with.Pauses, p)
		if fresh {
			f.opt.Log.Error("an agent is paused for all tasks", "trouble", p.Kind, "task", waitText(p), "why", p.Reason)
			with.Jobs = append(with.Jobs, notice(p, "paused", name(p)+" is paused", pausedText(p, now)))
		}
		return nil
	}
	for _, p := range stored {
		switch {
		case p.Agent != c.Run.Agent || c.Run.Started.Before(p.Since) || p.Model != "" && p.Task != c.Task.ID:
		case c.Run.Status == work.ResultOK || c.Run.Usage.Output > 0:
			f.opt.Log.Info("an agent works again", "agent", p.Agent, "model", p.Model)
			f.end(with, p, "a run of it has worked")
		case p.Task == c.Task.ID: // it failed otherwise, which says nothing
			p.Task, p.Next = 0, nextTry(p.Kind, p.Since, now)
			with.Pauses = append(with.Pauses, p)
		}
	}
	return nil
}

// renewed is the pause that a hindrance begins or goes on with.
func (f *Pauses) renewed(stored []task.Pause, h stage.Hindrance, reason string, taskID int64, now time.Time) task.Pause {
	kind := work.TroubleKind(h.Kind)
	p := task.Pause{Agent: h.Agent, Model: h.Model, Since: now, Next: nextTry(kind, now, now)}
	if i := slices.IndexFunc(stored, func(o task.Pause) bool { return o.Agent == h.Agent && o.Model == h.Model }); i >= 0 {
		p = stored[i]
		if p.Task == taskID {
			p.Task, p.Next = 0, nextTry(kind, p.Since, now)
		}
	}
	p.Kind, p.Reason, p.Until = kind, reason, time.Time{}
	if !h.Until.IsZero() {
		p.Until = now.Add(min(max(h.Until.Sub(now), endMin), endMax)).UTC()
		p.Task, p.Next = 0, now.Add(lastTry)
	}
	return p
}

// end adds the end of a pause, and its notice.
func (f *Pauses) end(with *task.Commit, p task.Pause, why string) {
	with.Resumed = append(with.Resumed, p)
	text := fmt.Sprintf("%s: %s. It was paused since %s: %s.", name(p), why, orchestrator.Moment(f.opt.Now(), p.Since), p.Kind.What())
	with.Jobs = append(with.Jobs, notice(p, "resumed", name(p)+" is used again", text))
}
