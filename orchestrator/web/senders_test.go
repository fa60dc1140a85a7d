package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// answer reads what a connection was answered, without the body.
func (k *kit) answer(conn net.Conn) *http.Response {
	k.Helper()
	require.NoError(k, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(k, err)
	k.Cleanup(func() { conn.Close(); resp.Body.Close() }) // in this order: a stream has no end
	return resp
}

// request sends a request from an address of this machine.
func (k *kit) request(from, method, path, header string) *http.Response {
	k.Helper()
	conn := k.dial(from)
	_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n%s\r\n", method, path, header)
	require.NoError(k, err)
	return k.answer(conn)
}

// One client cannot take all streams.
func TestStreamsOfOneSender(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	for range 10 {
		require.Equal(t, http.StatusOK, k.request("127.0.0.2", "GET", "/events", "").StatusCode)
	}
	require.Equal(t, http.StatusServiceUnavailable, k.request("127.0.0.2", "GET", "/events", "").StatusCode)
	require.Equal(t, http.StatusOK, k.request("127.0.0.3", "GET", "/events", "").StatusCode)
}

// A client that has sent its request may close its half of the connection: it gets its
// answer, and the log has no error.
func TestHalfClosedClient(t *testing.T) {
	t.Parallel()
	var log lines
	var slow slowStore
	k := setup(t, func(o *web.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		slow.Storing, o.Engine.Store = o.Engine.Store, &slow
		o.Checks = []web.Check{{Name: "slow", Ping: func(ctx context.Context) error { return slow.wait(ctx) }}}
	})
	for _, path := range []string{"/tasks", "/tasks/7", "/tasks/7/explain", "/readyz", "/healthz", "/queue"} {
		conn := k.dial("127.0.0.1").(*net.TCPConn)
		_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		require.NoError(t, err)
		require.NoError(t, conn.CloseWrite())
		want := http.StatusOK
		if strings.Contains(path, "7") {
			want = http.StatusNotFound
		}
		require.Equal(t, want, k.answer(conn).StatusCode, path)
	}
	require.NotContains(t, log.String(), "level=ERROR")
	require.NotContains(t, log.String(), "level=WARN")
}

// slowStore answers late enough for the server to have seen that its client has closed
// its half, and not at all when the request's context has ended.
type slowStore struct{ orchestrator.Storing }

func (*slowStore) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(300 * time.Millisecond):
		return nil
	}
}

func (s *slowStore) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Storing.Tasks(ctx, f)
}

func (s *slowStore) Task(ctx context.Context, id int64) (task.Task, error) {
	if err := s.wait(ctx); err != nil {
		return task.Task{}, err
	}
	return s.Storing.Task(ctx, id)
}

func TestReady(t *testing.T) {
	t.Parallel()
	sick := func(context.Context) error { return errors.New("sick") }
	k := setup(t, func(o *web.Options) {
		o.Checks = []web.Check{{Name: "a", Ping: sick, Warning: true}, {Name: "b", Ping: func(context.Context) error { return nil }}}
	})
	k.has(http.StatusOK, "warning: sick", k.get("/readyz"))
	k = setup(t, func(o *web.Options) { o.Checks = []web.Check{{Name: "a", Ping: sick}} })
	k.is(http.StatusServiceUnavailable, k.get("/readyz"))
}

// Readiness answers in time whatever its parts do, and shows no details of them.
func TestReadyKeepsItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		hangs, calls := make(chan struct{}), make(chan struct{}, 10)
		defer close(hangs)
		h, _ := handler(t, func(o *web.Options) {
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			o.Checks = []web.Check{
				{Name: "database", Ping: func(context.Context) error { return errors.New("user=signalbox host=10.1.2.3: refused") }},
				{Name: "hangs", Ping: func(context.Context) error { calls <- struct{}{}; <-hangs; return nil }},
				{Name: "fine", Ping: func(context.Context) error { return nil }},
			}
		})
		for range 2 {
			a := httptest.NewRecorder()
			h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			require.Equal(t, http.StatusServiceUnavailable, a.Code)
			require.NotContains(t, a.Body.String(), "10.1.2.3")
			require.JSONEq(t, `{"status":"not ready","checks":{"database":"does not work; the log says why","hangs":"does not work; the log says why","fine":"ok"}}`, a.Body.String())
		}
		require.Len(t, calls, 1, "a part that hangs is looked at once")
		require.Equal(t, 1, strings.Count(log.String(), "10.1.2.3"), "logged once")
		require.Contains(t, log.String(), "no answer within 5 s")
	})
}

// GitHub may be set to send forms: the signature is of the form as it is sent.
func TestFormOfTheHost(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	payload := `{"state":"success","sha":"` + strings.Repeat("a", 40) + `","repository":{"full_name":"acme/app"}}`
	post := func(body []byte, signed []byte) int {
		return k.do(http.MethodPost, "/webhooks/githost", map[string]string{
			"Content-Type": "application/x-www-form-urlencoded", "X-GitHub-Event": "status", "X-GitHub-Delivery": string(body[:7]), "X-Hub-Signature-256": "sha256=" + sign(githubSecret, signed),
		}, string(body)).status
	}
	form := []byte(url.Values{"payload": {payload}}.Encode())
	require.Equal(t, http.StatusUnauthorized, post(form, []byte(payload)))
	require.Empty(t, k.jobs())
	require.Equal(t, http.StatusAccepted, post(form, form))
	require.Len(t, k.jobs(), 1)
	require.Contains(t, string(k.jobs()[0].Payload), strings.Repeat("a", 40))
	for _, bad := range []string{"paylaod=%7B%7D", "payload=%zz", "payload=not+json"} {
		require.Equal(t, http.StatusBadRequest, post([]byte(bad), []byte(bad)), bad)
	}
}
