package labelboard_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// says is a client of a host that gives one answer to every call.
func says(t *testing.T, kind forge, now time.Time, answer http.HandlerFunc) *labelboard.Client {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	return client(t, srv.URL, kind, func(o *labelboard.Options) {
		o.Issues = issues(t, kind, srv.URL, token, &http.Transport{DisableKeepAlives: true}, func() time.Time { return now })
	})
}

// Each answer has the class that its status gives it, and the moment that is named.
func TestStatusesAndTheirClasses(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	reset := strconv.FormatInt(now.Add(90*time.Second).Unix(), 10)
	for _, c := range []struct {
		status int
		header map[string]string
		again  bool
		after  time.Duration
	}{
		{status: 403}, {status: 404}, {status: 410}, {status: 500, again: true},
		{status: 429, header: map[string]string{"Retry-After": "7"}, again: true, after: 7 * time.Second},
		{status: 403, header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}, again: true, after: 90 * time.Second},
		{status: 403, header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, again: true, after: time.Second},
		{status: 403, header: map[string]string{"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": reset}},
	} {
		client := says(t, onGitHub, now, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range c.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(`{"message":"no"}`))
		})
		_, read := client.Item(t.Context(), repo, client.ItemID(repo, 1))
		_, post := client.AddComment(t.Context(), tracker.NewComment{ProjectID: repo, ItemID: client.ItemID(repo, 1), Body: "b"})
		for what, err := range map[string]error{"read": read, "post": post, "set": client.SetStatus(t.Context(), repo, client.ItemID(repo, 1), stage.StatusDone), "know": client.Identify(t.Context())} {
			require.Error(t, err, "%s %+v", what, c)
			require.Equal(t, c.again, fault.Retryable(err), "%s %+v: %v", what, c, err)
			require.Equal(t, c.after, fault.After(err), "%s %+v: %v", what, c, err)
			require.Equal(t, c.status == 404 || c.status == 410, errors.Is(err, tracker.ErrNotFound), "%s %+v: %v", what, c, err)
			require.NotContains(t, err.Error(), token)
		}
	}
}

// A page of something in front of the host is neither a success nor an issue that is gone.
func TestWhatIsNotTheHosts(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		for _, text := range []string{"", "<html>sign in</html>", "{}", "null", "[]", `{"status":"ok"}`} {
			c := says(t, kind, time.Now(), func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
			_, item := c.Item(t.Context(), repo, c.ItemID(repo, 1))
			_, move := c.LastMove(t.Context(), repo, c.ItemID(repo, 1))
			_, comment := c.AddComment(t.Context(), tracker.NewComment{ProjectID: repo, ItemID: c.ItemID(repo, 1), Body: "b"})
			_, person := c.Person(t.Context(), repo, kim)
			for what, err := range map[string]error{
				"item": item, "move": move, "comment": comment, "person": person, "status": c.SetStatus(t.Context(), repo, c.ItemID(repo, 1), stage.StatusDone), "know": c.Identify(t.Context()),
			} {
				require.Error(t, err, "%s: %q", what, text)
				require.True(t, fault.Retryable(err), "%s: %q: %v", what, text, err)
			}
		}
		c := says(t, kind, time.Now(), http.NotFound)
		_, err := c.Item(t.Context(), repo, c.ItemID(repo, 1))
		require.ErrorContains(t, err, "correct BaseURL")
		require.NotErrorIs(t, err, tracker.ErrNotFound)
		_, err = c.BlockedBy(t.Context(), repo, c.ItemID(repo, 1))
		require.NotErrorIs(t, err, tracker.ErrNoRelations, "a proxy's page is no lack of relations")
	}
}

// Pages that never end are an error, not a list.
func TestPagesWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		calls := 0
		c := says(t, kind, time.Now(), func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("Link", `<http://x/?page=2>; rel="next"`)
			_, _ = w.Write([]byte(`[{"id":1,"name":"status/Done"}]`))
		})
		_, err := c.Columns(t.Context(), repo)
		require.ErrorContains(t, err, "pages")
		require.Equal(t, 200, calls)
	}
}

// A pull request is in GitHub's lists of issues, and has a number of theirs; an issue that was transferred is another one.
func TestPullRequestsAreNoItems(t *testing.T) {
	t.Parallel()
	c := says(t, onGitHub, time.Now(), func(w http.ResponseWriter, r *http.Request) {
		text := map[string]string{
			"/repos/acme/shop/issues":   `[{"number":2,"state":"open","pull_request":{"url":"x"}},{"number":1,"state":"open","title":"t"}]`,
			"/repos/acme/shop/issues/2": `{"number":2,"pull_request":{"url":"x"},"labels":[{"id":1,"name":"status/Done"}]}`,
			"/repos/acme/shop/issues/3": `{"number":40,"title":"elsewhere"}`,
			"/repos/acme/shop/issues/4": `{"number":4,"repository_url":"https://api.github.com/repos/acme/other"}`,
			"/repos/acme/shop":          `{"full_name":"acme/Shop"}`,
			"/repos/acme/old/issues/4":  `{"number":4,"repository_url":"https://api.github.com/repos/acme/renamed"}`,
			"/repos/acme/old":           `{"full_name":"acme/renamed"}`,

			"/repos/acme/shop/issues/1/dependencies/blocked_by": `[{"number":2,"pull_request":{"url":"x"}},{"number":0},{"number":5,"repository_url":"https://api.github.com/repos/acme/Tiles"}]`,
		}[r.URL.Path]
		_, _ = w.Write([]byte(text))
	})
	page := read(t, c.List, tracker.Query{ProjectID: repo})
	require.Len(t, page.Items, 1)
	require.Equal(t, c.ItemID(repo, 1), page.Items[0].ID)
	refs, err := c.BlockedBy(t.Context(), repo, c.ItemID(repo, 1))
	require.NoError(t, err)
	require.Equal(t, []tracker.Ref{{ProjectID: "acme/Tiles", ItemID: c.ItemID("acme/tiles", 5)}}, refs)
	item, err := c.Item(t.Context(), "acme/old", c.ItemID("acme/old", 4))
	require.NoError(t, err)
	require.Equal(t, "acme/old", item.ProjectID)
	for _, id := range []string{c.ItemID(repo, 2), c.ItemID(repo, 3), c.ItemID(repo, 4)} {
		_, err = c.Item(t.Context(), repo, id)
		require.ErrorIs(t, err, tracker.ErrNotFound)
		require.ErrorIs(t, c.SetStatus(t.Context(), repo, id, stage.StatusDone), tracker.ErrNotFound)
	}
}
