// Package effects makes the effects that decisions owe the outside world: one small runner for each kind. A runner is called at least
// once; by the effect's key, the state it sets or the commit it names, the world sees it once.
//
//	comment   posted under its key, by which a second one is refused or recognised
//	waits     set-state: one comment of each task says what it waits for
//	status    set-state, unless a human has set something newer
//	notify    sent; a death between the send and its record can double it, once
//	prepare   make the branch and its first commit, and push it
//	publish   push a commit on the branch and see to the pull request
//	merge     merge the pull request, pinned to the head; look before doing
//	leave     take the pull request out of the merge queue of the host
//	tidy      remove the workspace
//	unbranch  delete the remote branch of what is done, where no host does
package effects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// jobStore reads the queue for effects.
type jobStore interface {
	queue.Inspector
	queue.HoldFinder
}

// Deps holds what the runners work with. All are required but Messenger (nil:
// notices are only logged), Agents (nil: none runs), Log and Now.
type Deps struct {
	Store      orchestrator.Storing
	Jobs       jobStore
	Projects   *task.Projects
	Tracker    orchestrator.Tracking
	Host       orchestrator.Hosting
	Messenger  messenger.Messenger
	Workspaces orchestrator.Workspaces
	Agents     work.Agents
	Dress      messenger.Dress // of messages; nil = nothing is added
	Pages      string          // address of the dashboard, which comments link to; empty = it is not known
	Log        *slog.Logger
	Now        func() time.Time
}

// Runners returns the runner of every kind of effect that the machine decides.
func Runners(d Deps) map[stage.EffectKind]orchestrator.Runner {
	defaults.Fill(&d)
	return map[stage.EffectKind]orchestrator.Runner{
		stage.EffectComment:      orchestrator.RunnerFunc(d.comment),
		stage.EffectStatus:       orchestrator.RunnerFunc(d.status),
		stage.EffectNotify:       orchestrator.RunnerFunc(d.notify),
		stage.EffectPrepare:      orchestrator.RunnerFunc(d.prepare),
		stage.EffectPublish:      orchestrator.RunnerFunc(d.publish),
		stage.EffectPull:         orchestrator.RunnerFunc(d.pull),
		stage.EffectReply:        orchestrator.RunnerFunc(d.reply),
		stage.EffectMerge:        orchestrator.RunnerFunc(d.merge),
		orchestrator.EffectLeave: orchestrator.RunnerFunc(d.leave),
		stage.EffectTidy:         orchestrator.RunnerFunc(d.tidy),
		stage.EffectUnbranch:     orchestrator.RunnerFunc(d.unbranch),
		orchestrator.EffectWaits: orchestrator.RunnerFunc(d.waits),
	}
}

var finished = queue.Outcome{Kind: queue.OutcomeDone}

func dead(why string) queue.Outcome {
	return queue.Outcome{Kind: queue.OutcomeDead, Error: why}
}

func (d Deps) retry(e orchestrator.Effect, err error) queue.Outcome {
	d.Log.Warn("an effect failed", "kind", e.Kind, "task", e.TaskID, "repo", e.Repo, "attempt", e.Attempt, "err", err)
	return orchestrator.Retry(err)
}

func (d Deps) comment(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	_, err := d.Tracker.AddComment(ctx, tracker.NewComment{
		ProjectID: e.ProjectID, ItemID: e.ItemID, Author: e.Author, Key: e.Key, Again: e.Attempt > 1,
		Body: e.Text, Links: d.links(e), Note: e.Note,
	})
	return d.posted(e, err)
}

// underWay is how long a comment is put off at a time that may be there in a moment.
const underWay = 15 * time.Second

// posted is the outcome of a comment.
func (d Deps) posted(e orchestrator.Effect, err error) queue.Outcome {
	switch {
	case errors.Is(err, tracker.ErrUnderWay):
		return queue.Outcome{Kind: queue.OutcomeRelease, At: d.Now().Add(underWay), Error: err.Error()}
	case err != nil:
		return d.retry(e, err)
	default:
		return finished
	}
}

// status brings the board status up to date, unless a human has set another trigger meanwhile: their word is newer and will be acted upon.
// The status is a register: of the writes that are owed to a work item the first sets the newest value, and the others find it done.
func (d Deps) status(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	writes, last, err := orchestrator.StatusWrites(ctx, d.Jobs, e.Board, e.ItemID, e.TaskID)
	if err != nil {
		return d.retry(e, err)
	}
	writes = append([]orchestrator.Effect{e}, writes...)
	to := writes[len(writes)-1].Status
	item, err := d.item(ctx, e, to)
	if err != nil {
		return d.retry(e, err)
	}
	if item.Status == to && !lags(e, last, to, d.Now()) {
		return finished
	}
	if orchestrator.IsAway(item) {
		return queue.Outcome{Kind: queue.OutcomeDone, Error: "not set: a person has put the card into " + item.StatusName}
	}
	ours, err := d.replaces(ctx, item, writes)
	if err != nil {
		return d.retry(e, err)
	}
	if _, trigger := stage.BoardTrigger(item.Status); trigger && !ours {
		if lags(e, last, item.Status, d.Now()) { // what stood there before may look like a word
			return queue.Outcome{Kind: queue.OutcomeRetry, At: d.Now().Add(lag), Error: "the board may be read from a replica"}
		}
		d.Log.Warn("a status is not set: a person has set another one",
			"task", e.TaskID, "repo", e.Repo, "item", e.ItemID, "owed", to, "set", item.Status)
		return queue.Outcome{Kind: queue.OutcomeDone, Error: fmt.Sprintf("not set: a human has set %s", item.Status)}
	}
	if e.TaskID != 0 { // what has begun since is what the card shows; STOP would be a person's word about it
		newest, err := orchestrator.NewestTask(ctx, d.Store, e.ItemID)
		if err != nil {
			return d.retry(e, err)
		}
		if newest.ID != e.TaskID {
			return queue.Outcome{Kind: queue.OutcomeDone, Error: "not set: another task of the card has begun"}
		}
	}
	err = d.Tracker.SetStatus(ctx, e.ProjectID, e.ItemID, to)
	var noWay *tracker.NoWayError
	switch {
	case errors.As(err, &noWay):
		text := "This card does not show where its task is: " + noWay.Error() +
			". The task goes on; move the card by hand, or let the board have that way."
		said := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}
		o := dead(noWay.Error())
		o.Then = []queue.Job{orchestrator.FollowUpJob(e, said, "no_way/"+e.Key)}
		return o
	case errors.Is(err, tracker.ErrNoStatus) && to == stage.StatusStop:
		return queue.Outcome{Kind: queue.OutcomeDone, Error: "the board has no STOP: it was said elsewhere"}
	case errors.Is(err, tracker.ErrNoStatus):
		return dead(fmt.Sprintf("the board has no status for %s", to))
	case err != nil:
		return d.retry(e, err)
	case to != e.Status:
		return queue.Outcome{Kind: queue.OutcomeDone, Error: "set a newer one"}
	default:
		return finished
	}
}

