package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// decideMax is how often an event is decided anew, because others came first, before it is put off.
const decideMax = 5

// apply decides an event of a task and commits the decision. When the task has changed meanwhile it loads it again and decides again.
func (in intake) apply(ctx context.Context, t task.Task, ev stage.Event, run *task.AgentRun) *queue.Outcome {
	for range decideMax {
		o, err := in.try(ctx, t, ev, run)
		if !errors.Is(err, task.ErrConflict) {
			return o
		}
		if t, err = in.Store.Task(ctx, t.ID); err != nil {
			return retryOutcome(err)
		}
	}
	return retryOutcome(task.ErrConflict)
}

// try decides an event once. The error is that of the commit.
func (in intake) try(ctx context.Context, t task.Task, ev stage.Event, run *task.AgentRun) (*queue.Outcome, error) {
	why, err := adoptPushed(ctx, in.Engine, in.project, t, &ev)
	if err != nil {
		return retryOutcome(err), nil
	}
	if why != "" {
		return done(why), nil
	}
	v, of, err := in.judge(ctx, t, ev)
	switch {
	case errors.Is(err, errApart):
		return apart(in.claim.Job, t), nil
	case errors.Is(err, task.ErrConflict):
		return retryOutcome(err), err
	case err != nil && ctx.Err() != nil:
		return released(in.Now(), "interrupted"), nil
	case err != nil:
		return retryOutcome(err), nil
	}
	if v != nil {
		ev.Verdict = verdictOf(*v)
	}
	if _, word := stage.BoardTrigger(stage.Status(ev.On)); word && t.State.Active != "" {
		if ev.Waits, err = DescribeWait(ctx, in.Engine, t); err != nil {
			return retryOutcome(err), nil
		}
	}
	if ev.On == stage.OnStop && !ev.Unbegun {
		if ev.Unbegun, err = isUnbegun(ctx, in.Engine, t); err != nil {
			return retryOutcome(err), nil
		}
	}
	if v != nil && ev.On == stage.OnCI && ev.Verdict.Outcome == stage.Defer {
		if ev.Reran, err = in.rerun(ctx, t, single(*v)); err != nil {
			return retryOutcome(err), nil
		}
	}
	if ev.On == stage.OnCI && undecided(ev.Verdict) {
		if err := in.endHopelessWait(ctx, t, &ev); err != nil {
			return retryOutcome(err), nil
		}
	}
	err = in.commit(ctx, t, ev, in.machine.Decide(t.State, ev), v, of, run)
	return in.finish(err), err
}

// judge evaluates the gates of the edge that the event meets, on the subject that is recorded. The verdict is nil when the edge has none.
// A gate that could not look, for a reason that may go away, is an error: the event is to be tried again; errApart: it is to be judged in
// another pool; ErrConflict: the task has changed meanwhile.
func (in intake) judge(ctx context.Context, t task.Task, ev stage.Event) (*gates.Verdict, *gates.Recording, error) {
	names := gatesAt(in.machine, in.project, t.State, ev)
	if len(names) == 0 {
		return nil, nil, nil
	}
	s, err := in.subject(ctx, in.project, t, ev)
	if err != nil {
		return nil, nil, err
	}
	s, of := gates.Record(s)
	v, err := in.judgeAll(ctx, t, s, of, names)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range single(v) {
		in.Metrics.GateVerdicts.Add(1, one.Check, one.Outcome.String())
	}
	if v.Outcome == gates.Error && v.Retryable {
		return nil, nil, unreachable(v)
	}
	return &v, of, nil
}

// unreachable is the error of gates that could not look.
func unreachable(v gates.Verdict) error {
	return &fault.Error{Text: v.Reason, Again: true, Wait: v.RetryAfter}
}

