package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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
	ctx, stop := e.untilChanged(ctx, t)
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

// untilChanged is a context that ends, because of ErrConflict, when a task has changed: by
// a STOP, say, in another process too. What is judged until then could not be committed.
func (e *Engine) untilChanged(ctx context.Context, t task.Task) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	g := run.NewOn(e.Scheduler, ctx, e.Log)
	g.Go("overtaken", func(ctx context.Context) {
		for e.Wait(ctx, e.opt.Poll) == nil {
			if now, err := e.Store.Task(ctx, t.ID); err == nil && now.Version != t.Version {
				cancel(task.ErrConflict)
				return
			}
		}
	})
	return ctx, g.Stop
}

// limited runs the commands of gates under their time limit. One that is not done by then
// is tried again, up to looks times in all.
type limited struct {
	e       *Engine
	attempt int
}

// RunCheck implements gates.Commands.
func (l limited) RunCheck(ctx context.Context, argv []string, s gates.Facts) (int, string, error) {
	limit := l.e.opt.GateTimeout
	exit, said, expired, err := l.e.runCommand(ctx, limit, argv, s)
	if expired {
		text := fmt.Sprintf("%s did not end within %s and was ended", strings.Join(argv, " "), stage.Span(limit))
		return -1, "", &fault.Error{Text: text, Again: l.attempt < looks}
	}
	return exit, said, err
}

// runCommand runs a command of the registry, no longer than a limit. Whatever it has
// started has ended when this returns.
func (e *Engine) runCommand(
	ctx context.Context, limit time.Duration, argv []string, s gates.Facts,
) (exit int, said string, expired bool, err error) {
	within, cancel := e.Scheduler.WithTimeout(ctx, limit)
	defer cancel()
	exit, said, err = e.Commands.RunCheck(within, argv, s)
	expired = err != nil && within.Err() != nil && ctx.Err() == nil
	return exit, said, expired, err
}
