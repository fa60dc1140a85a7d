package effects

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// merge merges the pull request at the head that was decided. It looks first: what is merged already, by an earlier attempt or by a human,
// is not merged again.
func (d Deps) merge(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	sent := false
	sha, err := d.mergeOnce(ctx, e, p, t, &sent)
	if err != nil && !sent {
		err = orchestrator.Unsent(err)
	}
	var unready *unreadyError
	var queued *githost.QueuedError
	switch {
	case errors.As(err, &queued): // webhooks have it looked at sooner
		at := d.Now().Add(time.Minute * time.Duration(min(e.Attempt, queuedMax)))
		return queue.Outcome{Kind: queue.OutcomeRetry, At: at, Error: queued.Error()}
	case errors.Is(err, githost.ErrUnqueued):
		return report(e, stage.Event{On: stage.OnStop, At: d.Now(), Unbegun: true})
	case errors.As(err, &unready):
		return report(e, stage.Event{On: stage.OnMergeFailed, At: d.Now(), Unready: !unready.objected, Reason: unready.Error()})
	case err == nil:
		return report(e, stage.Event{On: stage.OnMergeDone, At: d.Now(), SHA: sha})
	case errors.Is(err, githost.ErrNotMergeable):
		return report(e, d.unmergeable(ctx, p, t, err))
	case errors.Is(err, githost.ErrDenied), orchestrator.GivenUp(err, e.Attempt):
		return report(e, d.refused(ctx, p, t, e.SHA, err))
	default: // also of ErrHeadMoved: hosts show a push a moment later
		return d.retry(e, err)
	}
}

// refused returns the event of a merge that was refused for good. A push of what the remote should have shows whether it has the branch.
func (d Deps) refused(ctx context.Context, p task.Project, t task.Task, sha string, err error) stage.Event {
	ev := stage.Event{On: stage.OnMergeFailed, At: d.Now(), Reason: fault.Words(err.Error()), Final: true}
	switch {
	case errors.Is(d.Workspaces.Push(ctx, p.Workspace(t), sha, sha), work.ErrRemoved):
		ev.Reason, ev.Gone = t.Deleted(), true
	case errors.Is(err, githost.ErrHeadMoved):
		ev.Reason, ev.Others = t.OthersPushed(sha), true
	}
	return ev
}

// unmergeable returns the event of a branch that a host does not merge as it is: git itself shows whether it conflicts, which is the
// developer's matter, with its files. One that is behind is brought up to date, and whatever else is in the way is for people.
func (d Deps) unmergeable(ctx context.Context, p task.Project, t task.Task, refused error) stage.Event {
	ev := stage.Event{
		On: stage.OnMergeFailed, At: d.Now(),
		Moved: errors.Is(refused, githost.ErrBehind), Reason: fault.Words(refused.Error()),
	}
	rebaser, ok := d.Workspaces.(work.Rebaser)
	if !ok || errors.Is(refused, githost.ErrRed) {
		return ev
	}
	got, err := rebaser.CatchUp(ctx, p.Workspace(t), false)
	var conflict *work.Conflict
	switch {
	case errors.As(err, &conflict):
		ev.Moved = false
		ev.Reason = fmt.Sprintf("the branch conflicts with %s at %.12s in %s: rebase it onto origin/%s and resolve that",
			p.Main, conflict.Base, strings.Join(conflict.Files, ", "), p.Main)
	case err != nil:
		d.Log.Warn("whether a branch conflicts with main cannot be seen", "task", t.ID, "repo", t.Repo, "err", err)
	case got.SHA != t.State.Head:
		ev.Moved, ev.Reason = true, fmt.Sprintf("the branch is behind %s, which is at %.12s", p.Main, got.Base)
	default:
		ev.Moved, ev.Final = false, true
	}
	return ev
}

