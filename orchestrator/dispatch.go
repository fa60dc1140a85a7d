package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// handleEffect makes an effect. An unknown kind (its feature was switched off
// meanwhile) is given up, visibly.
func (e *Engine) handleEffect(ctx context.Context, c queue.Claim) *queue.Outcome {
	var f Effect
	if err := json.Unmarshal(c.Job.Payload, &f); err != nil {
		return &queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
	}
	runner := e.Runners[f.Kind]
	if runner == nil {
		return &queue.Outcome{Kind: queue.OutcomeDead, Error: fmt.Sprintf("nobody runs the effect %q", f.Kind)}
	}
	f.Attempt, f.Killed = c.Job.Attempt, c.Job.Attempt > 1 && c.Job.Error == queue.LostHeartbeat
	if irreversible(f.Kind) {
		t, err := e.Store.Task(ctx, f.TaskID)
		if err != nil {
			return retryOutcome(err)
		}
		if o := e.awaitCard(ctx, t); o != nil {
			return o
		}
	}
	var o queue.Outcome
	if err := guard.Do("effect "+string(f.Kind), func() { o = runner.Run(ctx, f) }); err != nil {
		o = Retry(err)
	}
	if f.TaskID != 0 && errors.Is(o.Cause, tracker.ErrNotFound) {
		o = e.withoutCard(ctx, f, o)
	}
	return &o
}

// needed are the effects that a stage cannot go on without, and what they do in words.
// The merge and the merge gate report a failure by events of their own.
var needed = map[stage.EffectKind]string{
	stage.EffectPrepare: "the branch could not be made",
	stage.EffectPublish: "the branch could not be published",
	stage.EffectPull:    "the pull request could not be opened",
}

// IsNeeded reports whether a stage cannot go on without effects of a kind.
func IsNeeded(kind stage.EffectKind) bool { return needed[kind] != "" }

// givenUp returns the jobs that notify people of an effect that was given up: by blocking the
// task when its stage needs it. A chat that refuses is no way to say so.
func (e *Engine) givenUp(j queue.Job, why string) []queue.Job {
	var f Effect
	if !IsEffect(j) || json.Unmarshal(j.Payload, &f) != nil || LaneOf(f.Kind) == LaneChat {
		return nil
	}
	why = fault.Words(why)
	if what, ok := needed[f.Kind]; ok && f.TaskID != 0 {
		return []queue.Job{TriggerJob(f, stage.Event{On: stage.OnEffectFailed, At: e.Now(), Reason: what + ": " + why})}
	}
	text := fmt.Sprintf("%s could not be made and is given up: %s", f.Describe(), why)
	return []queue.Job{FollowUpJob(f, stage.Effect{Kind: stage.EffectNotify, Text: text}, "given_up/"+f.Key, time.Time{})}
}
