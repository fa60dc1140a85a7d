// Package traces sends the life of each task that has ended to a collector of OpenTelemetry, as one trace
// (OTLP 1 over HTTP, JSON): a span for the task, one for each stage that it passed, one for
// each time that it waited, one for each run of an agent.
//
// A trace is made of the journal when the task has ended, so nothing is measured beside the
// work. It is owed as every effect is: sent at least once, with the same ids each time, for as long as the
// collector does not take it.
package traces

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/post"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// name of the feature.
const name = "traces"

// path is where collectors take traces, below their address.
const path = "/v1/traces"

// Options of the feature. URL is required.
type Options struct {
	orchestrator.Parts

	URL     secret.String `env:"OTLP_URL" doc:"OpenTelemetry collector (OTLP over HTTP) that the life of each task is sent to as a trace when it has ended, such as http://127.0.0.1:4318; unset: none"`
	Headers secret.String `env:"OTLP_HEADERS" doc:"name=value,… that are sent with each trace, such as a key"`
	Service string        `envDefault:"signalbox"` // service.name
	Client  *http.Client  // nil = one with a limit of 10 s; redirects are not followed
}

// HeaderValues are the headers, by name.
func (o Options) HeaderValues() map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(o.Headers.Reveal(), ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			out[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return out
}

// Check reports whether the address is one.
func (o Options) Check() error {
	if !post.IsAddress(o.URL.Reveal()) {
		return errors.New("traces: Options.URL: want the address of a collector such as http://127.0.0.1:4318") // what it is may hold a key
	}
	return nil
}

// Feature makes the feature.
func Feature(o Options) (none orchestrator.Feature, err error) {
	if err := o.Check(); err != nil {
		return none, err
	}
	if err := o.Complete("traces"); err != nil {
		return none, err
	}
	o.Client = post.Client(o.Client)
	defaults.Fill(&o)
	return orchestrator.Feature{
		Name:    name,
		Rules:   []stage.Rule{rule},
		Runners: map[stage.EffectKind]orchestrator.Runner{orchestrator.EffectTrace: orchestrator.RunnerFunc(o.send)},
	}, nil
}

// rule adds a trace to a decision that ends a task.
func rule(s stage.State, _ stage.Event, d stage.Decision) stage.Decision {
	if d.Moved && d.State.Stage.Terminal() && !s.Stage.Terminal() {
		d.Effects = append(slices.Clip(d.Effects), stage.Effect{Kind: orchestrator.EffectTrace})
	}
	return d
}

// send posts the trace of a task.
func (o Options) send(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, err := o.Store.Task(ctx, e.TaskID)
	if errors.Is(err, task.ErrNotFound) {
		return queue.Outcome{Kind: queue.OutcomeDone}
	}
	if err != nil {
		return orchestrator.Retry(err)
	}
	story, err1 := o.Store.Journal(ctx, t.ID)
	runs, err2 := o.Store.AgentRuns(ctx, t.ID)
	if err := errors.Join(err1, err2); err != nil {
		return orchestrator.Retry(err)
	}
	body, err := json.Marshal(export(o.Service, spansOf(t, story, runs)))
	if err == nil {
		err = o.post(ctx, body)
	}
	if err != nil {
		return orchestrator.Retry(err)
	}
	return queue.Outcome{Kind: queue.OutcomeDone}
}

func (o Options) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(o.URL.Reveal(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range o.HeaderValues() {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	return post.Send(ctx, o.Client, req, "the collector of traces", o.Now(), http.StatusBadRequest)
}