// mergeOnce merges what is not merged yet. sent becomes true when the host is to merge.
func (d Deps) mergeOnce(ctx context.Context, e orchestrator.Effect, p task.Project, t task.Task, sent *bool) (string, error) {
	merge := func(m githost.Merge) (string, error) {
		if err := e.Confirm(ctx); err != nil {
			return "", err
		}
		*sent = true
		return d.Host.Merge(ctx, m)
	}
	if host, plain := githost.PlainOf(d.Host, p.Repo); plain && t.State.Stopping { // since an attempt failed: there is no other
		as, err := githost.Landed(ctx, host, p.Repo, p.Main, e.SHA)
		if err == nil && (as == "" || as == t.State.Landed) {
			err = githost.ErrUnqueued
		}
		return as, err
	} else if plain {
		if err := d.confirm(ctx, p, t, e.SHA); err != nil {
			return "", err
		}
		return merge(githost.Merge{
			Repo: p.Repo, Head: t.Branch, Base: p.Main, HeadSHA: e.SHA, Method: p.Merge, Title: subject(t), Body: t.Description,
		})
	}
	pr, err := d.Host.PullRequest(ctx, p.Repo, t.Branch, p.Main)
	anew := errors.Is(err, githost.ErrNotFound) || err == nil && !pr.Open && !pr.Merged && t.State.PR == 0 // its branch was made once more
	if err == nil && pr.Merged && pr.BaseRef == p.Main {
		merged, failed := orchestrator.HasMerged(ctx, d.Host, d.Workspaces, p, t, pr, e.SHA)
		if failed != nil || merged {
			return pr.MergeSHA, failed
		}
		anew = true
	}
	switch {
	case anew && t.State.Stopping:
		return "", githost.ErrUnqueued
	case anew:
		pr, err = d.Host.OpenPullRequest(ctx, pullRequest(p, t))
	}
	if err != nil {
		return "", err
	}
	m := githost.Merge{
		Repo: p.Repo, Number: pr.Number, HeadSHA: e.SHA, Title: subject(t), Method: p.Merge, Queue: githost.QueueLeave, Since: e.Put,
	}
	if t.State.Stopping {
		if pr.Queue == "" {
			return "", githost.ErrUnqueued
		}
		return merge(m)
	}
	if pr.HeadSHA != e.SHA {
		return "", fmt.Errorf("%w: it is at %.12s, %.12s was judged", githost.ErrHeadMoved, pr.HeadSHA, e.SHA)
	}
	if row := pr.Row(p.Main); row.Next[githost.BeforeMerge] == githost.ForPerson {
		return "", fmt.Errorf("%w: %s: %s", githost.ErrDenied, row.Why(pr, p.Main), row.Do)
	}
	if err := d.confirm(ctx, p, t, e.SHA); err != nil {
		if pr.Queue != "" && errors.As(err, new(*unreadyError)) { // it may be there already
			if sha, left := merge(m); !errors.Is(left, githost.ErrUnqueued) {
				return sha, left
			}
		}
		return "", err
	}
	if m.Queue = githost.QueueJoin; pr.Queue == "" {
		m.Queue = ""
		if err := d.isOnMain(ctx, e, p, t); err != nil {
			return "", err
		}
	}
	return merge(m)
}

// isOnMain looks right before a merge whether main is where the branch was tested: a slow host answers what is read in between late.
// The error is githost.ErrBehind when it is not.
func (d Deps) isOnMain(ctx context.Context, e orchestrator.Effect, p task.Project, t task.Task) error {
	rebaser, ok := d.Workspaces.(work.Rebaser)
	if !ok || e.Base == "" {
		return nil
	}
	main, err := rebaser.MainTip(ctx, p.Workspace(t))
	if err == nil && main != e.Base {
		err = fmt.Errorf("%w: %s has moved from %.12s, where the branch was tested, to %.12s", githost.ErrBehind, p.Main, e.Base, main)
	}
	return err
}

// unreadyError reports that CI of what is to be merged is not green, or that a person has requested changes.
type unreadyError struct {
	reason   string
	objected bool
}

// Error is the reason of the gate, or the person's.
func (e *unreadyError) Error() string { return e.reason }

// confirm judges CI of what is to be merged, by the gate that has let it pass before: results may have come since, and the head may be a
// later commit. The event of an unreadyError has the machine wait for CI, or act on a red one, as it does elsewhere. What a person has
// requested since the review is the developer's matter, as it is there.
func (d Deps) confirm(ctx context.Context, p task.Project, t task.Task, sha string) error {
	if p.WithoutCI() && p.Plain() {
		return nil
	}
	facts, err := orchestrator.FactsOf(ctx, d.Workspaces, d.Host, p, t, sha, d.Now())
	if err != nil {
		return err
	}
	switch why, err := checks.Objection(ctx, facts); {
	case why != "":
		return &unreadyError{why, true}
	case err != nil && fault.Retryable(err): // else a host that shows no reviews would let nothing be merged
		return err
	case p.WithoutCI():
		return nil
	}
	r, err := gates.NewRegistry(checks.All(nil)...)
	if err != nil {
		return err
	}
	switch v := r.Judge(ctx, facts, checks.CIGreen); {
	case v.Passed():
		return nil
	case v.Outcome == gates.Error:
		return &fault.Error{Text: v.Reason, Again: v.Retryable, Wait: v.RetryAfter}
	default:
		return &unreadyError{v.Reason, false}
	}
}
