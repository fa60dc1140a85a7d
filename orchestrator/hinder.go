package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// takeIn is how long the job of an agent that could not work is put off, so that the pause,
// which the event of the attempt brings, is there before it.
const takeIn = 30 * time.Second

// hindrance returns what kept the agent of a run from working; nil where the attempt failed by
// itself, and where no feature pauses agents.
func (e *Engine) hindrance(p task.Project, role stage.Role, r work.Result) *stage.Hindrance {
	pauses := slices.ContainsFunc(e.features, func(f Feature) bool { return f.Attempted != nil })
	if r.Trouble.Kind == "" || !pauses {
		return nil
	}
	agent := p.Agents[role]
	name, _ := work.Identify(e.Agents, agent)
	h := &stage.Hindrance{Agent: name, Kind: string(r.Trouble.Kind), Until: r.Trouble.Until}
	if r.Trouble.Kind == work.TroubleModel {
		h.Model = agent.Model
	}
	return h
}

// hindered gives an attempt back that its agent could not make.
func (e *Engine) hindered(c queue.Claim, t task.Task, l stage.Launch, r work.Result, ev stage.Event) *queue.Outcome {
	e.Log.Warn("an agent cannot work", "task", t.ID, "repo", t.Repo, "agent", ev.Agent.Hindered.Agent, "why", r.Reason)
	then := []queue.Job{e.agentEvent(c, t, l, r, ev)}
	return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(takeIn), Error: r.Reason, Then: then}
}

// takeAttempt has the features add what they keep of an agent's attempt to the transaction
// that takes it in.
func (e *Engine) takeAttempt(ctx context.Context, c Change, r *stage.Report, with *task.Commit) error {
	for _, f := range e.features {
		if f.Attempted == nil || c.Run == nil || r == nil {
			continue
		}
		if err := f.Attempted(ctx, c, *r, with); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// vendorCaveat returns why an agent that is to be of another vendor than the developer was
// is not, or may not be; empty when it is, or need not be.
func (e *Engine) vendorCaveat(ctx context.Context, t task.Task, role stage.Role, agent work.Agent) string {
	if !agent.Independent {
		return ""
	}
	_, own := work.Identify(e.Agents, agent)
	runs, err := e.Records.AgentRuns(ctx, t.ID)
	if err != nil {
		e.Log.Warn("the vendor of the developer cannot be read", "task", t.ID, "repo", t.Repo, "err", err)
	}
	developer := ""
	for _, r := range runs { // the newest is the last
		if r.Role == stage.Developer && r.Status == work.ResultOK {
			developer = r.Vendor
		}
	}
	switch {
	case own == "" || developer == "":
		return fmt.Sprintf("it is not known whether the %s is of another vendor than the developer (%s, %s): "+
			"it may not be independent", role, cmp.Or(own, "unknown"), cmp.Or(developer, "unknown"))
	case own == developer:
		return fmt.Sprintf("the %s is of the same vendor as the developer (%s): it is not independent", role, own)
	default:
		return ""
	}
}
