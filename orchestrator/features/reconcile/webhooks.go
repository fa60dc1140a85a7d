package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// missedMax is after how many moves of boards, found in more passes than one and with no
// webhook in all that time, webhooks count as stopped.
const missedMax = 3

// Facts: over restarts too, people were notified that webhooks of a source have stopped, and that so
// much of a board would move at once that nothing does.
const (
	Told      task.FactKind = "webhooks_told"
	BrakeTold task.FactKind = "brake_told"
)

// Webhooks is a part of readiness: an error reports that boards move and no
// webhooks come.
func (r *Reconciler) Webhooks(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch s := r.state; {
	case !s.Silent.IsZero():
		return fmt.Errorf("boards have moved without webhooks; people were told at %s", s.Silent.UTC().Format(time.RFC3339))
	case s.Missed >= missedMax && r.again:
		return fmt.Errorf("boards have moved %d times without webhooks: are they switched off at the sender?", s.Missed)
	default:
		return nil
	}
}

// listen notices that webhooks have stopped, and that they come again, and notifies
// people of both. It returns since when they count as stopped and people are notified of it.
func (r *Reconciler) listen(ctx context.Context, e *orchestrator.Engine, lost []string) (silent time.Time, err error) {
	told, err := e.Store.Facts(ctx, task.Fact{Kind: Told}, 1)
	var last time.Time
	for _, source := range r.opt.Sources {
		at, failed := e.Records.LastDelivery(ctx, source)
		if err = errors.Join(err, failed); at.After(last) {
			last = at
		}
	}
	if err != nil {
		return silent, err
	}
	missed, stopped := r.count(last, lost)
	switch {
	case len(told) == 0 && stopped:
		text := fmt.Sprintf("Boards have moved %d times and no webhook has come since %s. "+
			"Until they come again boards are read every %s. Is the webhook switched off at the tracker?",
			missed, sinceText(last), stage.Span(r.opt.Every))
		mark := task.Fact{Kind: Told, Of: "boards", Text: "no webhook since " + sinceText(last)}
		r.opt.Log.Error("webhooks have stopped while boards move", "sources", r.opt.Sources, "last", last, "moves", missed)
		notice := r.notice("stopped", last, "Webhooks have stopped", text)
		return r.opt.Now(), e.Store.Commit(ctx, task.Commit{Facts: []task.Fact{mark}, Jobs: []queue.Job{notice}})
	case len(told) > 0 && last.After(told[0].Since):
		r.opt.Log.Info("webhooks come again", "sources", r.opt.Sources)
		text := fmt.Sprintf("They were missing since %s. What boards said meanwhile was found by reading them.",
			told[0].Since.UTC().Format(time.RFC3339))
		notice := r.notice("again", told[0].Since, "Webhooks come again", text)
		return silent, e.Store.Commit(ctx, task.Commit{Over: told, Jobs: []queue.Job{notice}})
	case len(told) > 0:
		return told[0].Since, nil
	default:
		return silent, nil
	}
}

// count counts the moves that were found since the last webhook, each once however often
// it is found. Webhooks have stopped when those are many and none has come by the next
// pass: they may be on their way.
func (r *Reconciler) count(last time.Time, lost []string) (missed int, stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last.After(r.heard) {
		r.heard, r.moves, r.again = last, map[string]bool{}, false
	}
	r.again = r.again || len(r.moves) > 0
	for _, move := range lost {
		r.moves[move] = true
	}
	r.state.Missed = len(r.moves)
	return r.state.Missed, r.again && r.state.Missed >= missedMax
}

func sinceText(last time.Time) string {
	if last.IsZero() {
		return "the beginning"
	}
	return last.UTC().Format(time.RFC3339)
}

// notice is a message to people. It is put in the transaction that records that
// it was; replicas that notice the same at the same time put it once.
func (r *Reconciler) notice(what string, since time.Time, title, text string) queue.Job {
	key := fmt.Sprintf("webhooks/%s/%d", what, since.UnixMicro())
	return orchestrator.EffectJob(task.Task{Title: title}, task.Project{}, stage.Effect{Kind: stage.EffectNotify, Text: text}, key)
}
