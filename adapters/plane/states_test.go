package plane_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A column that was removed and made anew under another id is found although the
// board is still taken for known.
func TestColumnMadeAnew(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	p, id := addItem(t, board, "Backlog", "Done")
	_, err := c.Item(t.Context(), p, id)
	require.NoError(t, err)
	require.NoError(t, board.RemoveState(p, "Done"))
	board.AddState(p, "done")
	require.NoError(t, c.SetStatus(t.Context(), p, id, stage.StatusDone))
	require.Equal(t, "done", board.Items(p)[0].StateName)

	require.NoError(t, board.Move(id, "Backlog"))
	require.NoError(t, board.RemoveState(p, "done"))
	require.ErrorIs(t, c.SetStatus(t.Context(), p, id, stage.StatusDone), tracker.ErrNoStatus, "and when it is gone, it is gone")
	board.AddState(p, "DONE")
	require.NoError(t, c.SetStatus(t.Context(), p, id, stage.StatusDone), "a miss looks again")
}

// The deployment's confirmation never falls back, whatever columns there are:
// nothing is written to the board.
func TestConfirmDeployFailsClosed(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	p, id := addItem(t, board, "Backlog", "In Progress", "In Review", "Awaiting Deploy", "Confirm  Deploy", "Done")
	require.ErrorIs(t, c.SetStatus(t.Context(), p, id, stage.StatusConfirmDeploy), tracker.ErrNoStatus)
	require.Empty(t, board.Changes())
	cols, err := c.Columns(t.Context(), p)
	require.NoError(t, err)
	require.NotContains(t, cols, stage.StatusConfirmDeploy)
	for _, unknown := range []stage.Status{"", "no_such_status"} {
		require.ErrorIs(t, c.SetStatus(t.Context(), p, id, unknown), tracker.ErrNoStatus)
	}
}

// Items in states that Plane does not list (triage) do not make the columns be
// read with each of them, and are read again when the board's time has come.
func TestUnlistedStates(t *testing.T) {
	t.Parallel()
	states, list := "GET "+atProject+"states/", "GET "+atProject+"work-items/"
	var rows string
	for n := range 40 {
		rows += fmt.Sprintf(`{"id":"i%d","project":"p","name":"n","state":"hidden-%d"},`, n, n%2)
	}
	_, s := replay(t, map[string]answer{list: {text: `{"results":[` + rows[:len(rows)-1] + `]}`}})
	now := time.Now()
	c := clientOf(t, s, func(o *plane.Options) { o.Now = func() time.Time { return now } })
	for range 3 {
		page, err := c.List(t.Context(), tracker.Query{ProjectID: projectID})
		require.NoError(t, err)
		require.Len(t, page.Items, 40)
		require.Equal(t, stage.StatusUnknown, page.Items[7].Status)
		require.Empty(t, page.Items[7].StatusName)
	}
	require.Equal(t, 2, s.times(states), "once for each state that is not listed")
	now = now.Add(time.Hour)
	_, err := c.List(t.Context(), tracker.Query{ProjectID: projectID})
	require.NoError(t, err)
	require.Equal(t, 4, s.times(states))
}

func TestColumnsCannotBeRead(t *testing.T) {
	t.Parallel()
	c, _ := replay(t, map[string]answer{
		"GET " + atProject + "states/": {status: 403, file: "error_403_permission"}, "GET " + atItem: {file: "item"},
		"GET " + atProject + "work-items/": {file: "items_page1"},
	})
	_, err := c.Item(t.Context(), projectID, itemID)
	require.ErrorContains(t, err, "permission")
	_, err = c.List(t.Context(), tracker.Query{ProjectID: projectID})
	require.ErrorContains(t, err, "permission")
	_, err = c.Columns(t.Context(), projectID)
	require.ErrorContains(t, err, "permission")
	require.ErrorContains(t, c.SetStatus(t.Context(), projectID, itemID, stage.StatusDone), "permission")
}

// While the columns cannot be read, what is known of them is used: what was read
// last, else what was configured. Confirm Deploy is never guessed at.
func TestUnreadableColumns(t *testing.T) {
	t.Parallel()
	now := time.Now()
	configured := map[stage.Status]string{stage.StatusDone: "id-done", stage.StatusConfirmDeploy: "id-confirm"}
	c, board := setup(t, func(o *plane.Options) { o.Now, o.States = func() time.Time { return now }, configured })
	p, id := addItem(t, board)
	outage := []fakehttp.Fault{fakehttp.Dropped, fakehttp.Dropped, fakehttp.Dropped} // one call and its retries
	for _, status := range []stage.Status{stage.StatusConfirmDeploy, stage.StatusBlocked} {
		board.Fail(append(outage, outage...)...)
		require.Error(t, c.SetStatus(t.Context(), p, id, status), status)
	}
	board.Fail(outage...)
	told, err := c.StatusOf(t.Context(), p, "id-done")
	require.NoError(t, err)
	require.Equal(t, stage.StatusDone, told, "as configured")
	board.Fail(outage...)
	told, _ = c.StatusOf(t.Context(), p, "id-confirm")
	require.NotEqual(t, stage.StatusConfirmDeploy, told, "the board itself has to say it")
	board.Fail(outage...)
	require.NoError(t, c.SetStatus(t.Context(), p, id, stage.StatusDone), "as configured; an id that is wrong makes the board be read again")
	now = now.Add(time.Hour)
	board.Fail(outage...)
	require.NoError(t, c.SetStatus(t.Context(), p, id, stage.StatusBlocked), "as it was read last")
}

// calls are the routes that the calls of the port use.
func calls() map[string]string {
	return map[string]string{
		"AddComment": "POST work-items/*/comments", "SetStatus": "PATCH work-items/*", "Item": "GET work-items/*", "List": "GET work-items",
		"Comments": "GET work-items/*/comments", "Columns": "GET states", "LastMove": "GET work-items/*/activities",
	}
}
