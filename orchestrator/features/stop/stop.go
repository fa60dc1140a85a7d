// Package stop cancels a task when a person sets STOP: its agent is ended, its
// jobs are cancelled and never run again, its workspace and its branch are
// removed, and its names are free for a new task. Documents stay in the mirror,
// the board stays as the person left it.
//
// In the middle of a merge or a deployment STOP waits until that has finished or
// an attempt has failed, and takes effect then.
package stop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// name of the feature.
const name = "stop"

// feature is the feature with its parts; it needs Workspaces and Agents too.
type feature struct{ orchestrator.Parts }

// Feature is STOP for the engine.
func Feature(p orchestrator.Parts) (orchestrator.Feature, error) {
	o := feature{p}
	if err := o.Complete("stop"); err != nil {
		return orchestrator.Feature{}, err
	}
	return orchestrator.Feature{
		Name:    name,
		Rules:   []stage.Rule{Rule},
		Runners: map[stage.EffectKind]orchestrator.Runner{orchestrator.EffectCancel: orchestrator.RunnerFunc(o.clear)},
		Show:    o.show,
	}, nil
}

// Owed is for a program that is built without the feature: it ends the tasks whose STOP was taken before, and removes what
// cancelled ones have left.
func Owed(p orchestrator.Parts) (orchestrator.Feature, error) {
	f, err := Feature(p)
	f.Name, f.Show = name+"_owed", nil
	f.Rules = []stage.Rule{func(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
		if !s.Stopping {
			return d
		}
		return Rule(s, e, d)
	}}
	return f, err
}

// critical reports whether a task is in the middle of what cannot be undone. A
// deployment that waits for a person, blocked or with questions open, is not.
func critical(s stage.State) bool {
	return s.Stage == stage.Deploy && (s.Phase == stage.PhaseMerge || s.Phase == stage.PhaseRelease) && s.Hold == stage.HoldNone
}

// Rule makes STOP a decision.
func Rule(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	if s.Stage == stage.None || s.Stage.Terminal() {
		return d
	}
	switch {
	case critical(s) && (e.On == stage.OnStop && !e.Unbegun || e.On == stage.OnRetry && s.Stopping): // which does not end it
		return wait(s, e, d)
	case e.On == stage.OnStop:
		return cancel(s, e, stage.Decision{State: s, Edge: d.Edge}, "STOP")
	case s.Stopping && (!critical(d.State) || d.Moved && e.On == stage.OnAgentAttempt): // which is not made again
		return cancel(s, e, d, "STOP; the deployment that was under way has ended")
	default:
		return d
	}
}

// wait notes a STOP that comes in the middle of a merge or deployment.
func wait(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	const why = "STOP waits until the deployment that is under way has finished"
	out := stage.Decision{State: s, Edge: d.Edge, Notes: []string{why}}
	if s.Stopping {
		return out
	}
	if out.State.Stopping, out.Moved = true, true; !e.Seen.IsZero() { // as in cancel
		out.State.Acted, out.State.ActedAt = stage.StatusStop, e.Seen
	}
	out.State.Seq++
	out.Effects = []stage.Effect{{Kind: stage.EffectComment, Author: stage.Stream, Text: why + "."}}
	return out
}

// cancel ends the task. Of what was decided on top, only words remain.
func cancel(s stage.State, e stage.Event, d stage.Decision, why string) stage.Decision {
	out := stage.Decision{State: d.State, Moved: true, Cancel: true, Edge: d.Edge, Notes: append(slices.Clone(d.Notes), why)}
	out.Effects = slices.DeleteFunc(slices.Clone(d.Effects), func(f stage.Effect) bool { return f.Kind != stage.EffectComment })
	n := &out.State
	n.Stage, n.Phase, n.Active, n.Stopping = stage.Cancelled, stage.PhaseNone, "", false
	n.Hold, n.HoldReason, n.Feedback = stage.HoldNone, "", ""
	n.EnteredAt, n.Seq = e.At, s.Seq+1
	replaces := stage.Replaceable(s.Acted, s.Set)
	if e.On == stage.OnStop && !e.Seen.IsZero() { // else the board still shows the word before, which is a newer one here
		n.Acted, n.ActedAt, replaces = stage.StatusStop, e.Seen, stage.Replaceable(s.Set)
	}
	out.Effects = append(out.Effects,
		stage.Effect{Kind: orchestrator.EffectCancel, SHA: n.Head, Text: why},
		stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusStop, Replaces: replaces, Previous: s.Set})
	return out
}

// clear removes what the task leaves behind, when nothing of its agent lives.
func (o feature) clear(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	var branch, kept string
	err := o.Agents.Quiesce(ctx, e.TaskID)
	if err == nil {
		branch, kept, err = o.drop(ctx, e)
	}
	said := func(what string) []queue.Job {
		text := fmt.Sprintf("Cancelled: %s. %s What the task had committed is kept in the service's mirror "+
			"as refs/signalbox/kept/%s.", e.Text, what, kept)
		comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}
		return []queue.Job{orchestrator.FollowUpJob(e, comment, "cancelled/"+e.Key)}
	}
	switch {
	case errors.Is(err, work.ErrMoved), errors.Is(err, work.ErrTaken):
		o.Log.Warn("the branch of a cancelled task has commits that are not ours; it stays", "task", e.TaskID, "repo", e.Repo, "err", err)
		what := fmt.Sprintf("The branch %s stays: it has commits that the service has not made. "+
			"Nobody works on it any more, and a later task begins on another.", branch)
		return queue.Outcome{Kind: queue.OutcomeDone, Error: err.Error(), Then: said(what)}
	case errors.Is(err, work.ErrProtected), errors.Is(err, work.ErrBadName):
		return queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
	case err != nil:
		o.Log.Warn("what a cancelled task leaves behind could not be removed", "task", e.TaskID, "repo", e.Repo, "err", err)
		return orchestrator.Retry(err)
	default:
		return queue.Outcome{Kind: queue.OutcomeDone, Then: said(fmt.Sprintf("The workspace and the branch %s are removed.", branch))}
	}
}

// drop removes workspace and branch, and returns their names.
func (o feature) drop(ctx context.Context, e orchestrator.Effect) (branch, kept string, err error) {
	t, p, err := e.Target(ctx, o.Store, o.Projects)
	if err != nil {
		return "", "", err
	}
	// The row carries tombstones; the workspace has the names of its life.
	t.Branch, _ = task.ParseTombstone(t.Branch)
	t.WorkItemID, _ = task.ParseTombstone(t.WorkItemID)
	kept = fmt.Sprintf("%s-%d", t.WorkItemID, t.ID)
	return t.Branch, kept, o.Workspaces.Drop(ctx, p.Workspace(t), kept)
}

// view is the block in /queue.
type view struct {
	Enabled  bool      `json:"enabled"`
	Stopping []waiting `json:"stopping"` // tasks whose STOP waits for a deployment
}

type waiting struct {
	TaskID int64     `json:"task_id"`
	Since  time.Time `json:"since"`
}

func (o feature) show(ctx context.Context) (any, error) {
	v := view{Enabled: true, Stopping: []waiting{}}
	for t, err := range task.Each(ctx, o.Store, task.Filter{Stage: stage.Deploy}) {
		if err != nil {
			return v, err
		}
		if t.State.Stopping {
			v.Stopping = append(v.Stopping, waiting{t.ID, t.CancelRequestedAt})
		}
	}
	return v, nil
}
