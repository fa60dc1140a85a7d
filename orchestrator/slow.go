package orchestrator

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Slow gates may take minutes (gates.Slow: commands of the registry). An event that meets
// one is handed over, with its payload, to a pool and an order of their own, once all other
// gates of its edge let it pass. So a command delays no event but those that wait for
// commands as well, and a STOP of its own task overtakes it.

// errApart means that an event meets a slow gate in a pool that must not wait for it.
var errApart = errors.New("orchestrator: a slow gate is judged in a pool of its own")

// apart hands an event over to the pool of slow gates. What is decided meanwhile comes
// first: there, the event is read as if it had just arrived.
func apart(j queue.Job, t task.Task) *queue.Outcome {
	next := queue.Job{
		Pool: poolSlowEvents, Kind: j.Kind, Key: itemKey(t.TrackerIssueID) + "/slow", TaskID: j.TaskID, Lane: t.Repo, Payload: j.Payload,
	}
	if j.DedupeKey != "" {
		next.DedupeKey = j.DedupeKey + "/slow"
	}
	why := "its gate runs a command: judged in the pool " + poolSlowEvents
	return &queue.Outcome{Kind: queue.OutcomeDone, Error: why, Then: []queue.Job{next}}
}

// judgeAll judges the quick gates, and the slow ones when those let the task pass or only
// a person's word is missing.
func (e *Engine) judgeAll(
	ctx context.Context, j queue.Job, p task.Project, t task.Task, s gates.Facts, names []string,
) (gates.Verdict, error) {
	have, err := e.gatesOf(p)
	if err != nil {
		return gates.Broken(gates.All, err.Error()), nil
	}
	quick, slow := have.Split(names...)
	v := have.Judge(ctx, s, quick...)
	if len(slow) == 0 || !v.Passed() && !v.Asks {
		return v, nil
	}
	if j.Pool != poolSlowEvents && j.Pool != queue.PoolAgents {
		return v, errApart
	}
	if e.Commands != nil {
		s.Commands = limited{e, j.Attempt}
	}
	ctx, stop := e.until(ctx, t.ID, task.ErrConflict, func(now task.Task) bool { return now.Version != t.Version })
	defer stop()
	each := single(v)
	for _, name := range slow {
		each = append(each, have.Judge(ctx, s, name))
	}
	return gates.Combine(s.SHA, each...), context.Cause(ctx)
}

// single are the verdicts that one was combined of, else itself.
func single(v gates.Verdict) []gates.Verdict {
	if len(v.Children) == 0 {
		return []gates.Verdict{v}
	}
	return v.Children
}
