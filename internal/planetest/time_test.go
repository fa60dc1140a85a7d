package planetest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// updated reads the updated_at of an item.
func updated(t *testing.T, item string) string {
	t.Helper()
	return must(t, "GET", item, "").body["updated_at"].(string)
}

// A comment and a PATCH that changes nothing move updated_at on; neither is a move in the log, and the
// second has no webhook.
func TestWhatIsSavedIsUpdated(t *testing.T) {
	t.Parallel()
	s, p, at := open(t)
	calls := receive(t, s, nil)
	id := addItem(t, s, p, "t", "d")
	next(t, calls)
	item := at + "/api/v1/workspaces/acme/projects/" + p + "/work-items/" + id + "/"
	last := updated(t, item)
	for name, change := range map[string]func(){
		"a person's comment": func() { require.NoError(t, s.Say(id, "<p>hi</p>")) },
		"our comment":        func() { must(t, "POST", item+"comments/", `{"comment_html":"<p>x</p>"}`) },
		"the same state": func() {
			require.Equal(t, 200, must(t, "PATCH", item, `{"state":"`+s.States(p)[0].ID+`"}`).status)
		},
	} {
		change()
		now := updated(t, item)
		require.Greater(t, now, last, name)
		last = now
	}
	require.Empty(t, s.Changes())
	s.Close()
	for len(calls) > 0 {
		require.Equal(t, "issue_comment", next(t, calls).body.Event)
	}
}

// A drag in the browser is two saves with a moment between them, and both webhooks show the last data.
func TestADragIsSavedTwice(t *testing.T) {
	t.Parallel()
	const gap = 50 * time.Millisecond
	s, p, at := open(t, planetest.Options{Drag: gap})
	calls := receive(t, s, nil)
	id := addItem(t, s, p, "t", "d")
	next(t, calls)
	item := at + "/api/v1/workspaces/acme/projects/" + p + "/work-items/" + id + "/"
	require.NoError(t, s.Move(id, "Done"))
	between := must(t, "GET", item, "")
	require.Equal(t, s.States(p)[2].ID, between.body["state"], "the first save is to be seen")
	one, two := next(t, calls), next(t, calls)
	require.ElementsMatch(t, []any{"state_id", "sort_order"}, []any{one.body.Activity.Field, two.body.Activity.Field})
	require.Equal(t, one.body.Data["updated_at"], two.body.Data["updated_at"])
	require.Equal(t, one.body.Data["sort_order"], two.body.Data["sort_order"])
	first, err := time.Parse(time.RFC3339Nano, between.body["updated_at"].(string))
	require.NoError(t, err)
	second, err := time.Parse(time.RFC3339Nano, one.body.Data["updated_at"].(string))
	require.NoError(t, err)
	require.GreaterOrEqual(t, second.Sub(first), gap/2)
	require.WithinDuration(t, first, s.Changes()[0].At, time.Millisecond, "the log has the first")
	require.Len(t, s.Changes(), 1)
	require.NoError(t, s.Move(id, "Done"))
	require.Equal(t, "sort_order", next(t, calls).body.Activity.Field, "to its own column it only changes its place")
	require.Len(t, s.Changes(), 1)
}

// A column is removed where nothing stands, but the one where items are made; new ones stand behind the others.
func TestColumnsAreKept(t *testing.T) {
	t.Parallel()
	s, p, at := open(t)
	states := at + "/api/v1/workspaces/acme/projects/" + p + "/states/"
	require.NoError(t, s.Move(addItem(t, s, p, "t", "d"), "Done"))
	list := s.States(p)
	for state, want := range map[string]string{
		list[0].ID: "Default state cannot be deleted", list[2].ID: "The state is not empty, only empty states can be deleted",
	} {
		r := must(t, "DELETE", states+state+"/", "")
		require.Equal(t, http.StatusBadRequest, r.status)
		require.Equal(t, want, r.body["error"])
	}
	require.ErrorContains(t, s.RemoveState(p, "Done"), "not empty", "people cannot either")
	require.Equal(t, 204, must(t, "DELETE", states+list[1].ID+"/", "").status)
	require.Equal(t, 404, must(t, "DELETE", states+list[1].ID+"/", "").status)
	made := must(t, "POST", states, `{"name":"New","color":"#fff","group":"started"}`)
	require.Equal(t, 200, made.status)
	require.InDelta(t, list[2].Sequence+15000, made.body["sequence"], 0)
	require.Equal(t, []string{"Backlog", "Done", "New"}, names(s.States(p)))
}

func names(states []planetest.State) (out []string) {
	for _, st := range states {
		out = append(out, st.Name)
	}
	return out
}

// Of an archived project everything is empty, and nothing missing; an item that was moved to another project is found there
// alone.
func TestProjectsAndTheirItems(t *testing.T) {
	t.Parallel()
	s, p, at := open(t)
	id := addItem(t, s, p, "t", "d")
	project := func(id string) string { return at + "/api/v1/workspaces/acme/projects/" + id + "/" }
	other := s.AddProject("SHP", "Backlog")
	s.MoveTo(id, other)
	require.Equal(t, 404, must(t, "GET", project(p)+"work-items/"+id+"/", "").status)
	require.Equal(t, 200, must(t, "GET", project(other)+"work-items/"+id+"/", "").status)
	s.ArchiveProject(other, true)
	for _, list := range []string{"states/", "work-items/"} {
		r := must(t, "GET", project(other)+list, "")
		require.Equal(t, 200, r.status)
		require.EqualValues(t, 0, r.body["total_count"])
		require.Empty(t, r.body["results"])
	}
}

func addItem(t *testing.T, s *planetest.Server, project, title, description string) (id string) {
	t.Helper()
	id, err := s.AddItem(project, title, description)
	require.NoError(t, err)
	return id
}
