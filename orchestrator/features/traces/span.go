package traces

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// The form of OTLP in JSON: ids are in hex, times are nanoseconds in a string.

type value struct {
	String string `json:"stringValue"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type status struct {
	Code    int    `json:"code,omitempty"` // 1 = ok, 2 = error
	Message string `json:"message,omitempty"`
}

const (
	statusOK    = 1
	statusError = 2
)

// spanKind is that of work within the service.
const spanKind = 1

type span struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
	Status     status      `json:"status"`
}

type scope struct {
	Scope struct {
		Name string `json:"name"`
	} `json:"scope"`
	Spans []span `json:"spans"`
}

type resource struct {
	Resource struct {
		Attributes []attribute `json:"attributes"`
	} `json:"resource"`
	Scopes []scope `json:"scopeSpans"`
}

type request struct {
	Resources []resource `json:"resourceSpans"`
}

func export(service string, spans []span) request {
	s := scope{Spans: spans}
	s.Scope.Name = "signalbox"
	r := resource{Scopes: []scope{s}}
	r.Resource.Attributes = attributes("service.name", service)
	return request{[]resource{r}}
}

// attributes are those of names and values in turn; empty values are left out.
func attributes(pairs ...string) []attribute {
	out := []attribute{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			out = append(out, attribute{pair[0], value{pair[1]}})
		}
	}
	return out
}

// trace makes the spans of a task.
type trace struct {
	task  task.Task
	spans []span
}

// id is the same each time for the same part of the same task.
func (t *trace) id(size int, part string) string {
	sum := sha256.Sum256([]byte(task.Identity(t.task) + "\n" + t.task.CreatedAt.UTC().Format(time.RFC3339Nano) + "\n" + part))
	return hex.EncodeToString(sum[:size])
}

// Sizes of ids in bytes.
const (
	traceID = 16
	spanID  = 8
)

// add adds a span, and returns its id. One that would end before it began ends at its beginning.
func (t *trace) add(parent, part, name string, from, to time.Time, s status, pairs ...string) string {
	if to.Before(from) {
		to = from
	}
	nano := func(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }
	id := t.id(spanID, part)
	t.spans = append(t.spans, span{
		Trace: t.id(traceID, ""), ID: id, Parent: parent, Name: name, Kind: spanKind,
		Start: nano(from), End: nano(to), Attributes: attributes(pairs...), Status: s,
	})
	return id
}

// step is a decision that has changed where a task stands.
type step struct {
	seq   int64
	at    time.Time
	state stage.State
}

// spansOf are the spans of a task that has ended, the task's own first.
func spansOf(t task.Task, story []task.JournalEntry, runs []task.AgentRun) []span {
	var steps []step
	for _, e := range story {
		if r, err := e.Recorded(); err == nil && r.Decision.Moved {
			steps = append(steps, step{e.Seq, e.At, r.Decision.State})
		}
	}
	begun, ended := t.CreatedAt, t.UpdatedAt
	if len(steps) > 0 {
		begun, ended = steps[0].at, steps[len(steps)-1].at
	}
	out := &trace{task: t}
	end := status{Code: statusOK}
	if t.State.Stage != stage.Done {
		end = status{statusError, string(t.State.Stage)}
	}
	cost := task.CostOf(runs...)
	root := out.add("", "task", t.WorkItemID, begun, ended, end,
		"signalbox.task", strconv.FormatInt(t.ID, 10), "signalbox.work_item", t.WorkItemID, "signalbox.repo", t.Repo,
		"signalbox.title", t.Title, "signalbox.stage", string(t.State.Stage),
		"signalbox.merge_sha", t.State.MergeSHA, "signalbox.cost_usd", dollars(cost.Usage))
	stages := out.stages(root, steps)
	for _, r := range runs {
		out.run(root, stages, r)
	}
	return out.spans
}

// within is the span of a stage, from when to when.
type within struct {
	id       string
	from, to time.Time
}

// stages adds a span for each time that a task was at a stage, and in it one for each time that it waited.
func (t *trace) stages(root string, steps []step) (out []within) {
	for i := 0; i < len(steps); {
		at, from := steps[i].state.Stage, i
		for i < len(steps) && steps[i].state.Stage == at {
			i++
		}
		if at.Terminal() {
			continue
		}
		to := steps[min(i, len(steps)-1)].at
		id := t.add(root, fmt.Sprint("stage/", steps[from].seq), string(at), steps[from].at, to, status{}, "signalbox.stage", string(at))
		out = append(out, within{id, steps[from].at, to})
		for k := from; k < i; {
			held, first := steps[k].state.Hold, k
			for k < i && steps[k].state.Hold == held {
				k++
			}
			if held != "" {
				end := steps[min(k, len(steps)-1)].at
				t.add(id, fmt.Sprint("hold/", steps[first].seq), "waits: "+string(held), steps[first].at, end, status{},
					"signalbox.hold", string(held), "signalbox.why", steps[first].state.HoldReason)
			}
		}
	}
	return out
}

// run adds the span of a run to that of the stage in which it began.
func (t *trace) run(root string, stages []within, r task.AgentRun) {
	for _, s := range stages {
		if !r.Started.Before(s.from) && r.Started.Before(s.to) {
			root = s.id
		}
	}
	end := status{Code: statusOK}
	if r.Status != work.ResultOK {
		end = status{statusError, r.Status}
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	t.add(root, fmt.Sprintf("run/%d/%d", r.JobID, r.Attempt), string(r.Role), r.Started, r.Finished, end,
		"signalbox.role", string(r.Role), "signalbox.run", count(r.Run), "signalbox.attempt", strconv.Itoa(r.Attempt),
		"signalbox.agent", r.Agent, "signalbox.result", r.Status,
		"gen_ai.provider.name", r.Vendor, "gen_ai.request.model", r.Usage.Model,
		"gen_ai.usage.input_tokens", count(task.CostOf(r).In()), "gen_ai.usage.output_tokens", count(r.Usage.Output),
		"signalbox.cost_usd", dollars(r.Usage))
}

func dollars(u work.Usage) string { return strconv.FormatFloat(float64(u.MicroUSD)/1e6, 'f', -1, 64) }
