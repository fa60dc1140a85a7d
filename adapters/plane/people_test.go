package plane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A server that serves no activities has no log, which is something else than an item
// that does not exist or a log that cannot be read now.
func TestServerWithoutALog(t *testing.T) {
	t.Parallel()
	c, board := serve(t, planetest.Options{NoLog: true})
	p, id := addItem(t, board)
	_, err := c.LastMove(t.Context(), p, id)
	require.ErrorIs(t, err, tracker.ErrNoLog)
	board.Fail(fakehttp.ErrorBefore, fakehttp.ErrorBefore, fakehttp.ErrorBefore)
	_, err = c.LastMove(t.Context(), p, id)
	require.NotErrorIs(t, err, tracker.ErrNoLog)
	require.True(t, fault.Retryable(err), "it is waited for")
}

// The newest move is found on whatever page it is.
func TestLongLog(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	p, id := addItem(t, board)
	for range 60 { // each move is two entries
		require.NoError(t, board.MoveAs("ann", id, "In Review"))
		require.NoError(t, board.MoveAs(bot, id, "Analysis"))
	}
	require.NoError(t, board.MoveAs("ann", id, "Approved"))
	m, err := c.LastMove(t.Context(), p, id)
	require.NoError(t, err)
	to, err := c.StatusOf(t.Context(), p, m.To)
	require.NoError(t, err)
	require.Equal(t, []any{"ann", stage.StatusApproved}, []any{m.ActorID, to})
}

// What Plane describes is cached for a while; a token that may not read it gets an error
// that says so, and nobody is taken for anybody.
func TestMembers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c, board := setup(t, func(o *plane.Options) { o.Now = func() time.Time { return now } })
	for role, want := range map[int]string{5: "guest", 15: "member", 20: "admin", 7: ""} {
		board.AddMember(planetest.Member{ID: want, Role: role})
	}
	for _, want := range []string{"guest", "member", "admin", ""} {
		p, err := c.Person(t.Context(), "", want)
		require.NoError(t, err)
		require.Equal(t, want, p.Role)
	}
	board.AddMember(planetest.Member{ID: "new", Role: 20})
	now = now.Add(time.Minute)
	p, err := c.Person(t.Context(), "", "new")
	require.NoError(t, err, "who has joined since")
	require.Equal(t, "admin", p.Role)
	other, server := setup(t)
	server.Fail(fakehttp.Denied)
	_, err = other.Person(t.Context(), "", "kim")
	require.Error(t, err)
	require.NotErrorIs(t, err, tracker.ErrNotFound)
	require.False(t, fault.Retryable(err))
}
