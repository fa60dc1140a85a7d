package mergegate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

func (g *Gate) report(e orchestrator.Effect, ev stage.Event) queue.Outcome {
	ev.At = g.opt.Now()
	return queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{orchestrator.TriggerJob(e, ev)}}
}

func (g *Gate) retryOutcome(e orchestrator.Effect, err error) queue.Outcome {
	g.opt.Log.Warn("the merge gate will try again", "kind", e.Kind, "task", e.TaskID, "repo", e.Repo, "attempt", e.Attempt, "err", err)
	return orchestrator.Retry(err)
}

// catchUp takes the lease and brings the branch up to date: in the mirror, and on
// the remote when that changes it.
func (g *Gate) catchUp(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, g.opt.Store, g.opt.Projects)
	if err != nil {
		return g.retryOutcome(e, err)
	}
	if !working(t.State) || t.State.Head != e.SHA {
		return queue.Outcome{Kind: queue.OutcomeDone, Error: "the task has gone on without it"}
	}
	if pr, err := g.pull(ctx, p, t); fault.Retryable(err) { // what is refused for good is met where it is needed
		return g.retryOutcome(e, err)
	} else if pr.Queue != "" {
		return g.report(e, stage.Event{On: orchestrator.OnCaughtUp, Outside: true})
	}
	busy, err := g.acquire(ctx, t)
	if err != nil {
		return g.retryOutcome(e, err)
	}
	if busy != "" && g.overdue(t) {
		why, err := g.explainLine(ctx, t, busy)
		if err != nil {
			return g.retryOutcome(e, err)
		}
		return g.report(e, stage.Event{On: orchestrator.OnCatchUpFailed, Outside: true, Reason: why})
	}
	if busy != "" { // it is held until its turn comes
		return queue.Outcome{Kind: queue.OutcomeRelease, At: g.opt.Now().Add(time.Second), Error: busy}
	}
	got, err := g.opt.Workspaces.CatchUp(ctx, p.Workspace(t), t.State.Gated && !g.opt.OnlyBehind)
	var conflict *work.Conflict
	if errors.As(err, &conflict) {
		return g.report(e, stage.Event{On: orchestrator.OnCaughtUp, Base: conflict.Base, Conflicts: conflict.Files})
	}
	if err == nil && got.SHA != e.SHA {
		err = g.opt.Workspaces.Push(ctx, p.Workspace(t), got.SHA, e.SHA)
	}
	switch {
	case errors.Is(err, work.ErrRemoved):
		return g.report(e, stage.Event{On: orchestrator.OnCatchUpFailed, Final: true, Gone: true, Reason: t.Deleted()})
	case errors.Is(err, work.ErrMoved):
		return g.report(e, stage.Event{On: orchestrator.OnCatchUpFailed, Final: true, Others: true, Reason: t.OthersPushed(e.SHA)})
	case errors.Is(err, work.ErrProtected), errors.Is(err, work.ErrBadName), orchestrator.GivenUp(err, e.Attempt):
		return g.report(e, stage.Event{On: orchestrator.OnCatchUpFailed, Final: true, Reason: err.Error()})
	case err != nil:
		return g.retryOutcome(e, err)
	case got.SHA == e.SHA:
		got.SHA = "" // nothing was pushed here, and the push before may have been refused
	}
	return g.report(e, stage.Event{On: orchestrator.OnCaughtUp, SHA: got.SHA, Base: got.Base})
}

// merge merges when that lands what was tested; what is merged already, by an
// earlier attempt or by a human, is left to the runner that merges. A task that has no
// lease has it for the moment of the merge, and gives back what an attempt that died then left.
func (g *Gate) merge(ctx context.Context, e orchestrator.Effect) (o queue.Outcome) {
	t, p, err := e.Target(ctx, g.opt.Store, g.opt.Projects)
	if err != nil {
		return g.retryOutcome(e, err)
	}
	if !t.State.Leased {
		defer func() {
			if err := g.handBack(ctx, t.Repo, holder(t.WorkItemID, t.ID)); err != nil { // else it keeps others from merging until it ends
				o = g.retryOutcome(e, err)
			}
		}()
	}
	merged, err := g.merged(ctx, p, t, e.SHA)
	why := ""
	if err == nil && !merged && !t.State.Stopping { // else it is there, or is merged no more
		why, err = g.unfit(ctx, &e, p, t)
	}
	switch {
	case err != nil:
		return g.mergeAgain(e, err)
	case why != "":
		return g.report(e, stage.Event{On: stage.OnMergeFailed, Moved: true, Final: t.State.Retests >= g.opt.DeferMax, Reason: why})
	default:
		return g.opt.Merge.Run(ctx, e)
	}
}

// merged reports whether the branch of a task is merged at a head, or a queue of the host's tests what lands of it.
func (g *Gate) merged(ctx context.Context, p task.Project, t task.Task, head string) (bool, error) {
	if host, plain := githost.PlainOf(g.opt.Host, p.Repo); plain {
		as, err := githost.Landed(ctx, host, p.Repo, p.Main, head)
		return as != "" && as != t.State.Landed, err
	}
	pr, err := g.pull(ctx, p, t)
	if err != nil || pr.Queue != "" {
		return err == nil, err
	}
	return orchestrator.HasMerged(ctx, g.opt.Host, g.opt.Workspaces, p, t, pr, head)
}

