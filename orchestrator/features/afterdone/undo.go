package afterdone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// rows add the lane of an undo, its beginning, and the report of its commit.
func rows(p stage.Pipeline) stage.Pipeline {
	const s = stage.Development
	p.Lanes = append(slices.Clone(p.Lanes), stage.Lane{Name: stage.UndoLane, Stages: []stage.Stage{s, stage.Deploy}})
	p.Edges = append(p.Edges,
		stage.Edge{On: orchestrator.OnUndo, Do: stage.DoEnter, To: s, Why: "what has landed is taken back"},
		stage.Edge{From: s, On: orchestrator.OnReverted, Do: stage.DoRecord, To: s, Why: "the revert is made; CI decides"})
	return p
}

// rule leads an undo, which no agent works on before it is merged: the service makes its commit, a person approves it,
// and what would send it to the developer waits for people.
func rule(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	n := &d.State
	if !d.Moved || n.Lane != stage.UndoLane {
		return d
	}
	again := e.On == stage.OnInProgress || e.On == stage.OnApproved || e.On == stage.OnRetry
	switch launches := d.Launch != nil && n.Stage == stage.Development; {
	case e.On == orchestrator.OnReverted:
		n.Head = e.SHA
		d.Effects = append(slices.Clone(d.Effects),
			stage.Effect{Kind: stage.EffectPublish, SHA: e.SHA, Expected: s.Pushed}, stage.Effect{Kind: stage.EffectAskCI, SHA: e.SHA})
		return d
	case launches && (s.Stage == stage.None || again):
		d.Launch, n.Active, n.Run = nil, "", s.Run
		d.Effects = slices.DeleteFunc(slices.Clone(d.Effects), func(f stage.Effect) bool {
			return f.Kind == stage.EffectPrepare || f.Kind == stage.EffectComment && s.Stage == stage.None
		})
		text := fmt.Sprintf("What %s has landed is taken back, on a branch of its own: CI tests it, and a person approves it.", n.Follows)
		if s.Stage == stage.None {
			n.ActedAt = e.Seen // no word of before is about it
			d.Effects = append(d.Effects, comment(text, ""))
		}
		d.Effects = append(d.Effects, stage.Effect{Kind: orchestrator.EffectRevert})
		return d
	case launches:
		why := "the undo is not as it should be, and no agent works on it"
		if n.Feedback != "" {
			why = n.Feedback
		}
		way := "Push what is missing to its branch, set In Progress to have it tested again, or STOP to give it up"
		return hold(s, e, d, stage.HoldBlocked, stage.StatusBlocked, why, "Blocked: "+why+".\n"+way+".")
	case s.Stage == stage.Development && n.Stage != s.Stage && !n.Stage.Terminal() && n.Vouched.SHA != n.Head:
		why := fmt.Sprintf("it takes back what %s has landed", n.Follows)
		return hold(s, e, d, stage.HoldApproval, stage.StatusInReview, "a person's word for this commit: "+why,
			"A person has to stand for this commit: "+why+".\nSet the status Approved to let it pass, or STOP to give the undo up.")
	default:
		return d
	}
}

// hold has an undo wait for people at development.
func hold(s stage.State, e stage.Event, d stage.Decision, on stage.Hold, shown stage.Status, why, text string) stage.Decision {
	out := stage.Divert(s, e, d, stage.Development, stage.PhaseNone, why)
	n := &out.State
	n.Hold, n.HoldReason, n.Set = on, why, shown
	if e.On == stage.OnRejected {
		n.Refused = why
	}
	out.Effects = slices.DeleteFunc(out.Effects, func(f stage.Effect) bool { return f.Kind == stage.EffectStatus })
	out.Effects = append(out.Effects, comment(text, n.Head),
		stage.Effect{Kind: stage.EffectStatus, Status: shown, Replaces: stage.Replaceable(s.Acted, s.Set), Previous: s.Set},
		stage.Effect{Kind: stage.EffectNotify, Text: text})
	return out
}

func comment(text, sha string) stage.Effect {
	return stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text, SHA: sha}
}

