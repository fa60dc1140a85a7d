package plane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Relations are read in the forms of all versions; a version without them says
// so, and an item that does not exist is not one.
func TestRelations(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"", "1.3.0", "none"} {
		c, board := serve(t, planetest.Options{Relations: form})
		p, one := addItem(t, board)
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
	}
}

// A column of the end is known by its group, whatever its name.
func TestFinished(t *testing.T) {
	t.Parallel()
	c, board := serve(t, planetest.Options{})
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
