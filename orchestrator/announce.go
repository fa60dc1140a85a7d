package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Wanted makes the event job of a change on a registered project's board, or returns why
// there is none.
func (e *Engine) Wanted(h tracker.Hook) (job queue.Job, ignored string) {
	switch {
	case h.Kind == tracker.HookComment:
		if !h.Self {
			e.said.drop(h.ItemID)
		}
		return queue.Job{}, "comments are only noted"
	case h.Kind == tracker.HookItemUpdated && !h.Status:
		e.Heard(h) // its relations may be others now
		return queue.Job{}, "the status has not changed"
	case brakes(h):
		job = TrackerJob(h)
		job.Pool, job.Key = queue.PoolEvents, "" // it waits neither for the tracker nor for what came before it
		return job, ""
	default:
		return TrackerJob(h), ""
	}
}

// Announce takes a hook of a board that the service keeps itself, as a webhook of another is
// taken: the event is durable when it returns nil. id names the change; a second call is a
// duplicate. While the store cannot take it, it is tried again until ctx ends; the change is
// then found by the reconciler.
func (e *Engine) Announce(ctx context.Context, source, id string, h tracker.Hook) error {
	count := func(outcome string) {
		e.Metrics.Webhooks.Add(1, ByDelivery{Source: source, Outcome: outcome})
	}
	job, ignored := e.Wanted(h)
	if ignored != "" {
		count("ignored")
		return nil
	}
	sum := sha256.Sum256(append([]byte(id+"\n"), job.Payload...)) // two changes may have equal hooks
	d := task.Delivery{Source: source, ID: id, Event: h.Event, BodyHash: hex.EncodeToString(sum[:]), ReceivedAt: e.Now(), Outcome: "queued"}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		duplicate, err := e.Store.Receive(ctx, d, job)
		switch {
		case duplicate:
			count("duplicate")
			e.Metrics.WebhookDedup.Add(1, BySource{Source: source})
			return nil
		case err == nil:
			count("queued")
			return nil
		case e.Wait(ctx, wait) != nil:
			count("lost")
			return err
		}
	}
}
