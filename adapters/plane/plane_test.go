package plane_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	botToken      = "plane_api_bot"
	reviewerToken = "plane_api_reviewer"
	bot           = "account-bot"
	reviewer      = "account-reviewer"
	secret        = "plane_wh_of_the_test"
)

func setup(t *testing.T, change ...func(*plane.Options)) (*plane.Client, *planetest.Server) {
	t.Helper()
	board := planetest.New(planetest.Options{Tokens: map[string]string{botToken: bot, reviewerToken: reviewer}, Secret: secret})
	srv := httptest.NewServer(board)
	o := plane.Options{
		BaseURL: srv.URL, Workspace: "acme", Token: botToken, RoleTokens: map[stage.Role]string{stage.Reviewer: reviewerToken}, Secrets: signature.Of(secret),
		HTTPClient: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	for _, f := range change {
		f(&o)
	}
	c, err := plane.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { board.Close(); srv.Close() })
	return c, board
}

// failure is the error of a call that Plane, or what stands in front of it, has refused.
func failure(t *testing.T, err error) *plane.Error {
	t.Helper()
	var e *plane.Error
	require.ErrorAs(t, err, &e)
	return e
}

// addItem makes a card in a project with these columns, or the usual ones.
func addItem(t *testing.T, board *planetest.Server, columns ...string) (project, id string) {
	t.Helper()
	if columns == nil {
		columns = planetest.StandardStates()
	}
	project = board.AddProject("GPX", columns...)
	id, err := board.AddItem(project, "t", "d")
	require.NoError(t, err)
	return project, id
}

// identify has a client read the accounts of its tokens.
func identify(t *testing.T, c *plane.Client) {
	t.Helper()
	require.NoError(t, c.Identify(t.Context()))
}

// serve makes a board with the bot's token, and a client of it.
func serve(t *testing.T, o planetest.Options) (*plane.Client, *planetest.Server) {
	t.Helper()
	o.Tokens = map[string]string{botToken: bot}
	board := planetest.New(o)
	t.Cleanup(board.Close)
	return clientOf(t, board), board
}

func names(statuses []stage.Status) []string {
	var out []string
	for _, s := range statuses {
		info, _ := stage.StatusNamed(s)
		out = append(out, strings.ToUpper(info.Name)) // names are matched whatever their case
	}
	return out
}

func TestConformance(t *testing.T) {
	trackertest.Run(t, func(t *testing.T) trackertest.Fixture {
		at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
		tick := func() time.Time { at = at.Add(time.Second); return at } // called under the server's lock
		board := planetest.New(planetest.Options{Tokens: map[string]string{botToken: bot, reviewerToken: reviewer}, Secret: secret, Now: tick})
		t.Cleanup(board.Close)
		board.AddMember(planetest.Member{ID: planetest.Human, Name: "Kim", Email: "kim@example.org", Role: 15})
		c := clientOf(t, board, func(o *plane.Options) { hasty(o); o.Secrets = signature.Of(secret) })
		identify(t, c)
		return trackertest.Fixture{
			Tracker:    c,
			NewProject: func(columns ...stage.Status) string { return board.AddProject("GPX", names(columns)...) },
			NewItem: func(p, title, description string) string {
				id, err := board.AddItem(p, title, plane.EscapeHTML(description))
				require.NoError(t, err)
				return id
			},
			Move: func(item string, to stage.Status) { require.NoError(t, board.Move(item, names([]stage.Status{to})[0])) },
			Say:  func(item, text string) { require.NoError(t, board.Say(item, "<p>"+text+"</p>")) },

			TitleMax: planetest.TitleMax,
			Person:   tracker.Person{ID: planetest.Human, Name: "Kim", Email: "kim@example.org", Role: "member"},
			Fail: func(call string, how faulttest.Kind) {
				board.Break(calls()[call], map[faulttest.Kind]fakehttp.Fault{
					faulttest.Final: fakehttp.Denied, faulttest.Passing: fakehttp.ErrorBefore, faulttest.Later: fakehttp.TooMany,
				}[how])
			},
			Edges: trackertest.Edges{Block: board.Block, Label: board.SetLabels, HookTo: board.SetHookURL},
		}
	})
}

