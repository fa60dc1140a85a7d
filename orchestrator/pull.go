package orchestrator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// pullPrefix begins the names of the holds of a task that lives, and whose pull request people have to see to first: the
// state of a row of githost.Readinesses is behind it. They hold what those of its card do.
const pullPrefix = "pull_"

// IsForPull reports whether a hold of GoneCards is for the pull request of a task, and not for its card.
func IsForPull(h queue.Hold) bool { return strings.HasPrefix(h.Name, pullPrefix) }

// onPullChanged is a webhook about a pull request that may hold or free its task.
const onPullChanged stage.Trigger = "pull_changed"

// pullActions are the hosts' words for what may do so.
var pullActions = []string{"opened", "closed", "reopened", "converted_to_draft", "ready_for_review", "edited", "enqueued", "dequeued"}

// hastenMerges has the merges into a repository looked at that wait in a merge queue of its host, which has moved.
func (in intake) hastenMerges(ctx context.Context) error {
	tasks, err := in.Store.Tasks(ctx, task.Filter{Repo: in.project.Repo, Live: true, Stage: stage.Deploy})
	for _, t := range tasks {
		if t.State.Phase == stage.PhaseMerge && err == nil {
			_, err = in.Jobs.Hasten(ctx, LaneHost.PoolOf(in.project), t.ID)
		}
	}
	return err
}

// holdsOf lists the holds of a task for its pull request, or for its card.
func holdsOf(ctx context.Context, e *Engine, taskID int64, pull bool) ([]queue.Hold, error) {
	held, err := e.Jobs.HoldsIn(ctx, CardSubject(taskID), CardSubject(taskID)+"\x00", holdsMax)
	return slices.DeleteFunc(held, func(h queue.Hold) bool { return IsForPull(h) != pull }), err
}

// holdsMax is more than the holds that a task may have for its card and its pull request.
const holdsMax = 16

// allHolds are those that a task may have for its pull request, which may be given up, and for its card.
func allHolds(taskID int64, card bool) (out []queue.Hold) {
	var names []string
	if card {
		names = []string{cardGone, cardAway}
	}
	for _, r := range githost.Readinesses {
		names = append(names, pullPrefix+r.State)
	}
	for _, name := range names {
		out = append(out, queue.Hold{Subject: CardSubject(taskID), Name: name})
	}
	return out
}

// HasMerged reports whether a pull request has landed a head of its task on main. What was merged before the head was pushed has not, nor
// a merge whose deployment was rejected.
func HasMerged(
	ctx context.Context, host Hosting, places Workspaces, p task.Project, t task.Task, pr githost.PullRequest, head string,
) (bool, error) {
	if !pr.Merged || pr.BaseRef != p.Main || t.State.Landed != "" && pr.MergeSHA == t.State.Landed {
		return false, nil
	}
	tip, err := places.Tip(ctx, p.Workspace(t))
	if err != nil || pr.HeadSHA == head || slices.Contains(tip.SameCode, pr.HeadSHA) {
		return err == nil, err
	}
	newer, err := isAt(ctx, host, t, head) // else others have pushed, and merged that
	return !newer, err
}

// isAt reports whether the branch of a task is at a commit, at its host. What was not pushed, the host has on no branch.
func isAt(ctx context.Context, host githost.Branches, t task.Task, sha string) (bool, error) {
	at, err := host.BranchesAt(ctx, t.Repo, sha)
	if errors.Is(err, githost.ErrNotFound) {
		return false, nil
	}
	return slices.Contains(at, t.Branch), err
}