// freeze lets nobody else begin or merge in the repository of an undo until it has ended.
func (o Options) freeze(_ context.Context, m any) error {
	c, _ := m.(orchestrator.Change)
	t := c.Task
	if c.With == nil || t.State.Lane != stage.UndoLane {
		return nil
	}
	p, _ := o.Projects.ByRepo(t.Repo)
	key := task.OriginalKey(t.WorkItemID)
	for _, subject := range []string{orchestrator.RoleInRepo(stage.Analyst, t.Repo), orchestrator.MergesIn(t.Repo)} {
		h := queue.Hold{Subject: subject, Name: Freeze + "/" + key, Reason: fmt.Sprintf(
			"%s is frozen until %s is over, which takes back what was merged", t.Repo, key,
		)}
		switch {
		case c.Began() && o.Freeze && !p.SelfHosting:
			c.With.Hold = append(c.With.Hold, h)
		case c.Ended():
			c.With.Free = append(c.With.Free, h, queue.Hold{Subject: subject, Name: Freeze}) // as an earlier version has named it
		}
	}
	return nil
}

// revert makes the branch of an undo with its commit; again, it finds what was made.
func (o Options) revert(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, o.Store, o.Projects)
	if err != nil {
		return orchestrator.Retry(err)
	}
	if t.State.Stage != stage.Development {
		return queue.Outcome{Kind: queue.OutcomeDone, Error: "it is not waited for any more"}
	}
	report := func(ev stage.Event, more ...queue.Job) queue.Outcome {
		return queue.Outcome{Kind: queue.OutcomeDone, Then: append([]queue.Job{orchestrator.TriggerJob(e, ev)}, more...)}
	}
	landed, err := o.landed(ctx, t)
	if err != nil {
		return orchestrator.Retry(err)
	}
	space := p.Workspace(t)
	var tip work.Tip
	if err = o.Workspaces.Begin(ctx, space, orchestrator.SeedFiles(p, t)); err == nil {
		tip, err = o.Workspaces.(work.Reverter).Revert(ctx, space, landed, fmt.Sprintf("%s: take back %s", t.WorkItemID, t.State.Follows))
	}
	var conflict *work.Conflict
	switch {
	case errors.Is(err, work.ErrTaken): // again, on a branch of another name
		taken := stage.Event{On: stage.OnBranchTaken, At: o.Now(), Branch: t.Branch}
		return report(taken, orchestrator.FollowUpJob(e, e.Effect, e.Key+"/"+t.Branch))
	case errors.As(err, &conflict) || err != nil && !fault.Retryable(err):
		why := err.Error()
		if conflict != nil {
			why = fmt.Sprintf("%.12s conflicts with what was merged since in %s", landed[0].Merge, strings.Join(conflict.Files, ", "))
		}
		way := "In Progress tries it again"
		tip, err = o.Workspaces.Tip(ctx, space)
		if err == nil && tip.SHA != "" { // for people to go on from
			if err = o.Workspaces.Push(ctx, space, tip.SHA, t.State.Pushed); err == nil || t.State.Pushed != "" {
				way = "Take it back by hand (git revert) on the branch " + t.Branch +
					" and push that: it is tested and approved as any other"
			}
		}
		switch {
		case fault.Retryable(err):
			return orchestrator.Retry(err)
		case errors.Is(err, work.ErrRemoved):
			return report(stage.Event{On: stage.OnEffectFailed, At: o.Now(), Gone: true, Reason: t.Deleted()})
		}
		why = fmt.Sprintf("what %s has landed cannot be taken back by the service: %s. %s; or STOP gives the undo up",
			t.State.Follows, fault.Words(why), way)
		return report(stage.Event{On: stage.OnEffectFailed, At: o.Now(), Reason: why})
	case err != nil:
		return orchestrator.Retry(err)
	}
	return report(stage.Event{On: orchestrator.OnReverted, At: o.Now(), SHA: tip.SHA})
}

// landed lists what the task that is undone has merged, by its journal, the newest first: a deployment that was
// rejected had been merged as well.
func (o Options) landed(ctx context.Context, undo task.Task) (out []work.Landing, err error) {
	list, err := o.Store.Tasks(ctx, task.Filter{Repo: undo.Repo, WorkItemID: undo.State.Follows, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, errors.Join(err, fmt.Errorf("afterdone: there is no task %s", undo.State.Follows))
	}
	entries, err := o.Store.Journal(ctx, list[0].ID)
	for _, j := range slices.Backward(entries) {
		r, err := j.Recorded()
		if n := r.Decision.State; err == nil && r.Event.On == stage.OnMergeDone && r.Decision.Moved && n.MergeSHA != "" {
			out = append(out, work.Landing{Merge: r.Event.SHA, Head: n.Head})
		}
	}
	if len(out) == 0 && err == nil {
		err = fmt.Errorf("afterdone: the journal of %s has no merge", undo.State.Follows)
	}
	return out, err
}
