package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// goneAfter is how long results are waited for before the host is looked at for the
// branch: it may show a push a moment later.
const goneAfter = 2 * time.Minute

// ciSettles is how long after a push a CI that has reported nothing of it may begin yet; it is
// counted from the last change of the task.
const ciSettles = 3 * time.Minute

// How seldom CI is looked at while webhooks come: a host that has sent one a while ago tells of the end of CI by
// another. What stands still for longer than seldomMax the reconciler looks at.
const (
	hearsFor    = 15 * time.Minute
	seldomLooks = 10 // times the usual pause
	seldomMax   = 5 * time.Minute
)

// waitsSince is since when results of the commit of a timer are waited for; changed is when the task has changed last.
func waitsSince(ev stage.Event, f stage.Effect, changed, now time.Time) time.Time {
	switch {
	case isHeard(ev):
		return changed
	case ev.On == stage.OnCI && ev.SHA == f.SHA && !ev.Since.IsZero():
		return ev.Since
	default:
		return now
	}
}

// isHeard reports whether the host has said something of CI that decides nothing yet. It has a timer of its own
// beside the one that runs, which carries what is missing now.
func isHeard(ev stage.Event) bool { return ev.Since.IsZero() && lastLook(ev) != "" }

// lastLook returns why a look at CI has decided nothing; empty for another event.
func lastLook(ev stage.Event) string {
	if ev.On != stage.OnCI || !undecided(ev.Verdict) {
		return ""
	}
	return ev.Verdict.Reason
}

// undecided reports whether a look at CI may end otherwise next time: it has not finished, or
// its results are refused to us.
func undecided(v stage.Verdict) bool { return v.Outcome == stage.Defer || v.Outcome == stage.Error }

// endHopelessWait records in the event that waiting for CI any longer cannot help: it has lasted
// too long, or the branch was deleted at the host. Events that come from outside have no Since:
// the timer, which is always there beside them, does.
func (in intake) endHopelessWait(ctx context.Context, t task.Task, ev *stage.Event) error {
	waited := in.Now().Sub(ev.Since)
	if ev.Since.IsZero() || waited < min(goneAfter, in.opt.CIWait) {
		return nil
	}
	gone := false
	if ev.Verdict.Outcome == stage.Defer && waited >= goneAfter { // a host that refuses us its results says nothing of branches
		var err error
		if gone, err = in.isBranchGone(ctx, t); err != nil {
			return err
		}
	}
	switch {
	case gone:
		ev.Final, ev.Gone = true, true
		ev.Reason = fmt.Sprintf("%.12s is not at the git host any more: the branch %s was deleted there; "+
			"In Progress runs the stage again and makes the branch anew, STOP gives the task up", t.State.Head, t.Branch)
	case waited >= in.opt.CIWait:
		ev.Final = true
		ev.Reason = fmt.Sprintf("CI of %.12s has not finished for %s: %s. Look at it at the git host",
			t.State.Head, stage.Span(in.opt.CIWait), ev.Verdict.Reason)
	}
	return nil
}

// rerun has the host run the checks again that verdicts name, and returns their names. Whatever the host refuses is not tried again.
func (in intake) rerun(ctx context.Context, t task.Task, verdicts []gates.Verdict) (names []string, err error) {
	for _, v := range verdicts {
		for _, c := range v.Again {
			err = githost.ErrLacking
			if host, ok := in.Host.(githost.Rerunner); ok {
				err = host.Rerun(ctx, in.project.Repo, c)
			}
			if fault.Retryable(err) {
				return nil, err
			}
			names = append(names, c.Name)
			in.Log.Info("a check is run again", "task", t.ID, "repo", t.Repo, "check", c.Name, "sha", t.State.Head, "err", err)
		}
	}
	return names, nil
}

// isBranchGone reports whether the branch of a task, which was pushed, is at the host no more.
// One that a person has pushed to stands elsewhere, with an open pull request.
func (in intake) isBranchGone(ctx context.Context, t task.Task) (bool, error) {
	if t.State.Pushed != t.State.Head {
		return false, nil
	}
	if there, err := isAt(ctx, in.Host, t, t.State.Head); err != nil || there {
		return false, err
	}
	if in.project.Plain() {
		return true, nil
	}
	pr, err := in.Host.PullRequest(ctx, in.project.Repo, t.Branch, in.project.Main)
	if errors.Is(err, githost.ErrNotFound) {
		return true, nil
	}
	return err == nil && !pr.Open && !pr.Merged, err
}

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
func (in intake) onOwnCI(ctx context.Context, p triggerPayload) *queue.Outcome {
	t, err := in.Store.Task(ctx, p.TaskID)
	switch {
	case errors.Is(err, task.ErrNotFound):
		return done("there is no such task")
	case err != nil:
		return retryOutcome(err)
	case !t.AwaitsCI(p.Event.SHA):
		return done(errOvertaken.Error())
	}
	var ok bool
	if in.project, ok = in.projectOf(t, stage.OnCI); !ok {
		return retryOutcome(&UnregisteredError{t.Repo})
	}
	ev := p.Event
	if in.project.NeedsCIRun(t, ev.SHA) {
		if ev.CI, err = in.integrate(ctx, t); err != nil {
			return in.notIntegrated(ctx, t, ev, err)
		}
	}
	return in.integrated(t, ev)
}

