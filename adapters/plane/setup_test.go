package plane_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Columns are made once, under the names by which they are found; a board that is taken for
// known is read again then.
func TestAddColumn(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	p := board.AddProject("GPX", "Backlog")
	columns, err := c.Columns(t.Context(), p)
	require.NoError(t, err)
	require.Empty(t, columns)
	for _, s := range stage.Statuses() {
		require.NoError(t, c.AddColumn(t.Context(), p, s.Key))
		require.NoError(t, c.AddColumn(t.Context(), p, s.Key), "one that is there stays")
	}
	columns, err = c.Columns(t.Context(), p)
	require.NoError(t, err)
	groups := map[string]string{}
	for _, s := range board.States(p) {
		groups[s.Name] = s.Group
	}
	require.Len(t, groups, 1+len(stage.Statuses()))
	for _, s := range stage.Statuses() {
		require.Equal(t, s.Name, columns[s.Key])
	}
	require.Equal(t, []string{"completed", "cancelled", "unstarted", "started"}, []string{groups["Done"], groups["STOP"], groups["To Analyse"], groups["Blocked"]})

	require.ErrorContains(t, c.AddColumn(t.Context(), p, "lunch"), `there is no status "lunch"`)
	require.NoError(t, board.RemoveState(p, "Done"))
	board.SetRole(p, bot, planetest.Guest)
	var refused *plane.Error
	require.ErrorAs(t, c.AddColumn(t.Context(), p, stage.StatusDone), &refused)
	require.Equal(t, http.StatusForbidden, refused.Status)
}

func TestProjects(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	list, err := c.Projects(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	gpx, web := board.AddProject("GPX"), board.AddProject("WEB")
	list, err = c.Projects(t.Context())
	require.NoError(t, err)
	require.Equal(t, []plane.Project{{ID: gpx, Identifier: "GPX", Name: "GPX"}, {ID: web, Identifier: "WEB", Name: "WEB"}}, list)
}
