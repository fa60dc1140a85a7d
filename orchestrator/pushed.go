package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// What others push to the branch of a task is taken in: when their push is heard of, when the reconciler sees
// it, when a push or a merge of the service is refused for it, and at the latest before the next agent starts. The
// workspaces join it with the commits of the service; the machine then decides what is to be judged again.

// adopterOf returns the workspaces that take in what others have pushed; nil where they cannot, and where it would
// change nothing any more.
func adopterOf(e *Engine, t task.Task) work.Adopter {
	a, ok := e.Workspaces.(work.Adopter)
	if !ok || t.State.Stage.Terminal() || t.State.MergeSHA != "" {
		return nil
	}
	return a
}

// adoptPushed fills in what an event needs of the branch: what others have pushed, and where the commits of a run stand
// beside that. A refusal by others' commits that can be taken in becomes their push. Why reports that there is
// nothing to decide.
func adoptPushed(ctx context.Context, e *Engine, p task.Project, t task.Task, ev *stage.Event) (why string, err error) {
	by, space := adopterOf(e, t), p.Workspace(t)
	run := ev.On == stage.OnAgentFinished && ev.Run == t.State.Run && t.State.Active != "" && ev.SHA != "" && t.State.Adopted != ""
	switch {
	case run && by != nil:
		return "", joinRun(ctx, e, by, space, t, ev)
	case ev.On != stage.OnPushed && !ev.Others:
		return "", nil
	case by == nil && ev.On == stage.OnPushed:
		return "the branch is not needed any more", nil
	case by == nil:
		return "", nil
	}
	push := stage.Event{On: stage.OnPushed, At: ev.At, By: ev.By, Final: ev.On == stage.OnMergeFailed}
	if ev.On == stage.OnPushed {
		if err = lookForPushed(ctx, e, t); err != nil {
			return "", err
		}
	}
	if edge, _ := e.machine.Edge(t.State, push); edge.Do == "" || edge.Do == stage.DoNothing {
		return "", nil
	}
	if ev.On == stage.OnEffectFailed && ev.SHA != t.State.Head {
		return "the push was overtaken by another, which is owed as well", nil
	}
	got, err := by.Adopt(ctx, space, t.State.Pushed)
	switch {
	case fault.Retryable(err):
		return "", err
	case err != nil && ev.On == stage.OnPushed:
		return "it is left to the next push of the service: " + err.Error(), nil
	case err != nil && !errors.Is(err, work.ErrMoved):
		ev.Reason = fmt.Sprintf("what others have pushed to %s is not taken in: %s", t.Branch, fault.Words(err.Error()))
	case err == nil && got.SHA != "":
		e.noteLeft(ctx, t, got.Left)
		push.SHA, push.Push = got.SHA, &got.Push
		*ev = push
	case err == nil && ev.On == stage.OnPushed:
		return "nothing is on the branch that the task does not have", nil
	}
	return "", nil
}

// lookForPushed frees what waits to be merged from what its pull request held it for: a merge looks at the branch before it begins,
// and reports the push, and approvals are waited for again once it was judged.
func lookForPushed(ctx context.Context, e *Engine, t task.Task) error {
	held, err := holdsOf(ctx, e, t.ID, true)
	if t.State.Phase != stage.PhaseMerge {
		held = slices.DeleteFunc(held, func(h queue.Hold) bool { return h.Name != pullPrefix+githost.PullUnapproved })
	}
	if err != nil || len(held) == 0 {
		return err
	}
	return e.Store.Commit(ctx, task.Commit{Free: held})
}

// joinRun puts the commits of a run on top of what others have pushed while it was at work.
func joinRun(ctx context.Context, e *Engine, by work.Adopter, space work.Workspace, t task.Task, ev *stage.Event) error {
	space.Head = ev.SHA
	got, err := by.Join(ctx, space, t.State.Head)
	if err != nil {
		return err
	}
	e.noteLeft(ctx, t, got.Left)
	if ev.SHA = got.SHA; len(got.Push.Conflicts) > 0 {
		got.Push.SHA = t.State.Head
		ev.Push = &got.Push
	}
	return nil
}

// holdForPushed looks at the branch before an agent starts. What others have pushed comes first; nil = there is
// nothing.
func holdForPushed(ctx context.Context, e *Engine, p task.Project, t task.Task) *queue.Outcome {
	by := adopterOf(e, t)
	if by == nil || t.State.Pushed == "" && t.State.Head == "" {
		return nil
	}
	got, err := by.Adopt(ctx, p.Workspace(t), t.State.Pushed)
	ev, why := stage.Event{On: stage.OnPushed, At: e.Now()}, "others have pushed to the branch"
	switch {
	case errors.Is(err, work.ErrRemoved):
		why = t.Deleted()
		ev = stage.Event{On: stage.OnEffectFailed, At: e.Now(), Final: true, Gone: true, Reason: why}
	case errors.Is(err, work.ErrMoved):
		why = t.OthersPushed(t.State.Pushed)
		ev = stage.Event{On: stage.OnEffectFailed, At: e.Now(), Final: true, Reason: why}
	case err != nil || got.SHA == "": // what is wrong with the remote is met again in a moment
		ev = stage.Event{On: OnCaughtUp, At: e.Now(), SHA: got.Push.SHA}
		if _, known := e.machine.Edge(t.State, ev); err != nil || ev.SHA == "" || ev.SHA == t.State.Pushed || !known {
			return nil
		}
		why = "what was pushed is recorded" // its answer was lost, and the task went elsewhere
	}
	o := released(e.Now().Add(time.Second), why)
	o.Then = []queue.Job{e.triggerJob(t, ev, nil, fmt.Sprintf("pushed/%d/%d", t.ID, t.State.Seq))}
	return o
}
