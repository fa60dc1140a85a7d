package plane_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Each call has the class that the status gives it, and the moment that is named.
func TestStatusesAndTheirClasses(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		header string // Retry-After
		again  bool
		after  time.Duration
	}{
		{status: 400}, {status: 401}, {status: 403}, {status: 404}, {status: 405}, {status: 409}, {status: 410}, {status: 422},
		{status: 301}, {status: 308}, {status: 302, again: true}, {status: 307, again: true},
		{status: 408, again: true}, {status: 425, again: true}, {status: 425, header: "3", again: true, after: 3 * time.Second},
		{status: 429, again: true, after: time.Minute}, {status: 429, header: "0", again: true},
		{status: 429, header: "Tue, 06 May 2031 07:08:30 GMT", again: true, after: 30 * time.Second},
		{status: 429, header: "Tue, 06 May 2031 07:00:00 GMT", again: true},
		{status: 500, again: true}, {status: 501, again: true}, {status: 502, again: true}, {status: 504, header: "9", again: true, after: 9 * time.Second},
		{status: 503, header: "120", again: true, after: 2 * time.Minute},
		{status: 403, header: "120"}, // a refusal stays one
	} {
		client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/states/") {
				_, _ = w.Write([]byte(`{"results":[{"id":"s","name":"Done","group":"completed"}]}`))
				return
			}
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(`{"error":"no"}`))
		}), func(o *plane.Options) { o.Now = func() time.Time { return now } })
		_, read := client.Item(t.Context(), projectID, itemID)
		_, comment := client.AddComment(t.Context(), tracker.NewComment{ProjectID: projectID, ItemID: itemID, Body: "b"})
		set := client.SetStatus(t.Context(), projectID, itemID, stage.StatusDone)
		for what, err := range map[string]error{"read": read, "comment": comment, "status": set} {
			require.Error(t, err, "%s %+v", what, c)
			require.Equal(t, c.again, fault.Retryable(err), "%s %+v: %v", what, c, err)
			if c.again {
				require.Equal(t, c.after, fault.After(err), "%s %+v", what, c)
			}
		}
	}
}

// What never answers may answer later, whatever it is that fails.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	short := &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	for what, at := range map[string]string{"refused": "http://127.0.0.1:1", "time-out": "http://" + silent.Addr().String()} {
		c, err := plane.New(plane.Options{BaseURL: at, Workspace: "acme", Token: "x", HTTPClient: short})
		require.NoError(t, err)
		_, err = c.Item(t.Context(), projectID, itemID)
		require.Error(t, err, what)
		require.True(t, fault.Retryable(err), "%s: %v", what, err)
		require.NotContains(t, err.Error(), "http://", what)
		_, err = c.AddComment(t.Context(), tracker.NewComment{ProjectID: projectID, ItemID: itemID, Body: "b"})
		require.True(t, fault.Retryable(err), "%s: %v", what, err)
	}
	c, err := plane.New(plane.Options{BaseURL: "http://" + silent.Addr().String(), Workspace: "acme", Token: "x", HTTPClient: short})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = c.Item(ctx, projectID, itemID)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// A page of something in front of Plane is no success, whatever the request.
func TestASuccessThatIsNotPlanes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<html>sign in</html>", "{}", "null", `{"status":"ok"}`} {
		c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/states/") {
				text := `{"results":[{"id":"s","name":"Done","group":"completed"}]}`
				_, _ = w.Write([]byte(text))
				return
			}
			_, _ = w.Write([]byte(text))
		}), nil)
		_, comment := c.AddComment(t.Context(), tracker.NewComment{ProjectID: projectID, ItemID: itemID, Key: "k", Body: "b"})
		set := c.SetStatus(t.Context(), projectID, itemID, stage.StatusDone)
		_, relations := c.BlockedBy(t.Context(), projectID, itemID)
		for what, err := range map[string]error{"comment": comment, "status": set, "relations": relations} {
			require.Error(t, err, "%s: %q", what, text)
			require.True(t, fault.Retryable(err), "%s: %v", what, err)
		}
	}
}

// Only Plane itself can say that it has no relations: then nothing waits for them.
func TestAProxysPageIsNoLackOfRelations(t *testing.T) {
	t.Parallel()
	c := clientOf(t, http.NotFoundHandler(), nil)
	_, err := c.BlockedBy(t.Context(), projectID, itemID)
	require.Error(t, err)
	require.NotErrorIs(t, err, tracker.ErrNoRelations)
}
