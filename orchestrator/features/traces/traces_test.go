package traces_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/traces"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// span is one as collectors read it.
type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue string }
	}
	Status struct {
		Code    int
		Message string
	}
}

func (s span) of(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue
		}
	}
	return ""
}

// at is a time of the span in nanoseconds.
func at(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // of nothing but digits
	return n
}

// collector takes traces, without a network.
type collector struct {
	mu      sync.Mutex
	away    bool
	traces  [][]span
	bodies  []string
	headers []http.Header
	asked   int
}

func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	body, err := io.ReadAll(r.Body)
	if c.away || err != nil {
		return nil, errors.New("connection refused")
	}
	var in struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []span }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	c.traces, c.bodies, c.headers = append(c.traces, in.ResourceSpans[0].ScopeSpans[0].Spans), append(c.bodies, string(body)), append(c.headers, r.Header)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil))}, nil
}

func (c *collector) set(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

func traced(t *testing.T, f func(*Rig, *collector)) {
	t.Helper()
	c := &collector{}
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			f, err := traces.Feature(traces.Options{Parts: r.Parts(), URL: secret.New("http://collector.example.org:4318/"), Headers: secret.New("Api-Key=k"), Client: &http.Client{Transport: c}})
			require.NoError(r, err)
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{s, f}
		}
	}, func(r *Rig) { f(r, c) })
}

// A task that has ended is one trace, also when the collector was away then: its stages, what it
// waited for, and its runs, each within what it belongs to.
func TestTrace(t *testing.T) {
	traced(t, func(r *Rig, c *collector) {
		item := r.Begin("Cache the tiles")
		r.Settle(time.Hour)
		c.set(true)
		r.Set(item, stage.StatusApproved)
		r.Settle(30 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, "nothing else waits for a collector")
		require.Positive(r, c.asked)
		c.set(false)
		r.Settle(30 * time.Minute)
		require.Len(r, c.traces, 1)
		require.Equal(r, "k", c.headers[0].Get("Api-Key"))
		require.Equal(r, "application/json", c.headers[0].Get("Content-Type"))

		spans, byID, names := c.traces[0], map[string]span{}, map[string]int{}
		root := spans[0]
		require.Equal(r, r.Task(item).WorkItemID, root.Name)
		require.Empty(r, root.ParentSpanID)
		require.Equal(r, 1, root.Status.Code)
		require.Equal(r, "Cache the tiles", root.of("signalbox.title"))
		for _, s := range spans {
			require.Len(r, s.TraceID, 32)
			require.Len(r, s.SpanID, 16)
			require.Equal(r, root.TraceID, s.TraceID)
			require.NotContains(r, byID, s.SpanID)
			byID[s.SpanID] = s
			names[s.Name]++
			require.LessOrEqual(r, at(s.StartTimeUnixNano), at(s.EndTimeUnixNano))
			if s.ParentSpanID == "" {
				continue
			}
			parent, ok := byID[s.ParentSpanID]
			require.True(r, ok, "%s has a parent", s.Name)
			require.LessOrEqual(r, at(parent.StartTimeUnixNano), at(s.StartTimeUnixNano), s.Name)
			require.GreaterOrEqual(r, at(parent.EndTimeUnixNano), at(s.EndTimeUnixNano), s.Name)
		}
		for _, want := range []string{"analysis", "analyst", "development", "developer", "review", "reviewer", "testing", "tester", "waits: approval"} {
			require.Equal(r, 1, names[want], "%s: %v", want, names)
		}
		for _, s := range spans {
			switch s.Name {
			case "waits: approval":
				require.InDelta(r, time.Hour, at(s.EndTimeUnixNano)-at(s.StartTimeUnixNano), float64(time.Minute))
			case "developer":
				require.Equal(r, "development", byID[s.ParentSpanID].Name)
				require.Equal(r, "0.0015", s.of("signalbox.cost_usd"))
				require.Equal(r, "350", s.of("gen_ai.usage.input_tokens"))
			}
		}
		require.Positive(r, r.Replays())
	})
}

// A cancelled task is a trace that says so; one that lives is none.
func TestTraceOfACancelledTask(t *testing.T) {
	traced(t, func(r *Rig, c *collector) {
		item := r.Begin("Cache the tiles")
		r.Settle(time.Hour)
		require.Empty(r, c.traces)
		require.NoError(r, admin.Stop(r.Context(), r.Engine, r.Task(item).ID, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(time.Minute)
		require.Len(r, c.traces, 1)
		require.Equal(r, 2, c.traces[0][0].Status.Code)
		require.Equal(r, string(stage.Cancelled), c.traces[0][0].Status.Message)
	})
}

func TestOptions(t *testing.T) {
	for _, address := range []string{"", "collector:4318", "grpc://collector:4317", "http://"} {
		_, err := traces.Feature(traces.Options{URL: secret.New(address)})
		require.ErrorContains(t, err, "Options.URL", address)
	}
}
