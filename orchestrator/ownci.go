package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// A plain repository has no CI but the commands of its entry, which the service runs. A
// job of its own does that, in the pool of what takes long and in no order: no event waits
// for it. What came of it is an event with the results, which the task then keeps with the
// commit; gates judge these facts. A process that dies leaves nothing behind, and the job
// runs the commands again.

// CILog names the log of CI that the service has run.
func CILog(taskID int64, ci stage.CI) work.LogName {
	return work.LogName{TaskID: taskID, Role: "ci", Run: ci.Job, Attempt: ci.Attempt}
}

// ownCIJob is the job that runs CI for a commit. One decision has one: another that comes
// back to the same commit finds what the first has brought, or runs it again.
func ownCIJob(t task.Task, f stage.Effect) queue.Job {
	ev := stage.Event{On: stage.OnCI, SHA: f.SHA}
	return queue.Job{
		Pool: poolSlowEvents, Kind: KindCI, TaskID: t.ID, Lane: t.Repo, Payload: encode(triggerPayload{TaskID: t.ID, Event: ev}),
		DedupeKey: fmt.Sprintf("ci/%d/%d/%s", t.ID, t.State.Seq, f.SHA),
	}
}

// errOvertaken ends commands that nobody waits for any more.
var errOvertaken = errors.New("orchestrator: the task does not wait for the CI of that commit any more")

// onOwnCI runs CI for a commit, and raises the event that brings the results.
func (e *Engine) onOwnCI(ctx context.Context, c queue.Claim, p triggerPayload) *queue.Outcome {
	t, err := e.Store.Task(ctx, p.TaskID)
	switch {
	case errors.Is(err, task.ErrNotFound):
		return done("there is no such task")
	case err != nil:
		return retryOutcome(err)
	case !t.AwaitsCI(p.Event.SHA):
		return done(errOvertaken.Error())
	}
	project, ok := e.projectOf(t, stage.OnCI)
	if !ok {
		return retryOutcome(&UnregisteredError{t.Repo})
	}
	ev := p.Event
	if project.NeedsCIRun(t, ev.SHA) {
		if ev.CI, err = e.integrate(ctx, c, project, t); err != nil {
			return e.notIntegrated(ctx, c, t, ev, err)
		}
	}
	return e.integrated(c, t, ev)
}

// integrated raises the event of a job that has ended. No gate is judged here.
func (e *Engine) integrated(c queue.Claim, t task.Task, ev stage.Event) *queue.Outcome {
	ev.At = e.Now()
	next := e.triggerJob(t, ev, nil, fmt.Sprintf("ran_ci/%d", c.Job.ID))
	next.Pool = queue.PoolEvents
	return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{next}}
}

// notIntegrated returns the outcome of CI that could not be run: it is tried again, and a
// person is notified of what does not go away.
func (e *Engine) notIntegrated(ctx context.Context, c queue.Claim, t task.Task, ev stage.Event, err error) *queue.Outcome {
	switch {
	case errors.Is(err, errOvertaken):
		return done(err.Error())
	case ctx.Err() != nil:
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now(), Error: "interrupted"}
	case GivenUp(err, c.Job.Attempt):
		ev.Final = true
		ev.Reason = fmt.Sprintf("CI of %.12s could not be run: %s. Mend that; In Progress runs the stage again",
			ev.SHA, fault.Words(err.Error()))
		return e.integrated(c, t, ev)
	default:
		e.Log.Warn("CI could not be run", "task", t.ID, "repo", t.Repo, "job", c.Job.ID, "attempt", c.Job.Attempt, "err", err)
		return retryOutcome(err)
	}
}

// integrate runs the commands on the head of a task, for as long as the task waits for
// them.
func (e *Engine) integrate(ctx context.Context, c queue.Claim, p task.Project, t task.Task) (*stage.CI, error) {
	ctx, stop := e.until(ctx, t.ID, errOvertaken, func(now task.Task) bool { return !now.AwaitsCI(t.State.Head) })
	defer stop()
	// This machine may have seen neither the branch nor main.
	if err := e.Workspaces.Begin(ctx, p.Workspace(t), SeedFiles(p, t)); err != nil {
		return nil, err
	}
	s, err := e.subject(ctx, p, t, stage.Event{On: stage.OnCI})
	if err != nil {
		return nil, err
	}
	out := &stage.CI{SHA: s.SHA, Job: c.Job.ID, Attempt: c.Job.Attempt}
	if e.Logs != nil {
		log, err := e.Logs.KeepLog(ctx, CILog(t.ID, *out))
		if err != nil {
			return nil, fmt.Errorf("the log: %w", err)
		}
		defer func() { _ = log.Close() }() // what was written is there, and the results do not depend on it
		s.Log = log
	}
	out.Results, err = e.runCommands(ctx, p.CI, s)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return out, err
}

// ownCI shows gates what the service has run itself as CI.
type ownCI stage.CI

// Checks implements gates.CI.
func (c ownCI) Checks(_ context.Context, _, _, sha string) (out []githost.Check, err error) {
	for _, r := range c.Results {
		if r.SHA != sha {
			continue
		}
		one := githost.Check{Name: r.Command, Kind: "command", State: githost.CheckPassed, Note: fmt.Sprintf("exit code %d", r.Exit)}
		if r.Expired != "" {
			one.Note = "it did not end within " + r.Expired
		}
		if r.Exit != 0 {
			one.State, one.Note = githost.CheckFailed, strings.TrimSuffix(one.Note+": "+r.Tail, ": ")
		}
		out = append(out, one)
	}
	return out, nil
}