// commit writes a decision down: the task, its story with what was judged, and what it owes.
func (in intake) commit(
	ctx context.Context, t task.Task, ev stage.Event, d stage.Decision, v *gates.Verdict, of *gates.Recording, run *task.AgentRun,
) error {
	now := in.Now()
	out := task.Commit{Claim: &in.claim, Unclaimed: in.owed}
	before := t.State
	next := t
	next.State = d.State
	if run != nil {
		out.Runs = append(out.Runs, *run)
	}
	// A decision that changes nothing is stored only beside the version that it was made on too: else it could stand in the journal behind
	// a newer one, and an event could mean nothing to a state that is gone. The row stays as it is: a new version for nothing would make
	// others decide again that have read the same state.
	out.Task, out.Unchanged = &next, !d.Moved
	if d.Moved {
		stamp(&next, before, ev, now)
	}
	if ev.On == stage.OnBranchTaken && d.Moved {
		branch, err := in.otherBranch(ctx, next)
		if err != nil {
			return err
		}
		next.Branch = branch
		said := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: fmt.Sprintf(
			"The branch %s is another's: the work of this task is in %s. If two servers work on this board, stop one.", ev.Branch, branch)}
		out.Jobs = append(out.Jobs, EffectJob(next, in.project, said, "taken/"+task.Identity(next)+branch))
	}
	if v != nil && d.Moved {
		out.Gates = append(out.Gates, task.GateResult{TaskID: t.ID, Stage: before.Stage, Verdict: *v, At: now})
	}
	record := task.Recorded{Event: ev, Decision: d}
	kept := in.addFacts(ctx, &out, &record, of)
	out.Journal = append(out.Journal, task.JournalEntry{
		TaskID: t.ID, Seq: d.State.Seq, At: now, Kind: task.KindDecision, Payload: record.Payload(),
	})
	if err := in.judged(ctx, &out, before, ev, d); err != nil {
		return err
	}
	if before.Stage == stage.None {
		out.Over = append(out.Over, task.Fact{Kind: factRefused, Of: t.TrackerIssueID})
	}
	if d.Cancel {
		out.CancelPools = []string{queue.PoolAgents}
	}
	if d.State.Stage == stage.Cancelled && before.Stage != stage.Cancelled {
		out.CancelQueued = in.opt.Places.pools(queuedPools())
	}
	if d.Launch != nil {
		out.Jobs = append(out.Jobs, agentJob(next, *d.Launch, in.machine.Pipeline().First(next.State)))
	}
	for i, f := range d.Effects {
		if f.Kind == stage.EffectAskCI {
			if in.project.NeedsCIRun(next, f.SHA) {
				out.Jobs = append(out.Jobs, ownCIJob(next, f))
			} else {
				out.Jobs = append(out.Jobs, in.askCIJob(ctx, next, f, ev, now))
			}
			continue
		}
		out.Jobs = append(out.Jobs, EffectJob(next, in.project, f, fmt.Sprintf("%s/%d/%d", task.Identity(next), d.State.Seq, i)))
	}
	change := Change{Task: next, Before: before, Run: run, With: &out}
	if run != nil {
		change.Report = ev.Agent
	}
	if ended := change.Ended() || next.State.Stopping; ended || before.PR > next.State.PR { // a STOP waits for no card
		out.Free = append(out.Free, allHolds(t.ID, ended)...)
	}
	if err := in.addKept(ctx, &change, d.Moved); err != nil {
		return err
	}
	out.Tell(next, now, nil)
	if err := in.Store.Commit(ctx, out); err != nil {
		return err
	}
	kept()
	if d.Cancel {
		in.stopAgents(next.ID, before.Run)
	}
	if next.State.Stopping && !before.Stopping { // what waits in a merge queue leaves it; without this it does so a little later
		_, _ = in.Jobs.Hasten(ctx, LaneHost.PoolOf(in.project), t.ID)
	}
	in.recordMetrics(next, before, ev, d)
	if change.With = nil; d.Moved {
		in.notifyFeatures(ctx, change)
	}
	return nil
}

// notifyFeatures passes on a change that is durable now, and has looked at what it may let start, or may keep from it.
func (in intake) notifyFeatures(ctx context.Context, c Change) {
	if c.Ended() || c.launched() || c.Run != nil || c.Before.Hold != c.Task.State.Hold {
		in.Admission.Mark(c.Task.Repo)
	}
	if c.Run == nil && c.Before.Active != "" && c.Task.State.Active == "" {
		in.Admission.Mark("", c.Task.ID)
	}
	if c.Ended() && c.behind != nil {
		in.Admission.Mark("", c.behind.ID)
	}
	if err := passOn(ctx, in.features, c); err != nil {
		in.Log.Error("a change could not be passed on", "task", c.Task.ID, "repo", c.Task.Repo, "err", err)
	}
}

