package plane_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Relations are read in the forms of all versions; a version without them says
// so, and an item that does not exist is not one.
func TestRelations(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"", "1.3.0", "none"} {
		board := planetest.New(planetest.Options{Workspace: "acme", Tokens: map[string]string{"t": "bot"}, Relations: form})
		srv := httptest.NewServer(board)
		c, err := plane.New(plane.Options{
			BaseURL: srv.URL, Workspace: "acme", Token: "t", HTTPClient: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
		})
		require.NoError(t, err)
		p := board.AddProject("GPX", planetest.StandardStates()...)
		one, err := board.AddItem(p, "one", "d")
		require.NoError(t, err)
		two, err := board.AddItem(p, "two", "d")
		require.NoError(t, err)
		board.Block(two, one)
		got, err := c.BlockedBy(t.Context(), p, two)
		if form == "none" {
			require.ErrorIs(t, err, tracker.ErrNoRelations)
		} else {
			require.NoError(t, err, form)
			require.Equal(t, []tracker.Ref{{ProjectID: p, ItemID: one}}, got)
			got, err = c.BlockedBy(t.Context(), p, one)
			require.NoError(t, err)
			require.Empty(t, got)
			got, err = c.BlockedBy(t.Context(), p, nobodys)
			require.NoError(t, err, "Plane lists what hangs on nothing")
			require.Empty(t, got)
		}
		board.Close()
		srv.Close()
	}
}

// A column of the end is known by its group, whatever its name.
func TestFinished(t *testing.T) {
	t.Parallel()
	board := planetest.New(planetest.Options{Workspace: "acme", Tokens: map[string]string{"t": "bot"}})
	srv := httptest.NewServer(board)
	t.Cleanup(func() { board.Close(); srv.Close() })
	c, err := plane.New(plane.Options{BaseURL: srv.URL, Workspace: "acme", Token: "t", HTTPClient: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}})
	require.NoError(t, err)
	p := board.AddProject("GPX", "Backlog", "Shipped", "Cancelled")
	for column, want := range map[string]bool{"Backlog": false, "Shipped": true, "Cancelled": true} {
		id, err := board.AddItem(p, column, "d")
		require.NoError(t, err)
		require.NoError(t, board.Move(id, column))
		item, err := c.Item(t.Context(), p, id)
		require.NoError(t, err)
		require.Equal(t, want, item.Finished, column)
	}
}
