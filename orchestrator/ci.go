package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// goneAfter is how long results are waited for before the host is looked at for the
// branch: it may show a push a moment later.
const goneAfter = 2 * time.Minute

// ciSettles is how long after a push a CI that has reported nothing of it may begin yet; it is
// counted from the last change of the task.
const ciSettles = 3 * time.Minute

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
func (e *Engine) endHopelessWait(ctx context.Context, p task.Project, t task.Task, ev *stage.Event) error {
	waited := e.Now().Sub(ev.Since)
	if ev.Since.IsZero() || waited < min(goneAfter, e.opt.CIWait) {
		return nil
	}
	gone := false
	if ev.Verdict.Outcome == stage.Defer && waited >= goneAfter { // a host that refuses us its results says nothing of branches
		var err error
		if gone, err = e.isBranchGone(ctx, p, t); err != nil {
			return err
		}
	}
	switch {
	case gone:
		ev.Final, ev.Gone = true, true
		ev.Reason = fmt.Sprintf("%.12s is not at the git host any more: the branch %s was deleted there; "+
			"In Progress runs the stage again and makes the branch anew, STOP gives the task up", t.State.Head, t.Branch)
	case waited >= e.opt.CIWait:
		ev.Final = true
		ev.Reason = fmt.Sprintf("CI of %.12s has not finished for %s: %s. Look at it at the git host",
			t.State.Head, stage.Span(e.opt.CIWait), ev.Verdict.Reason)
	}
	return nil
}

// isBranchGone reports whether the branch of a task, which was pushed, is at the host no more.
// One that a person has pushed to stands elsewhere, with an open pull request.
func (e *Engine) isBranchGone(ctx context.Context, p task.Project, t task.Task) (bool, error) {
	if t.State.Pushed != t.State.Head {
		return false, nil
	}
	at, err := e.Host.BranchesAt(ctx, p.Repo, t.State.Head)
	if err != nil && !errors.Is(err, githost.ErrNotFound) || slices.Contains(at, t.Branch) {
		return false, err
	}
	if p.Plain() {
		return true, nil
	}
	pr, err := e.Host.PullRequest(ctx, p.Repo, t.Branch)
	if errors.Is(err, githost.ErrNotFound) {
		return true, nil
	}
	return err == nil && !pr.Open && !pr.Merged, err
}