// addKept adds what features and rules keep of a change. What they say of a beginning or an end is committed only if
// no other began or ended beside it meanwhile, in another process either.
func (in intake) addKept(ctx context.Context, c *Change, moved bool) error {
	if moved && len(in.Admission.Rules) > 0 && (c.Began() || c.Ended()) {
		ahead, behind, err := beside(ctx, in.Store, c.Task)
		switch {
		case fault.Retryable(err):
			return err
		case err != nil:
		case c.Began() && behind != nil: // it has begun meanwhile, and may be at work: a later number stands behind it
			return task.ErrConflict
		default:
			c.behind, c.With.Line = behind, &task.Line{}
			if ahead != nil {
				c.With.Line.Ahead = ahead.ID
			}
			if behind != nil {
				c.With.Line.Behind = behind.ID
			}
		}
	}
	if err := passOn(ctx, in.features, *c); err != nil {
		return err
	}
	if moved && (c.launched() || c.Ended()) { // by what the features have added, too
		return in.Admission.Decide(ctx, admit.Start{Task: c.Task, Run: c.Run, With: c.With})
	}
	return nil
}

// beside reads the neighbours of a task in the line of its repository; nil = none.
func beside(ctx context.Context, s task.Store, t task.Task) (ahead, behind *task.Task, err error) {
	first := func(f task.Filter) *task.Task {
		f.Repo, f.Live, f.Limit = t.Repo, true, 1
		list, failed := s.Tasks(ctx, f)
		if err = errors.Join(err, failed); len(list) == 0 {
			return nil
		}
		return &list[0]
	}
	return first(task.Filter{BeforeID: t.ID}), first(task.Filter{AfterID: t.ID}), err
}

// stamp keeps the clocks of a task.
func stamp(t *task.Task, before stage.State, ev stage.Event, at time.Time) {
	t.UpdatedAt = at
	if t.State.Stage != before.Stage {
		t.StageEnteredAt = at
	}
	toApprove := t.State.Hold == stage.HoldApproval && before.Hold != stage.HoldApproval
	if t.State.Stage == stage.Analysis && toApprove && t.BRDReviewStartedAt.IsZero() {
		t.BRDReviewStartedAt = at
	}
	if (t.State.Stopping || t.State.Stage == stage.Cancelled) && t.CancelRequestedAt.IsZero() {
		t.CancelRequestedAt = ev.At
	}
	if t.State.Stage == stage.Cancelled && before.Stage != stage.Cancelled {
		t.CancelledAt = at
		for _, key := range []*string{&t.TrackerIssueID, &t.WorkItemID, &t.Branch} {
			*key = task.Tombstone(*key, t.ID, at)
		}
	}
	if before.Stage == stage.Analysis && t.State.Stage != before.Stage && !t.State.Stage.Terminal() {
		t.BRDReviewEndedAt = at
		t.ApprovedAt, t.ApprovedBy = ev.At, ev.By.Who()
	}
}

