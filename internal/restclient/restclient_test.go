package restclient_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
		"too long":          {200, "", `"` + strings.Repeat("x", 17<<20) + `"`, 1, false, 0, "has more than 16777216 bytes"},
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
				_, _ = w.Write([]byte(c.body))
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
			require.Equal(t, c.again, fault.Retryable(err))
			require.Equal(t, c.after, fault.After(err))
		})
	}
}

// A call that writes is made once, unless it is marked as safe, or as such that the server's own word of a failure is enough.
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