// pull returns the pull request of a task; zero = it has none.
func (g *Gate) pull(ctx context.Context, p task.Project, t task.Task) (none githost.PullRequest, err error) {
	if _, plain := githost.PlainOf(g.opt.Host, p.Repo); plain {
		return none, nil
	}
	pr, err := g.opt.Host.PullRequest(ctx, p.Repo, t.Branch, p.Main)
	if errors.Is(err, githost.ErrNotFound) {
		return none, nil
	}
	return pr, err
}

// mergeAgain tries a merge again, or blocks the task when it is refused for good.
func (g *Gate) mergeAgain(e orchestrator.Effect, err error) queue.Outcome {
	if orchestrator.GivenUp(err, e.Attempt) {
		return g.report(e, stage.Event{On: stage.OnMergeFailed, Final: true, Reason: err.Error()})
	}
	return g.retryOutcome(e, orchestrator.Unsent(err))
}

// unfit returns why what would land is not what was tested; empty = it is.
func (g *Gate) unfit(ctx context.Context, e *orchestrator.Effect, p task.Project, t task.Task) (string, error) {
	busy, err := g.acquire(ctx, t)
	if err != nil || busy != "" {
		return busy, err
	}
	main, err := g.opt.Workspaces.MainTip(ctx, p.Workspace(t))
	if err != nil {
		return "", err
	}
	tip, err := g.opt.Workspaces.Tip(ctx, p.Workspace(t))
	switch {
	case err != nil:
		return "", err
	case e.Tested == "" && tip.Base != main:
		return fmt.Sprintf("the branch is behind %s, which is at %.12s", p.Main, main), nil
	case e.Tested == "":
		e.Base = main // the runner looks once more: a slow host answers what is read in between late
		return "", nil
	case e.Base == "":
		return fmt.Sprintf("it is not known on which commit of %s the branch was tested; it is at %.12s now", p.Main, main), nil
	case main != e.Base:
		return fmt.Sprintf("%s has moved from %.12s, where the branch was tested, to %.12s", p.Main, e.Base, main), nil
	}
	if e.SHA != e.Tested && (tip.SHA != e.SHA || !slices.Contains(tip.SameCode, e.Tested)) {
		return fmt.Sprintf("the branch has other code at %.12s than at %.12s, which was tested", e.SHA, e.Tested), nil
	}
	return "", nil
}

// landed looks whether main got the files that were tested. A forge merges by
// itself: between the look at main and its merge somebody else may have pushed.
func (g *Gate) landed(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, g.opt.Store, g.opt.Projects)
	if err != nil {
		return g.retryOutcome(e, err)
	}
	same, err := g.opt.Workspaces.SameTree(ctx, p.Workspace(t), e.SHA, e.Expected)
	if err != nil {
		return g.retryOutcome(e, err)
	}
	if same {
		return queue.Outcome{Kind: queue.OutcomeDone}
	}
	text := fmt.Sprintf("what was merged at %.12s is not what was tested at %.12s: "+
		"somebody else has pushed to %s at the same moment", e.SHA, e.Expected, p.Main)
	g.opt.Log.Error("something was merged that was not tested", "task", e.TaskID, "repo", e.Repo, "why", text)
	key := fmt.Sprintf("landed/%d/%s", e.TaskID, e.SHA)
	return queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{
		orchestrator.FollowUpJob(e, stage.Effect{Kind: stage.EffectNotify, Text: text}, key),
		orchestrator.FollowUpJob(e, stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text + "."}, key+"/comment"),
	}}
}

// view is the block in /queue.
type view struct {
	Enabled bool       `json:"enabled"`
	Leases  []leaseOf  `json:"leases"`
	Tasks   []gateTask `json:"tasks"`
}

type leaseOf struct {
	Repo    string    `json:"repo"`
	Holder  string    `json:"holder"`
	Expires time.Time `json:"expires"`
}

// gateTask is a task that the gate works on.
type gateTask struct {
	TaskID int64       `json:"task_id"`
	Repo   string      `json:"repo"`
	Phase  stage.Phase `json:"phase"`
	Base   string      `json:"base,omitempty"`
	Why    string      `json:"why,omitempty"` // what it waits for
}

func (g *Gate) show(ctx context.Context) (any, error) {
	v := view{Enabled: !g.opt.Off, Leases: []leaseOf{}, Tasks: []gateTask{}}
	for _, p := range g.opt.Projects.All() {
		if l, ok, err := g.opt.Leases.Holder(ctx, leaseName(p.Repo)); err != nil {
			return v, err
		} else if ok {
			v.Leases = append(v.Leases, leaseOf{Repo: p.Repo, Holder: l.Holder, Expires: l.Expires})
		}
	}
	held, err := g.opt.Store.Holds(ctx)
	if err != nil {
		return v, err
	}
	why := map[string]string{}
	for _, h := range held {
		why[h.Subject] = h.Reason
	}
	for t, err := range task.Each(ctx, g.opt.Store, task.Filter{Live: true, Stage: stage.DeployStaging}) {
		if err != nil {
			return v, err
		}
		if working(t.State) {
			v.Tasks = append(v.Tasks, gateTask{
				TaskID: t.ID, Repo: t.Repo, Phase: t.State.Phase, Base: t.State.Base, Why: why[turn(t.ID).Subject],
			})
		}
	}
	return v, nil
}