func TestRolesCommentWithTheirOwnToken(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	p, id := addItem(t, board, "Backlog")
	for role, want := range map[stage.Role]string{stage.Reviewer: reviewer, stage.Tester: bot, "": bot} {
		_, err := c.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Author: role, Key: string(role), Body: "x"})
		require.NoError(t, err)
		list := board.Comments(id)
		require.Equal(t, want, list[len(list)-1].Actor)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for fault, after := range map[fakehttp.Fault]time.Duration{
		fakehttp.TooMany: time.Second, fakehttp.ErrorBefore: 0, fakehttp.ErrorAfter: 0, fakehttp.Dropped: 0, fakehttp.DroppedLate: 0, fakehttp.Held: 0,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			c, board := setup(t, hasty)
			p, id := addItem(t, board)
			n := tracker.NewComment{ProjectID: p, ItemID: id, Key: "1/1/1", Body: "once"}
			board.SetFaults(fakehttp.Faults{Hold: time.Millisecond})
			board.Fail(fault, fault, fault) // more than is tried at once
			_, err := c.AddComment(t.Context(), n)
			e := failure(t, err)
			require.True(t, e.Retryable())
			require.Equal(t, after, e.RetryAfter())
			board.Fail()
			for range 3 { // use up what is left of the faults
				_, err = c.AddComment(t.Context(), n)
			}
			require.NoError(t, err)
			require.Len(t, board.Comments(id), 1, "whatever was answered, the comment is there once")
		})
	}
}

// A server that accepts a call and never answers costs one time-out, no more.
func TestTimeOut(t *testing.T) {
	t.Parallel()
	c, board := setup(t, func(o *plane.Options) { o.HTTPClient.Timeout = 50 * time.Millisecond })
	p, id := addItem(t, board, "Backlog")
	board.SetFaults(fakehttp.Faults{Hold: time.Hour})
	board.Fail(fakehttp.Held)
	_, err := c.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Body: "x"})
	require.True(t, failure(t, err).Retryable())
	require.NotContains(t, err.Error(), "http://", "no address in an error")
}

// A single failure is overcome at once where that is safe.
func TestSafeCallsAreTriedAgain(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	p, id := addItem(t, board)
	board.Fail(fakehttp.Dropped, fakehttp.ErrorBefore)
	_, err := c.Item(t.Context(), p, id)
	require.NoError(t, err)
	require.NoError(t, c.SetStatus(t.Context(), p, id, stage.StatusDone))
	board.Fail(fakehttp.ErrorBefore)
	_, err = c.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Body: "without a key"})
	require.Error(t, err, "what Plane would post twice is not tried again")
}

// nobodys is the id of nothing.
const nobodys = "00000000-0000-4000-8000-00000000dead"

func TestUnreachable(t *testing.T) {
	t.Parallel()
	c, err := plane.New(plane.Options{BaseURL: "http://127.0.0.1:1", Workspace: "acme", Token: "x"})
	require.NoError(t, err)
	require.True(t, failure(t, c.Identify(t.Context())).Retryable())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Identify(ctx), context.Canceled)
}

// A column that is renamed or added while the service runs is found.
func TestColumnsAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c, board := setup(t, func(o *plane.Options) { o.Now = func() time.Time { return now } })
	p, id := addItem(t, board, "Backlog", "In Progress")
	require.ErrorIs(t, c.SetStatus(t.Context(), p, id, stage.StatusBlocked), tracker.ErrNoStatus)
	cols, err := c.Columns(t.Context(), p)
	require.NoError(t, err)
	require.Equal(t, "In Progress", cols[stage.StatusAnalysis])
	now = now.Add(time.Hour)
	item, err := c.Item(t.Context(), p, id)
	require.NoError(t, err)
	require.Equal(t, stage.StatusUnknown, item.Status)
	require.Equal(t, "Backlog", item.StatusName)
}
