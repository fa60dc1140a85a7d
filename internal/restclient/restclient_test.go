package restclient_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// What an answer means: whether a later try may succeed and when, in words without the address.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header string // Retry-After
		body   string
		calls  int
		again  bool
		after  time.Duration
		want   string
	}{
		"a success":         {200, "", `{"id": 7}`, 1, false, 0, ""},
		"a page":            {200, "", "<html>", 1, true, 0, "forge: it: the answer cannot be read"},
		"without end":       {200, "", strings.Repeat(" ", 1<<16), 1, false, 0, "has more than 16777216 bytes"},
		"long words":        {403, "", `{"message":"x` + strings.Repeat("ж", 4000) + `"}`, 1, false, 0, "forge: it: 403 xж"},
		"a refusal":         {422, "", `{"message": "no\n  such  field"}`, 1, false, 0, "forge: it: 422 no such field"},
		"a limit":           {429, "", "", 1, true, time.Minute, "429"},
		"a named limit":     {429, "7", "", 1, true, 7 * time.Second, "429"},
		"an error":          {500, "", "", 3, true, 0, "500"},
		"it says later":     {503, "30", "", 1, true, 30 * time.Second, "503"},
		"a moment":          {503, "1", "", 3, true, time.Second, "503"},
		"moved for good":    {301, "", "", 1, false, 0, "301"},
		"moved for a while": {302, "", "", 1, true, 0, "302"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls++
				require.Equal(t, "secret", r.Header.Get("Authorization"))
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				_, err := w.Write([]byte(c.body))
				for name == "without end" && err == nil {
					_, err = w.Write([]byte(c.body))
				}
			}))
			defer server.Close()
			client := restclient.Client{
				Service: "forge", Base: server.URL, HTTP: restclient.Straight(nil), Now: time.Now,
				Sign: func(r *http.Request, token string) { r.Header.Set("Authorization", token) },
				Refuse: func(r restclient.Call, e *restclient.Error, resp *http.Response, _ []byte) error {
					e.What = strings.TrimSpace(r.What + ": " + resp.Status[:3] + " " + e.Text)
					return nil
				},
			}
			var out any
			_, err := client.Do(t.Context(), restclient.Call{What: "it", Method: http.MethodGet, Path: "/a?token=hidden", Token: "secret", Out: &out})
			require.Equal(t, c.calls, calls)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hidden")
			require.True(t, len(err.Error()) < 600 && utf8.ValidString(err.Error()), "not cut within a letter")
			require.Equal(t, c.again, fault.Retryable(err))
			require.Equal(t, c.after, fault.After(err))
		})
	}
}

// What never answers may answer later, whatever it is that fails; a call ends with its context.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`[{"number":`))
	}))
	t.Cleanup(broken.Close)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	for what, at := range map[string]string{
		"refused": "http://127.0.0.1:1", "no such name": "http://nothing.invalid", "TLS": secure.URL,
		"broken off": broken.URL, "time-out": "http://" + silent.Addr().String(),
	} {
		short := &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
		client := restclient.Client{Service: "forge", Base: at, HTTP: restclient.Transport(short), Sign: func(*http.Request, string) {}}
		call := restclient.Call{What: "it", Method: http.MethodGet, Path: "/a?token=hidden"}
		_, err := client.Do(t.Context(), call)
		require.True(t, fault.Retryable(err), "%s: %v", what, err)
		require.NotContains(t, err.Error(), "hidden", what)
		require.NotContains(t, err.Error(), "http://", what)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = client.Do(ctx, call)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// A call that writes is made once, unless it is safe or the server has said that it failed; what was never sent is sent again.
func TestCallsThatWrite(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	client := restclient.Client{
		Service: "forge", Base: server.URL, HTTP: restclient.Transport(nil), Now: time.Now,
		Sign:   func(*http.Request, string) {},
		Refuse: func(restclient.Call, *restclient.Error, *http.Response, []byte) error { return nil },
	}
	for retry, want := range map[restclient.Retry]int{restclient.ByMethod: 1, restclient.Never: 1, restclient.Answered: 3, restclient.Always: 3} {
		calls = 0
		_, err := client.Do(t.Context(), restclient.Call{Method: http.MethodPost, Path: "/", In: 1, Retry: retry})
		require.True(t, restclient.IsStatus(err, http.StatusInternalServerError), err)
		require.Equal(t, want, calls, retry)
	}
}
