package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// The server's address leads to the dashboard, also below a prefix that something
// before the server takes away.
func TestDashboardIsServed(t *testing.T) {
	h := open(t, "ORCH_ADMIN_TOKEN=the-operators-token-of-128-bits").Handler
	for _, prefix := range []string{"", "/signalbox"} {
		for _, path := range []string{"/", "/dashboard"} {
			w := httptest.NewRecorder()
			http.StripPrefix(prefix, h).ServeHTTP(w, localRequest(prefix+path))
			require.Equal(t, http.StatusSeeOther, w.Code)
			require.Equal(t, "dashboard/", w.Header().Get("Location"))
		}
		w := httptest.NewRecorder()
		http.StripPrefix(prefix, h).ServeHTTP(w, localRequest(prefix+"/dashboard/repos"))
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), "acme/app")
		require.Contains(t, w.Body.String(), "Merge lease", "the features that are on are shown")
	}
}

// localRequest is a request of this machine.
func localRequest(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:1"
	return r
}

// Links of the setting are in the navigation, and names that nobody has configured
// are refused.
func TestLinksAndHosts(t *testing.T) {
	ask := func(h http.Handler, host string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/dashboard/", nil)
		r.Host = host
		h.ServeHTTP(w, r)
		return w
	}
	h := open(t, "ORCH_PUBLIC_READ=true", "ORCH_LINKS=Card board=https://board.example.org/a?b=c,Map=/map", "ORCH_HOSTS=box.example.org").Handler
	body := ask(h, "box.example.org").Body.String()
	require.Contains(t, body, `<a href="https://board.example.org/a?b=c"><bdi>Card board</bdi></a>`)
	require.Contains(t, body, `<a href="/map"><bdi>Map</bdi></a>`)
	require.Equal(t, http.StatusOK, ask(h, "localhost:8080").Code)
	require.Equal(t, http.StatusMisdirectedRequest, ask(h, "evil.example.org").Code)
	require.Equal(t, http.StatusOK, ask(open(t, "ORCH_HOSTS=*", "ORCH_PUBLIC_READ=true").Handler, "any.example.org").Code)
}

// Pages that listen do not hold up the end of the server.
func TestStreamsEndWithTheServer(t *testing.T) {
	board := planetest.New(planetest.Options{Workspace: "acme", Tokens: map[string]string{"t": "b07b07b0-0000-4000-8000-000000000001"}, Secret: "plane-webhook-secret-of-128-bits"})
	defer board.Close()
	plane := httptest.NewServer(board)
	defer plane.Close()
	v := open(t, "ORCH_PLANE_URL="+plane.URL)
	var log bytes.Buffer
	v.Service.Log = slog.New(slog.NewTextHandler(&log, nil))
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx, l, nil) }()
	for _, path := range []string{"/dashboard/changes", "/events"} {
		resp, err := http.Get("http://" + l.Addr().String() + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	}
	stop()
	require.NoError(t, <-ended)
	require.Contains(t, log.String(), "stopping")
	require.NotContains(t, log.String(), "requests were cut off")
}
