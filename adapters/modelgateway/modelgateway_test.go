package modelgateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// TestMain lets the test's own program be the shim, and an agent that calls models.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent-shim" {
		os.Exit(agentcli.RunShim())
	}
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		os.Exit(agent())
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")) // it sleeps for a moment
}

const key = "sk-the-vendors-own-key"

// rig is a gateway before one server that is all vendors.
type rig struct {
	*testing.T
	*modelgateway.Gateway
	log bytes.Buffer

	mu   sync.Mutex
	seen []*http.Request
	now  time.Time
}

// RoundTrip keeps what is sent to the vendor.
func (r *rig) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.seen = append(r.seen, q.Clone(context.Background()))
	r.mu.Unlock()
	return http.DefaultTransport.RoundTrip(q)
}

func (r *rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func newRig(t *testing.T, url string) *rig {
	t.Helper()
	r := &rig{T: t, now: time.Date(2031, 5, 4, 8, 0, 0, 0, time.UTC)}
	vendors := map[string]modelgateway.Vendor{}
	for _, name := range []string{modelgateway.Anthropic, modelgateway.OpenAI, modelgateway.Google} {
		vendors[name] = modelgateway.Vendor{Key: secret.New(key), URL: url}
	}
	g, err := modelgateway.New(modelgateway.Options{
		Vendors: vendors, Client: r, Now: r.Now, Log: slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Prices: map[string]agentcli.Price{"m-1": {Input: 1_000_000, Output: 10_000_000, CacheRead: 100_000, CacheCreate: 2_000_000}},
	})
	require.NoError(t, err)
	require.NoError(t, g.Listen(t.Context(), "127.0.0.1:0"))
	t.Cleanup(func() {
		require.NoError(t, g.Close())
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	r.Gateway = g
	return r
}

// vendor starts a server that answers with f.
func vendor(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // before that a server does not see that a request ends
		q.Body = io.NopCloser(bytes.NewReader(body))
		f(w, q)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// run opens an execution, and gives its token.
func (r *rig) run(x agentcli.LinkedRun) (agentcli.Opened, string) {
	r.Helper()
	o, err := r.Open(r.Context(), x)
	require.NoError(r, err)
	return o, o.Env["SIGNALBOX_MODEL_TOKEN"]
}

// call makes a request under a token, in one of the ways of tools.
func (r *rig) call(token, path, body string, header ...string) (int, http.Header, string) {
	r.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	q, err := http.NewRequestWithContext(r.Context(), method, r.URL()+path, strings.NewReader(body))
	require.NoError(r, err)
	q.Header.Set("X-Api-Key", token)
	for pair := range slices.Chunk(header, 2) {
		q.Header.Set(pair[0], pair[1])
	}
	a, err := http.DefaultTransport.RoundTrip(q)
	require.NoError(r, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(r, err)
	return a.StatusCode, a.Header, string(text)
}

// routes of calls, with the body of a request each.
func routes() map[string]string {
	return map[string]string{
		"/anthropic/v1/messages":                          `{"model":"m-1","stream":true,"tools":[{"name":"x"}]}`,
		"/openai/v1/responses":                            `{"model":"m-1","stream":true,"tools":[{"name":"x"}]}`,
		"/openai/v1/chat/completions":                     `{"model":"m-1","stream":true,"tools":[{"name":"x"}]}`,
		"/gemini/v1beta/models/m-1:streamGenerateContent": `{"tools":[{"name":"x"}]}`,
	}
}

func limited(micro int64) agentcli.LinkedRun {
	return agentcli.LinkedRun{Command: work.Command{Agent: work.Agent{MicroUSD: micro}}}
}

// What passes is metered in each dialect, under the vendor's key, and nothing says who sends it.
func TestForwards(t *testing.T) {
	t.Parallel()
	model := modeltest.New(modeltest.Steps(modeltest.Turn{Text: "Some very private words.", Usage: modeltest.Usage{Input: 100, CacheRead: 3000, Output: 20}}))
	t.Cleanup(model.Close)
	for path, body := range routes() {
		r := newRig(t, model.URL)
		o, token := r.run(limited(0))
		require.Nil(t, o.Look().Usage)
		for range 2 {
			status, _, answer := r.call(token, path+"?key=x&alt=sse", body, "Cookie", "a=b", "X-Forwarded-For", "10.0.0.1", "Anthropic-Version", "v")
			require.Equal(t, http.StatusOK, status, answer)
			require.Contains(t, answer, "Some very private words.")
		}
		sent := r.seen[0]
		require.NotContains(t, fmt.Sprint(sent.URL, sent.Header), token)
		require.Contains(t, fmt.Sprint(sent.Header), key)
		require.Equal(t, "alt=sse", sent.URL.RawQuery)
		require.Equal(t, "identity", sent.Header.Get("Accept-Encoding"))
		require.Equal(t, "v", sent.Header.Get("Anthropic-Version"))
		require.Empty(t, sent.Header.Get("Cookie")+sent.Header.Get("X-Forwarded-For"))
		want := work.Usage{Model: "m-1", Input: 200, CacheRead: 6000, Output: 40, MicroUSD: 1200}
		require.Equal(t, &want, o.Close().Usage, path)
		status, _, _ := r.call(token, path, body)
		require.Equal(t, http.StatusUnauthorized, status, "the execution has ended")
		require.NotContains(t, r.log.String(), "private")
		require.NotContains(t, r.log.String(), token)
	}
}

// Each way in which tools send their key is one for the token.
func TestTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t, vendor(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	_, token := r.run(limited(0))
	for name, c := range map[string][3]string{
		"bearer": {"/openai/v1/models", "Authorization", "Bearer " + token},
		"google": {"/gemini/v1beta/models", "X-Goog-Api-Key", token},
		"query":  {"/gemini/v1beta/models?key=" + token, "Accept", "x"},
	} {
		status, _, _ := r.call("", c[0], "", c[1], c[2])
		require.Equal(t, http.StatusOK, status, name)
	}
	for _, wrong := range []string{"", key, token + "x", strings.ToLower(token)} {
		status, _, _ := r.call(wrong, "/openai/v1/models", "")
		require.Equal(t, http.StatusUnauthorized, status, wrong)
	}
	require.Len(t, r.seen, 3)
}

// What is no call of a model, or would not be seen, is refused in the vendor's form.
func TestRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, vendor(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	}))
	_, token := r.run(limited(0))
	for name, c := range map[string]struct {
		path, body string
		status     int
		header     []string
	}{
		"files":       {"/anthropic/v1/files", "{}", http.StatusNotFound, nil},
		"batches":     {"/anthropic/v1/messages/batches", "{}", http.StatusNotFound, nil},
		"a key":       {"/anthropic/v1/organizations/api_keys", "", http.StatusNotFound, nil},
		"dots":        {"/anthropic/v1/messages/../files", "{}", http.StatusNotFound, nil},
		"a host":      {"/openai//evil.example/v1/responses", "{}", http.StatusNotFound, nil},
		"background":  {"/openai/v1/responses", `{"background":true,"Background":false}`, http.StatusBadRequest, nil},
		"a websocket": {"/openai/v1/responses", "", http.StatusUpgradeRequired, []string{"Connection", "Upgrade", "Upgrade", "websocket"}},
		"compressed":  {"/openai/v1/responses", "{}", http.StatusUnsupportedMediaType, []string{"Content-Encoding", "gzip"}},
		"no JSON":     {"/gemini/v1beta/models/m:generateContent", "x", http.StatusBadRequest, nil},
		"a long name": {"/openai/v1/responses", `{"model":"` + strings.Repeat("m", 1<<20) + `"}`, http.StatusBadRequest, nil},
		"a redirect":  {"/openai/v1/responses", "{}", http.StatusBadGateway, nil},
	} {
		status, _, body := r.call(token, c.path, c.body, c.header...)
		require.Equal(t, c.status, status, name)
		require.True(t, json.Valid([]byte(body)), body)
		require.Contains(t, body, "signalbox", name)
	}
	status, _, _ := r.call(token, "/openai/v1/responses", strings.Repeat(" ", 32<<20)+"{}")
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	status, _, _ = r.call(token, "/elsewhere/v1/responses", "{}")
	require.Equal(t, http.StatusNotFound, status)
	require.Len(t, r.seen, 1, "one was led elsewhere, and nobody went there")
}

// A chat stream that would say nothing of its usage is told to.
func TestChatReportsUsage(t *testing.T) {
	t.Parallel()
	var got map[string]any
	r := newRig(t, vendor(t, func(w http.ResponseWriter, q *http.Request) {
		_ = json.NewDecoder(q.Body).Decode(&got)
		_, _ = io.WriteString(w, "{}")
	}))
	_, token := r.run(limited(0))
	r.call(token, "/openai/v1/chat/completions", `{"model":"m","stream":true,"n":1,"stream_options":{"a":1}}`)
	require.Equal(t, map[string]any{"a": 1.0, "include_usage": true}, got["stream_options"])
	r.call(token, "/openai/v1/chat/completions", `{"model":"m","stream":true,"stream_options":null}`)
	require.Equal(t, map[string]any{"include_usage": true}, got["stream_options"])
	require.InDelta(t, 1, got["n"], 0)
	got = nil
	r.call(token, "/openai/v1/chat/completions", `{"model":"m"}`)
	require.NotContains(t, got, "stream_options")
}

// What a vendor compresses although it was not to is metered, and comes plain.
func TestCompressedAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, vendor(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"model":"m-1","usage":{"input_tokens":5,"output_tokens":6}}`)
		_ = z.Close()
	}))
	o, token := r.run(limited(0))
	_, _, answer := r.call(token, "/anthropic/v1/messages", `{}`)
	require.JSONEq(t, `{"model":"m-1","usage":{"input_tokens":5,"output_tokens":6}}`, answer)
	require.Equal(t, &work.Usage{Model: "m-1", Input: 5, Output: 6, MicroUSD: 65}, o.Close().Usage)
}

// A refusal of all requests is the trouble of the execution, until a request is answered; a tool
// that goes on trying is ended after a while.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for fault, want := range map[modeltest.Fault]work.TroubleKind{
		modeltest.Unauthorized: work.TroubleLogin, modeltest.NoCredit: work.TroubleCredit, modeltest.UsageLimit: work.TroubleLimit,
		modeltest.RateLimited: "", modeltest.Overloaded: "", modeltest.UnknownModel: "",
	} {
		for path, body := range routes() {
			name := string(fault) + " " + path
			var well atomic.Bool
			model := modeltest.New(func(modeltest.Request) modeltest.Turn {
				if well.Load() {
					return modeltest.Turn{Text: "x"}
				}
				return modeltest.Turn{Fault: fault}
			})
			t.Cleanup(model.Close)
			r := newRig(t, model.URL)
			r.now = time.Now()
			o, token := r.run(limited(0))
			status, _, answer := r.call(token, path, body)
			require.GreaterOrEqual(t, status, 400, name)
			require.NotContains(t, answer, "signalbox", "it is the vendor's")
			s := o.Look()
			require.Equal(t, want, s.Trouble.Kind, name)
			require.Equal(t, want == work.TroubleLimit, !s.Trouble.Until.IsZero(), name)
			if want == work.TroubleLimit {
				require.WithinDuration(t, r.now.Add(modeltest.LimitHours*time.Hour), s.Trouble.Until, time.Minute, name)
			}
			require.Empty(t, s.Kind, name)
			r.pass(30 * time.Second)
			require.Equal(t, want != "", o.Look().Kind == work.ResultFailed, name)
			well.Store(true)
			if want != "" { // runs that begin meanwhile meet it here
				other, theirs := r.run(limited(0))
				sent := len(r.seen)
				again, _, _ := r.call(theirs, path, body)
				require.Equal(t, status, again, name)
				require.Equal(t, want, other.Close().Trouble.Kind, name)
				require.Len(t, r.seen, sent, "%s: the vendor is not called", name)
				r.pass(time.Hour)
			}
			r.call(token, path, body)
			require.Zero(t, o.Look().Trouble, name)
			require.Empty(t, o.Close().Kind, name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]map[string]modelgateway.Vendor{
		"no key":         {modelgateway.Anthropic: {}},
		"want anthropic": {"acme": {Key: secret.New(key)}},
		"the URL of":     {modelgateway.OpenAI: {Key: secret.New(key), URL: "file:///etc"}},
	} {
		_, err := modelgateway.New(modelgateway.Options{Vendors: v})
		require.ErrorContains(t, err, want)
	}
}
