package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/guard"
	"github.com/signalbox-dev/signalbox/queue"
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
	f.Attempt = c.Job.Attempt
	var o queue.Outcome
	if err := guard.Do("effect "+f.Kind, func() { o = runner.Run(ctx, f) }); err != nil {
		o = e.retry(err, c.Job.Attempt)
	}
	e.Meter.Add("effects_total", 1, "kind", f.Kind, "outcome", o.Kind)
	return &o
}