// LookAtPull reads the pull request of a task, if it has one that is not merged. While a person has to act there first the task
// is held, and people are told once; else it is freed. by is who is said to have changed it, or nobody. held is why it is held.
func LookAtPull(ctx context.Context, e *Engine, t task.Task, at githost.Moment, by string) (held string, err error) {
	for range decideMax {
		p, ok := e.Projects.ByRepo(t.Repo)
		if s := t.State; !ok || p.Plain() || s.PR == 0 || s.MergeSHA != "" || s.Stage.Terminal() || s.Stopping {
			return "", nil
		}
		known, err := holdsOf(ctx, e, t.ID, true)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(known, func(h queue.Hold) bool { return h.Name == pullPrefix+githost.PullUnapproved }) {
			at = githost.BeforeMerge
		}
		pr, err := e.Host.PullRequest(ctx, p.Repo, t.Branch, p.Main)
		if err != nil {
			return "", err
		}
		row := pr.Row(p.Main)
		ready := row.Next[at] != githost.ForPerson || t.State.Leased // nobody waits for a person with it: the merge is refused
		hold := queue.Hold{Subject: CardSubject(t.ID), Name: pullPrefix + row.State, Reason: row.Why(pr, p.Main)}
		same := slices.ContainsFunc(known, func(h queue.Hold) bool { return h.Name == hold.Name && h.Reason == hold.Reason })
		if !pr.Open && !ready { // also where that holds the task already: its branch may be deleted since
			// The head does not follow what is pushed when it is closed, and a push is recorded after it is made.
			for _, sha := range []string{pr.HeadSHA, t.State.Pushed, t.State.Head} {
				there, err := isAt(ctx, e.Host, t, sha)
				if err != nil {
					return "", err
				}
				if ready = !there; there { // else the branch is missed where it is needed
					break
				}
			}
		}
		switch {
		case ready && len(known) == 0:
			return "", nil
		case ready:
			e.Log.Info("the pull request of a task is ready", "task", t.ID, "repo", t.Repo, "pull_request", pr.Number)
			return "", e.Store.Commit(ctx, task.Commit{Free: known})
		case same:
			return hold.Reason, nil
		default:
			known = slices.DeleteFunc(known, func(h queue.Hold) bool { return h.Name == hold.Name })
			if err = holdFor(ctx, e, t, p, hold, e.Now(), by, known...); !errors.Is(err, task.ErrConflict) {
				return hold.Reason, err
			}
		}
		if t, err = e.Store.Task(ctx, t.ID); err != nil {
			return "", err
		}
	}
	return "", task.ErrConflict
}

// awaitPull looks at the branch and at the pull request before what takes the right to merge; nil = nothing holds it. With the right
// the merge itself is refused, which gives it back; so is that of a pull request that cannot be read. A merge that may have been made
// is looked at by its runner.
func awaitPull(ctx context.Context, e *Engine, j queue.Job, f Effect) *queue.Outcome {
	failed, takes := map[stage.EffectKind]stage.Trigger{stage.EffectMerge: stage.OnMergeFailed, EffectCatchUp: OnCatchUpFailed}[f.Kind]
	if !takes {
		return nil
	}
	t, err := e.Store.Task(ctx, f.TaskID)
	if err != nil || t.State.Leased {
		return nil
	}
	p, _ := e.Projects.ByRepo(t.Repo)
	if by := adopterOf(e, t); by != nil && (f.Kind == EffectCatchUp || unbegun(j)) && f.SHA == t.State.Pushed {
		got, err := by.Adopt(ctx, p.Workspace(t), t.State.Pushed)
		if err == nil && got.SHA != "" || errors.Is(err, work.ErrMoved) && !errors.Is(err, work.ErrRemoved) {
			ev := stage.Event{On: failed, At: e.Now(), Final: true, Others: true, Reason: t.OthersPushed(f.SHA)}
			return &queue.Outcome{Kind: queue.OutcomeDone, Error: ev.Reason, Then: []queue.Job{TriggerJob(f, ev)}}
		}
	}
	held, _ := LookAtPull(ctx, e, t, githost.BeforeMerge, "")
	switch {
	case held == "":
		return nil
	case unbegun(j):
		held = notBegun + held
	}
	return released(e.Now(), held)
}

// mendPull tells a person what to do about a task that is held for its pull request.
func mendPull(h queue.Hold) string {
	for _, r := range githost.Readinesses {
		if h.Name == pullPrefix+r.State {
			return r.Do + ", and the task goes on by itself, once the webhook of that has come; set STOP on the card, and it ends"
		}
	}
	return ""
}

// released is the outcome of a job that is given back until then.
func released(until time.Time, why string) *queue.Outcome {
	return &queue.Outcome{Kind: queue.OutcomeRelease, At: until, Error: why}
}