// lag is how far a replica of a tracker may be behind.
const lag = 5 * time.Second

// lags reports whether a card that shows a status already may be read from a replica: the service has set another one a moment before.
func lags(e, last orchestrator.Effect, to stage.Status, now time.Time) bool {
	return last.Status != to && e.Previous != to && e.Attempt <= 1 && now.Sub(last.Put) < lag
}

// item is the work item of a status. As it was seen a moment ago will do only where it shows what the service had set
// or answered last: another process may have written meanwhile, and nothing else of that is a person's word.
func (d Deps) item(ctx context.Context, e orchestrator.Effect, to stage.Status) (tracker.Item, error) {
	if r, ok := d.Tracker.(tracker.Recent); ok && e.Attempt <= 1 {
		item, ok := r.Recent(e.ProjectID, e.ItemID)
		if ok && item.Status != stage.StatusUnknown && item.Status != to && (item.Status == e.Previous || item.Status == e.Answers) {
			return item, nil
		}
	}
	return d.Tracker.Item(ctx, e.ProjectID, e.ItemID)
}

// replaces reports whether the status of an item is one that writes may replace: a word that was acted on, or the column that shows what
// the service set before. On a board with few columns that can be the column of a trigger.
func (d Deps) replaces(ctx context.Context, item tracker.Item, writes []orchestrator.Effect) (bool, error) {
	for _, w := range writes {
		if item.Status == w.Status || slices.Contains(w.Replaces, item.Status) {
			return true, nil
		}
	}
	board, ok := d.Tracker.(tracker.Board)
	if !ok {
		return false, nil
	}
	for _, w := range writes {
		_, stood := tracker.Resolve(w.Previous, func(s stage.Status) bool { return s == item.Status })
		if !stood {
			continue
		}
		columns, err := board.Columns(ctx, w.ProjectID)
		if err == nil && columns[item.Status] == "" {
			err = fmt.Errorf("the column %s was renamed while its card was read", item.StatusName)
		}
		if err != nil || columns[w.Previous] == item.StatusName {
			return err == nil, err
		}
		if log, ok := board.(tracker.Log); ok { // the board lacked the column then, or a person has moved the card
			m, err := log.LastMove(ctx, w.ProjectID, item.ID)
			if to, _ := board.StatusOf(ctx, w.ProjectID, m.To); err == nil && to == item.Status { // else it may be late
				return d.Tracker.Own(m.ActorID)
			}
		}
	}
	return false, nil
}

// notify sends an audible message. A chat that cannot be reached never holds up the pipeline.
func (d Deps) notify(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	title := cmp.Or(e.WorkItem, e.Repo)
	if title != "" && e.Title != "" {
		title += ": "
	}
	d.Log.Info("notice", "task", e.TaskID, "repo", e.Repo, "text", e.Text)
	if d.Messenger == nil {
		return finished
	}
	if e.Killed {
		return onceMore(e)
	}
	m := messenger.Message{Title: title + e.Title, Lines: []string{e.Text}, Moment: e.Moment}
	if cards, ok := d.Tracker.(tracker.Linker); ok && e.ItemID != "" {
		m.Link = cards.ItemURL(e.ProjectID, e.ItemID)
	}
	if e.Attempt > 1 || e.Copies > 0 { // an earlier attempt may have got through: there is no identity on the wire
		m.Lines = append(m.Lines, "(This may be a second copy.)")
	}
	if d.Dress != nil {
		if err := d.Dress(ctx, e.TaskID, e.Repo, &m); err != nil {
			return d.retry(e, err)
		}
	}
	_, err := d.Messenger.Send(ctx, m)
	switch {
	case errors.Is(err, messenger.ErrUnreachable):
		return dead(err.Error())
	case err != nil:
		return d.retry(e, err)
	default:
		return finished
	}
}

// onceMore answers a process that died while it may have sent a notice. That is written
// into the effect, durably, before it is sent again: there are two copies at most.
func onceMore(e orchestrator.Effect) queue.Outcome {
	if e.Copies > 0 {
		return dead("two processes have died while they sent it: it may be there twice or not at all, and is not sent again by itself")
	}
	next := e.Effect
	next.Copies++
	return queue.Outcome{
		Kind: queue.OutcomeDone, Error: "the process died while it may have sent it: it is sent once more",
		Then: []queue.Job{orchestrator.FollowUpJob(e, next, e.Key+"/again")},
	}
}
