package modelgateway

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// answers are whole answers of all dialects, as a stream and not, by name; body and type.
func answers(t testing.TB) map[string][2]string {
	t.Helper()
	model := modeltest.New(modeltest.Steps(modeltest.Turn{Text: "Füße, some words.", Usage: modeltest.Usage{Input: 100, CacheRead: 3000, Output: 20}}))
	defer model.Close()
	out := map[string][2]string{}
	for name, c := range map[string][2]string{
		"anthropic":        {"/v1/messages", `{"model":"m-1"}`},
		"anthropic stream": {"/v1/messages", `{"model":"m-1","stream":true}`},
		"responses":        {"/v1/responses", `{"model":"m-1"}`},
		"responses stream": {"/v1/responses", `{"model":"m-1","stream":true}`},
		"chat":             {"/v1/chat/completions", `{"model":"m-1"}`},
		"chat stream":      {"/v1/chat/completions", `{"model":"m-1","stream":true}`},
		"gemini":           {"/v1beta/models/m-1:generateContent", `{}`},
		"gemini stream":    {"/v1beta/models/m-1:streamGenerateContent", `{}`},
	} {
		body := strings.Replace(c[1], "{", `{"tools":[{"name":"x"}],`, 1)
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, c[0], strings.NewReader(strings.Replace(body, ",}", "}", 1)))
		r.Header.Set("X-Api-Key", "k")
		model.ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		out[name] = [2]string{w.Body.String(), w.Header().Get("Content-Type")}
	}
	return out
}

// read meters an answer that comes in pieces of these sizes, over and over.
func read(contentType, body string, sizes []byte) (work.Usage, bool) {
	m := newMeter(contentType, "asked", 400)
	for i := 0; body != ""; i++ {
		n := 1
		if len(sizes) > 0 {
			n = int(sizes[i%len(sizes)])%len(body) + 1
		}
		_, _ = m.Write([]byte(body[:n])) // it never fails
		body = body[n:]
	}
	return m.end()
}

// The usage of a whole answer is what the vendor reports, however its bytes come.
func TestMeterReadsAnswers(t *testing.T) {
	t.Parallel()
	want := work.Usage{Model: "m-1", Input: 100, CacheRead: 3000, Output: 20}
	for name, a := range answers(t) {
		for _, sizes := range [][]byte{nil, {255}, {0, 3, 7}, {40, 1, 0, 90}} {
			got, estimated := read(a[1], a[0], sizes)
			require.Equal(t, want, got, "%s %v", name, sizes)
			require.False(t, estimated, name)
		}
		if strings.HasPrefix(a[1], "text/event-stream") {
			windows, _ := read(a[1], strings.ReplaceAll(a[0], "\n", "\r\n"), nil)
			require.Equal(t, want, windows, name)
		}
	}
}

// An answer that is cut, or reports nothing, counts by its length.
func TestMeterEstimates(t *testing.T) {
	t.Parallel()
	const events = "text/event-stream"
	start := `data: {"type":"message_start","message":{"model":"claude-x-20250101","usage":{"input_tokens":7,"cache_read_input_tokens":5,"output_tokens":1}}}` + "\n\n"
	long := strings.Repeat("word", 50)
	for name, c := range map[string]struct {
		kind, body string
		want       work.Usage
	}{
		"nothing came":      {events, "", work.Usage{Model: "asked", Input: 100}},
		"cut early":         {events, start, work.Usage{Model: "claude-x", Input: 7, CacheRead: 5, Output: 1}},
		"cut in the middle": {events, start + `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"` + long + `"}}` + "\n\n", work.Usage{Model: "claude-x", Input: 7, CacheRead: 5, Output: 50}},
		"a tool's call":     {events, start + `data: {"type":"content_block_delta","delta":{"partial_json":"` + long + `"}}` + "\n\n", work.Usage{Model: "claude-x", Input: 7, CacheRead: 5, Output: 50}},
		"responses cut":     {events, `data: {"type":"response.output_text.delta","delta":"` + long + `"}` + "\n\n", work.Usage{Model: "asked", Input: 100, Output: 50}},
		"chat without": {
			events, `data: {"model":"gpt-9","choices":[{"delta":{"content":"` + long + `"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
			work.Usage{Model: "gpt-9", Input: 100, Output: 50},
		},
		"gemini cut":     {events, `data: {"candidates":[{"content":{"parts":[{"text":"` + long + `"}]}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3}}` + "\n\n", work.Usage{Model: "asked", Input: 9, Output: 50}},
		"no JSON":        {"text/html", long, work.Usage{Model: "asked", Input: 100, Output: 50}},
		"no usage":       {"application/json", `{"model":"gpt-9","output":"` + long + `"}`, work.Usage{Model: "gpt-9", Input: 100, Output: 58}},
		"an event long":  {events, start + "data: " + strings.Repeat("x", eventMax+1) + "\n\n", work.Usage{Model: "claude-x", Input: 7, CacheRead: 5, Output: 1}},
		"an answer long": {"application/json", strings.Repeat("x", eventMax+1), work.Usage{Model: "asked", Input: 100, Output: eventMax/4 + 1}},
	} {
		got, estimated := read(c.kind, c.body, []byte{255})
		require.Equal(t, c.want, got, name)
		require.True(t, estimated, name)
	}
}

// What the vendor has counted counts, also where that is nothing.
func TestMeterBelievesTheVendor(t *testing.T) {
	t.Parallel()
	body := `data: {"type":"content_block_delta","delta":{"text":"some words"}}` + "\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":0}}` + "\n\n"
	got, estimated := read("text/event-stream", body, nil)
	require.Equal(t, work.Usage{Model: "asked"}, got)
	require.False(t, estimated)
}

// What is behind an event that is too long is read again.
func TestMeterGoesOnBehindALongEvent(t *testing.T) {
	t.Parallel()
	body := "data: " + strings.Repeat("x", eventMax+1) + "\n\n" + answers(t)["responses stream"][0]
	got, estimated := read("text/event-stream", body, []byte{255})
	require.Equal(t, work.Usage{Model: "m-1", Input: 100, CacheRead: 3000, Output: 20}, got)
	require.False(t, estimated)
}

// Whatever comes, in whatever pieces, is read without harm and to the same counts.
func FuzzMeter(f *testing.F) {
	for name, a := range answers(f) {
		f.Add(strings.HasSuffix(name, "stream"), []byte(a[0]), []byte{3, 9})
	}
	f.Add(true, []byte("data: {\"usage\":{\"input_tokens\":-5}}\r\n\r\ndata: [DONE]\n\n"), []byte{0})
	f.Fuzz(func(t *testing.T, stream bool, body, sizes []byte) {
		kind := "application/json"
		if stream {
			kind = "text/event-stream"
		}
		whole := newMeter(kind, "asked", 400)
		_, _ = bytes.NewReader(body).WriteTo(whole) // it never fails
		want, estimated := whole.end()
		got, again := read(kind, string(body), sizes)
		require.Equal(t, fmt.Sprint(want, estimated), fmt.Sprint(got, again))
		for _, n := range []int64{got.Input, got.Output, got.CacheRead, got.CacheCreate} {
			require.GreaterOrEqual(t, n, int64(0))
		}
	})
}
