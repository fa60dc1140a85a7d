package modelgateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// endless streams words until its request ends, which it counts, in a chat by the second choice of which the first has ended.
// Nobody waits for so many.
func endless(t *testing.T, ended *atomic.Int32) string {
	t.Helper()
	return vendor(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		start := `{"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":100,"output_tokens":1}}}`
		words := `{"type":"content_block_delta","delta":{"text":"%s"}}`
		if strings.HasSuffix(q.URL.Path, "/chat/completions") {
			start, words = `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `{"choices":[{"delta":{"content":"%s"}}]}`
		}
		fmt.Fprint(w, "data: "+start+"\n\n")
		for n := 0; n < 100_000 && q.Context().Err() == nil; n++ {
			fmt.Fprintf(w, "data: "+words+"\n\n", strings.Repeat("word", 100))
			_ = http.NewResponseController(w).Flush()
		}
		ended.Add(1)
	})
}

// A stream that passes the limit is cut in the middle, and nothing is forwarded from then on.
func TestCutsAtTheLimit(t *testing.T) {
	t.Parallel()
	var ended atomic.Int32
	r := newRig(t, endless(t, &ended))
	o, token := r.run(limited(20_000))
	status, _, answer := r.call(token, "/anthropic/v1/messages", `{"model":"m-1","stream":true}`)
	require.Equal(t, http.StatusOK, status)
	_, last, _ := strings.Cut(answer, "event: error\ndata: ")
	var said struct {
		Error struct{ Type, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(last), &said), last)
	require.Equal(t, "billing_error", said.Error.Type)
	require.Regexp(t, `^stopped: it has cost 0\.02\d* USD, and its limit is 0\.02 USD$`, said.Error.Message)
	require.Eventually(t, func() bool { return ended.Load() == 1 }, time.Minute, time.Millisecond, "the vendor is told")
	status, _, answer = r.call(token, "/anthropic/v1/messages", `{"model":"m-1"}`)
	require.Equal(t, http.StatusPaymentRequired, status)
	require.Contains(t, answer, "billing_error")
	require.Len(t, r.seen, 1)
	s := o.Close()
	require.Equal(t, work.ResultBudget, s.Kind)
	require.Equal(t, said.Error.Message, s.Why)
	require.True(t, s.Estimated)
	require.GreaterOrEqual(t, s.Usage.MicroUSD, int64(20_000))
	require.Less(t, s.Usage.MicroUSD, int64(40_000), "it was cut soon")

	_, token = r.run(limited(20_000))
	_, _, answer = r.call(token, "/openai/v1/chat/completions", `{"model":"m-1","stream":true,"n":2}`)
	require.Contains(t, answer, "its limit is 0.02 USD")
}

// An answer that reaches the limit with its last words is whole: what is done is not lost.
func TestLastAnswerIsWhole(t *testing.T) {
	t.Parallel()
	model := modeltest.New(modeltest.Steps(modeltest.Turn{Text: "done", Usage: modeltest.Usage{Output: 20}}))
	t.Cleanup(model.Close)
	for path, body := range routes() {
		r := newRig(t, model.URL)
		o, token := r.run(limited(200))
		_, _, answer := r.call(token, path, body)
		require.NotContains(t, answer, "signalbox", path)
		require.NotContains(t, answer, "stopped", path)
		require.Empty(t, o.Look().Kind, path)
		status, _, _ := r.call(token, path, body)
		require.Equal(t, http.StatusPaymentRequired, status, path)
		require.Equal(t, work.ResultBudget, o.Close().Kind, path)
	}
}

// The end of an execution ends its requests, and one that the agent gave up is counted.
func TestEndsRequests(t *testing.T) {
	t.Parallel()
	var ended atomic.Int32
	r := newRig(t, endless(t, &ended))
	o, token := r.run(limited(0))
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/anthropic/v1/messages", strings.NewReader(`{"stream":true}`))
	require.NoError(t, err)
	q.Header.Set("X-Api-Key", token)
	a, err := http.DefaultTransport.RoundTrip(q)
	require.NoError(t, err)
	_, err = io.ReadFull(a.Body, make([]byte, 1000))
	require.NoError(t, err)
	o.Close()
	require.Eventually(t, func() bool { return ended.Load() == 1 }, time.Minute, time.Millisecond)
	_, err = io.Copy(io.Discard, a.Body)
	require.Error(t, err)
	require.NoError(t, a.Body.Close())
	require.Eventually(t, func() bool { s := o.Look(); return s.Usage != nil && s.Estimated && s.Usage.Output > 0 }, time.Minute, time.Millisecond)
}

// A list that is refused, or the limit of another model, ends no run that a vendor answers.
func TestOneRefusal(t *testing.T) {
	t.Parallel()
	more := make(chan string, 1)
	more <- `{"model":"m-1",`
	r := newRig(t, vendor(t, func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		switch {
		case q.Method == http.MethodGet:
			w.WriteHeader(http.StatusForbidden)
		case strings.Contains(string(body), "m-2"):
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			for text := range more {
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
	o, token := r.run(limited(0))
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/anthropic/v1/messages", strings.NewReader(`{"model":"m-1"}`))
	require.NoError(t, err)
	q.Header.Set("X-Api-Key", token)
	a, err := http.DefaultTransport.RoundTrip(q)
	require.NoError(t, err)
	status, _, _ := r.call(token, "/anthropic/v1/messages", `{"model":"m-2"}`)
	require.Equal(t, http.StatusTooManyRequests, status)
	r.pass(30 * time.Second)
	meanwhile := o.Look().Kind
	more <- `"usage":{"output_tokens":1}}`
	close(more)
	_, err = io.Copy(io.Discard, a.Body)
	require.NoError(t, err)
	require.NoError(t, a.Body.Close())
	require.Empty(t, meanwhile)
	require.Zero(t, o.Look().Trouble)
	status, _, _ = r.call(token, "/anthropic/v1/models", "")
	require.Equal(t, http.StatusForbidden, status)
	require.Zero(t, o.Close().Trouble)
}

// Of one execution so many requests are under way, and a further one is refused for a moment.
func TestBoundsRequests(t *testing.T) {
	t.Parallel()
	var ended, began atomic.Int32
	r := newRig(t, vendor(t, func(_ http.ResponseWriter, q *http.Request) {
		began.Add(1)
		<-q.Context().Done()
		ended.Add(1)
	}))
	o, token := r.run(limited(0))
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() { r.call(token, "/anthropic/v1/messages", `{}`) })
	}
	require.Eventually(t, func() bool { return began.Load() == 16 }, time.Minute, time.Millisecond)
	status, header, _ := r.call(token, "/anthropic/v1/messages", `{}`)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Equal(t, "1", header.Get("Retry-After"))
	_, other := r.run(limited(0))
	status, _, _ = r.call(other, "/openai/v1/files", `{}`)
	require.Equal(t, http.StatusNotFound, status)
	for range 16 { // a request counts before its body has come
		c, err := net.Dial("tcp", r.Address())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", other)
		require.NoError(t, err)
		_, err = io.ReadFull(c, make([]byte, len("HTTP/1.1 100 Continue")))
		require.NoError(t, err)
	}
	status, _, _ = r.call(other, "/anthropic/v1/messages", "no JSON")
	require.Equal(t, http.StatusTooManyRequests, status)
	o.Close()
	calls.Wait()
	require.Eventually(t, func() bool { return ended.Load() == 16 }, time.Minute, time.Millisecond)
}

// A model without a price has that of the vendor's most costly one.
func TestPrices(t *testing.T) {
	t.Parallel()
	url := vendor(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"model":"claude-new","usage":{"output_tokens":10}}`)
	})
	for name, c := range map[string]struct {
		prices map[string]agentcli.Price
		tool   string
		want   int64
	}{
		"its own":     {map[string]agentcli.Price{"claude-new": {Output: 1e6}, "claude-old": {Output: 5e6}}, "", 10},
		"the tool's":  {map[string]agentcli.Price{"claude": {Output: 2e6}}, "claude", 20},
		"the highest": {map[string]agentcli.Price{"claude-old": {Output: 5e6}, "claude-low": {Output: 1e6}, "gpt-5": {Output: 9e6}}, "", 50},
		"none":        {map[string]agentcli.Price{"gpt-5": {Output: 9e6}}, "", 0},
	} {
		g, err := modelgateway.New(modelgateway.Options{
			Vendors: map[string]modelgateway.Vendor{modelgateway.Anthropic: {Key: secret.New(key), URL: url}}, Prices: c.prices,
		})
		require.NoError(t, err)
		require.NoError(t, g.Listen(t.Context(), "127.0.0.1:0"))
		r := &rig{T: t, Gateway: g}
		o, token := r.run(agentcli.LinkedRun{Tool: c.tool})
		r.call(token, "/anthropic/v1/messages", `{}`)
		require.Equal(t, c.want, o.Close().Usage.MicroUSD, name)
		require.NoError(t, g.Close())
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
