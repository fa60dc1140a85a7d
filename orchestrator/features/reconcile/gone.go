package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// goneAfter is how long a card is missing before it counts as gone: a tracker's replica may lag.
const goneAfter = 2 * time.Minute

// absent notices live tasks whose cards are not on the board any more: no webhook names a card
// that was deleted or archived. all is the set of the board's items; nil: it was not listed as a whole.
func (r *Reconciler) absent(ctx context.Context, e *orchestrator.Engine, p task.Project, all map[string]bool) error {
	if all != nil {
		if err := r.compare(ctx, e, p, all); err != nil {
			return err
		}
	}
	for _, t := range r.suspects(p.TrackerProject) {
		_, err := r.opt.Tracker.Item(ctx, p.TrackerProject, t.TrackerIssueID)
		switch {
		case err == nil:
			r.unsuspect(t.ID)
		case errors.Is(err, tracker.ErrNotFound):
			if err := r.missing(ctx, e, p, t.ID); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// suspect is a task whose card was not on the board, and when it was looked for first.
type suspect struct {
	task.Task
	since time.Time // zero: not yet
}

// compare suspects the live tasks whose cards are not listed, and frees those whose cards are back.
func (r *Reconciler) compare(ctx context.Context, e *orchestrator.Engine, p task.Project, all map[string]bool) error {
	held, err := e.Jobs.Holds(ctx)
	if err != nil {
		return err
	}
	var back []queue.Hold
	for after := int64(0); ; {
		page, err := e.Store.Tasks(ctx, task.Filter{Repo: p.Repo, Live: true, AfterID: after})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, t := range page {
			after = t.ID
			told := slices.ContainsFunc(held, func(h queue.Hold) bool { return h.Subject == orchestrator.CardOf(t.ID) })
			switch {
			case t.TrackerProjectID != p.TrackerProject:
			case all[t.TrackerIssueID] && told:
				back = append(back, mark(t.ID))
			case !all[t.TrackerIssueID] && !told:
				r.suspect(t)
			}
		}
	}
	if len(back) == 0 {
		return nil
	}
	return e.Store.Commit(ctx, task.Commit{Free: back})
}

// suspects are those of a board, by id.
func (r *Reconciler) suspects(project string) (out []suspect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.suspected {
		if s.TrackerProjectID == project {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b suspect) int { return int(a.ID - b.ID) })
	return out
}

func (r *Reconciler) suspect(t task.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.suspected[t.ID] = suspect{Task: t}
}

// missedLong notes that a card was not found, and reports whether that was so some minutes ago.
func (r *Reconciler) missedLong(taskID int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.suspected[taskID]
	if s.since.IsZero() {
		s.since = r.opt.Now()
		r.suspected[taskID] = s
	}
	return r.opt.Now().Sub(s.since) >= goneAfter
}

func (r *Reconciler) unsuspect(taskID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.suspected, taskID)
}

// missing notes that the card of a task was looked for and not found. The second time, some minutes
// later, it is gone, and people are notified once.
func (r *Reconciler) missing(ctx context.Context, e *orchestrator.Engine, p task.Project, taskID int64) error {
	if !r.missedLong(taskID) {
		return nil
	}
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	r.unsuspect(taskID)
	if t.State.Stage.Terminal() {
		return nil
	}
	r.opt.Log.Error("the card of a task is gone", "task", t.ID, "work_item", t.WorkItemID, "repo", t.Repo, "item", t.TrackerIssueID)
	gone := mark(t.ID)
	gone.Reason = "the card was deleted or archived on the board"
	text := fmt.Sprintf("The card of %s was deleted or archived on the board, and its task goes on without it: %s.", t.WorkItemID, orchestrator.StopGone(t.ID))
	job := orchestrator.EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: text}, fmt.Sprintf("gone/%s", task.Identity(t)))
	return e.Store.Commit(ctx, task.Commit{Hold: []queue.Hold{gone}, Jobs: []queue.Job{job}})
}

// mark is the hold that records that people were notified. It keeps no job.
func mark(taskID int64) queue.Hold {
	return queue.Hold{Subject: orchestrator.CardOf(taskID), Name: orchestrator.CardGone}
}

// ended frees the mark of a task that has ended.
func ended(_ context.Context, c orchestrator.Change) (hold, free []queue.Hold, err error) {
	if c.Ended() {
		free = []queue.Hold{mark(c.Task.ID)}
	}
	return nil, free, nil
}