// integrated raises the event of a job that has ended. No gate is judged here.
func (in intake) integrated(t task.Task, ev stage.Event) *queue.Outcome {
	ev.At = in.Now()
	next := in.triggerJob(t, ev, nil, fmt.Sprintf("ran_ci/%d", in.claim.Job.ID))
	next.Pool = queue.PoolEvents
	return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{next}}
}

// notIntegrated returns the outcome of CI that could not be run: it is tried again, and a
// person is notified of what does not go away.
func (in intake) notIntegrated(ctx context.Context, t task.Task, ev stage.Event, err error) *queue.Outcome {
	switch {
	case errors.Is(err, errOvertaken):
		return done(err.Error())
	case ctx.Err() != nil:
		return released(in.Now(), "interrupted")
	case GivenUp(err, in.claim.Job.Attempt):
		ev.Final = true
		ev.Reason = fmt.Sprintf("CI of %.12s could not be run: %s. Mend that; In Progress runs the stage again",
			ev.SHA, fault.Words(err.Error()))
		return in.integrated(t, ev)
	default:
		in.Log.Warn("CI could not be run",
			"task", t.ID, "repo", t.Repo, "job", in.claim.Job.ID, "attempt", in.claim.Job.Attempt, "err", err)
		return retryOutcome(err)
	}
}

// integrate runs the commands on the head of a task, for as long as the task waits for
// them.
func (in intake) integrate(ctx context.Context, t task.Task) (*stage.CI, error) {
	ctx, stop := in.until(ctx, t.ID, errOvertaken, func(now task.Task) bool { return !now.AwaitsCI(t.State.Head) })
	defer stop()
	// This machine may have seen neither the branch nor main.
	if err := in.Workspaces.Begin(ctx, in.project.Workspace(t), SeedFiles(in.project, t)); err != nil {
		return nil, err
	}
	s, err := in.subject(ctx, in.project, t, stage.Event{On: stage.OnCI})
	if err != nil {
		return nil, err
	}
	out := &stage.CI{SHA: s.SHA, Job: in.claim.Job.ID, Attempt: in.claim.Job.Attempt}
	if in.Logs != nil {
		log, err := in.Logs.KeepLog(ctx, CILog(t.ID, *out))
		if err != nil {
			return nil, fmt.Errorf("the log: %w", err)
		}
		defer func() { _ = log.Close() }() // what was written is there, and the results do not depend on it
		s.Log = log
	}
	out.Results, err = in.runCommands(ctx, in.project.CI, s)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return out, err
}

// ownCI shows gates what the service has run itself as CI.
type ownCI stage.CI

func (c ownCI) Checks(_ context.Context, _, _, sha string) (out []githost.Check, err error) {
	for _, r := range c.Results {
		if r.SHA != sha {
			continue
		}
		one := githost.Check{Name: r.Command, Kind: "command", State: githost.CheckPassed, Provenance: r.Provenance}
		one.Note = strings.TrimSuffix(fmt.Sprintf("exit code %d; %s", r.Exit, r.Note), "; ")
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
func (in intake) judgeAll(ctx context.Context, t task.Task, s gates.Facts, of *gates.Recording, names []string) (gates.Verdict, error) {
	have, err := in.gatesOf(in.project)
	if err != nil {
		return gates.Broken(gates.All, err.Error()), nil
	}
	quick, slow := have.Split(names...)
	v := have.Judge(ctx, s, quick...)
	if len(slow) == 0 || !v.Passed() && !v.Asks {
		return v, nil
	}
	if in.claim.Job.Pool != poolSlowEvents && in.claim.Job.Pool != queue.PoolAgents {
		return v, errApart
	}
	if in.Commands != nil {
		s.Commands = of.Noted(limited{in.Engine, in.claim.Job.Attempt})
	}
	ctx, stop := in.until(ctx, t.ID, task.ErrConflict, func(now task.Task) bool { return now.Version != t.Version })
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