// recordMetrics records a decision in the log and the meter.
func (in intake) recordMetrics(t task.Task, before stage.State, ev stage.Event, d stage.Decision) {
	log := in.Log.With("task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo)
	if !d.Moved {
		log.Debug("event changes nothing", "on", ev.On, "stage", t.State.Stage, "why", d.Notes)
		return
	}
	log.Info("decided", "on", ev.On, "from", before.Stage, "to", t.State.Stage, "why", d.Notes)
	in.Metrics.Transitions.Add(1, string(before.Stage), string(t.State.Stage))
	if before.Leased && !t.State.Leased && !before.LeasedAt.IsZero() {
		in.Metrics.MergeLeaseHeld.Observe(t.UpdatedAt.Sub(before.LeasedAt).Seconds())
	}
	if t.State.Retries > before.Retries {
		in.Metrics.Retries.Add(1, string(t.State.Stage))
	}
	if a := ev.Agent; a != nil {
		in.Metrics.Tokens.Add(float64(a.Input), "input")
		in.Metrics.Tokens.Add(float64(a.Output), "output")
		in.Metrics.Tokens.Add(float64(a.CacheRead), "cache_read")
		in.Metrics.Tokens.Add(float64(a.CacheCreate), "cache_creation")
		in.Metrics.Cost.Add(float64(a.MicroUSD)/1e6, string(a.Role))
	}
}

// handleEffect makes an effect. An unknown kind (its feature was switched off meanwhile) is given up, visibly.
func (e *Engine) handleEffect(ctx context.Context, c queue.Claim) *queue.Outcome {
	var f Effect
	if err := json.Unmarshal(c.Job.Payload, &f); err != nil {
		return &queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
	}
	runner := e.Runners[f.Kind]
	if runner == nil {
		return &queue.Outcome{Kind: queue.OutcomeDead, Error: fmt.Sprintf("nobody runs the effect %q", f.Kind)}
	}
	f.Attempt, f.Killed, f.Put = c.Job.Attempt, c.Job.Attempt > 1 && c.Job.Error == queue.LostHeartbeat, c.Job.CreatedAt
	if irreversible(f.Kind) {
		f.Confirm = func(ctx context.Context) error { return e.Jobs.Extend(ctx, c, e.opt.JobTTL) } // a machine may have slept
		t, err := e.Store.Task(ctx, f.TaskID)
		switch {
		case err != nil:
			return retryOutcome(err)
		case t.State.Stopping && unbegun(c.Job):
			return stopUnbegun(e, t)
		case t.State.Phase != stage.PhaseMerge || t.State.Head != f.SHA: // a word came after this job was put
			return done("the task, at " + string(t.State.Stage) + ", waits for no such merge")
		}
		if item, err := lookTwice(ctx, e, t); !t.State.Stopping && (err != nil || IsAway(item)) { // a STOP waits for no card
			return putOff(e, c.Job, t, item, err)
		}
	}
	if o := awaitPull(ctx, e, c.Job, f); o != nil {
		return o
	}
	if removes := f.Kind == stage.EffectTidy || f.Kind == EffectCancel; removes && isAtWork(e, f.TaskID) {
		return released(e.Now().Add(time.Second), "an attempt of the task has not ended")
	}
	var o queue.Outcome
	if err := run.Guard("effect "+string(f.Kind), func() { o = runner.Run(ctx, f) }); err != nil {
		o = Retry(err)
	}
	if irreversible(f.Kind) && o.Kind == queue.OutcomeRetry && unbegun(c.Job) && errors.As(o.Cause, new(*unsentError)) {
		o.Error = notBegun + o.Error
	}
	if f.TaskID != 0 && errors.Is(o.Cause, tracker.ErrNotFound) {
		o = e.withoutCard(ctx, f, o)
	}
	return &o
}

// needed are the effects that a stage cannot go on without, and what they do in words.
// The merge and the merge gate report a failure by events of their own.
var needed = map[stage.EffectKind]string{
	stage.EffectPrepare: "the branch could not be made",
	stage.EffectPublish: "the branch could not be published",
	EffectRevert:        "what has landed could not be taken back",
	stage.EffectPull:    "the pull request could not be opened",
}

// IsNeeded reports whether a stage cannot go on without effects of a kind.
func IsNeeded(kind stage.EffectKind) bool { return needed[kind] != "" }

// givenUp returns the jobs that notify people of an effect that was given up: by blocking the
// task when its stage needs it. A chat that refuses is no way to say so.
func (p pool) givenUp(j queue.Job, why string) []queue.Job {
	var f Effect
	if !IsEffect(j) || json.Unmarshal(j.Payload, &f) != nil || LaneOf(f.Kind) == LaneChat {
		return nil
	}
	why = fault.Words(why)
	if what, ok := needed[f.Kind]; ok && f.TaskID != 0 {
		return []queue.Job{TriggerJob(f, stage.Event{On: stage.OnEffectFailed, At: p.Now(), Reason: what + ": " + why})}
	}
	text := fmt.Sprintf("%s could not be made and is given up: %s", f.Describe(), why)
	return []queue.Job{FollowUpJob(f, stage.Effect{Kind: stage.EffectNotify, Text: text}, "given_up/"+f.Key)}
}
