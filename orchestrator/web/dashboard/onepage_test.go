package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// The board of our own is the page of the beginning, with what waits for a person and the figures above it, and the tasks of
// other boards below; where it was once leads there.
func TestTheBoardIsOnePage(t *testing.T) {
	d := signedIn(t)
	card := d.made("one")
	other, err := task.NewProjects(
		task.Project{TrackerProject: project, Repo: repo, CloneURL: "u", Prefix: "APP"},
		task.Project{TrackerProject: "forge:p9", Repo: "acme/forge", CloneURL: "u", Prefix: "FRG"},
	)
	require.NoError(t, err)
	d.engine.Projects.Replace(other)
	page := d.request(http.MethodGet, "/", nil).body
	for _, want := range []string{`<dl class="strip">`, ">one</a>", `aria-current="page">Board<`} {
		require.Contains(t, page, want)
	}
	for _, no := range []string{">Cards<", `id="col-ended"`, "Cards of other boards", "FRG"} {
		require.NotContains(t, page, no)
	}
	for n, at := range []struct{ project, item, key, repo string }{{project, strings.TrimPrefix(card, "/board/cards/"), "APP-1", repo}, {"forge:p9", "9", "FRG-9", "acme/forge"}} {
		row := task.Task{
			ID: int64(n) + 1, TrackerProjectID: at.project, TrackerIssueID: at.item, Repo: at.repo, WorkItemID: at.key, Title: "task of " + at.key, Branch: at.key,
			State: stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval, HoldReason: "a person's verdict"},
		}
		require.NoError(t, d.store.Commit(t.Context(), task.Commit{Task: &row}))
	}
	page = d.request(http.MethodGet, "/", nil).body
	_, below, ok := strings.Cut(page, "Cards of other boards")
	require.True(t, ok)
	require.Contains(t, below, "task of FRG-9")
	require.NotContains(t, below, "task of APP-1", "its card says where it stands")
	above, lanes, ok := strings.Cut(page, `<div class="bar">`)
	require.True(t, ok)
	require.Contains(t, above, "task of APP-1", "it waits for a person")
	require.Contains(t, lanes, "needs you")
	for path, want := range map[string]string{
		"/board": "./?", "/board?project=p1&column=backlog": "./?project=p1&column=backlog", "/board?archived=1": "./?archived=1",
	} {
		a := d.request(http.MethodGet, path, nil)
		require.Equal(t, []any{http.StatusSeeOther, want}, []any{a.status, a.header.Get("Location")}, path)
	}
	require.NotContains(t, d.request(http.MethodGet, "/?archived=1", nil).body, `<dl class="strip">`)
	_, err = d.board.Move(t.Context(), strings.TrimPrefix(card, "/board/cards/"), "done", cards.Person{Name: "Kim"})
	require.NoError(t, err)
	d.engine.Projects.Replace(func() *task.Projects { p, _ := task.NewProjects(); return p }())
	require.Contains(t, d.request(http.MethodGet, "/", nil).body, "Stages", "nobody has a board of our own")
}
