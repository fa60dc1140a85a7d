package plane_test

import (
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
		{status: 404}, {status: 409}, {status: 301}, {status: 302, again: true}, {status: 500, again: true},
		{status: 429, header: "Tue, 06 May 2031 07:08:30 GMT", again: true, after: 30 * time.Second},
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
		}))
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
	c := clientOf(t, http.NotFoundHandler())
	_, err := c.BlockedBy(t.Context(), projectID, itemID)
	require.Error(t, err)
	require.NotErrorIs(t, err, tracker.ErrNoRelations)
}
