package web_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

func TestDeps(t *testing.T) {
	t.Parallel()
	off := setup(t, nil)
	off.begin()
	require.Contains(t, off.get("/tasks/1/deps").body, "ORCH_TASK_DEPS_ENABLED")
	var d *deps.Deps
	k := setup(t, func(o *web.Options) {
		store, ok := o.Engine.Store.(*brokenStore)
		require.True(t, ok)
		var err error
		d, err = deps.New(deps.Options{Parts: orchestrator.Parts{Store: store, Projects: &task.Projects{}}})
		require.NoError(t, err)
		o.Deps = d
	})
	for i, s := range []stage.Stage{stage.Review, stage.Testing, stage.Done} {
		id := string(rune('a' + i))
		row := task.Task{ID: int64(i + 1), Repo: "acme/app", TrackerProjectID: "p1", TrackerIssueID: id, WorkItemID: "APP-" + id, Branch: id, State: stage.State{Stage: s}}
		k.keep(row)
	}
	for _, c := range []struct {
		method, path, body string
		with               map[string]string
		want               int
	}{
		{http.MethodPost, "/tasks/1/deps", `{"on":2}`, nil, 401},
		{http.MethodDelete, "/tasks/1/deps", `{"on":2}`, nil, 401},
		{http.MethodPost, "/tasks/1/deps", `{}`, operator, 400},
		{http.MethodPost, "/tasks/1/deps", `{"on":"x"}`, operator, 400},
		{http.MethodPost, "/tasks/x/deps", `{"on":2}`, operator, 400},
		{http.MethodPost, "/tasks/9/deps", `{"on":2}`, operator, 404},
		{http.MethodPost, "/tasks/1/deps", `{"on":9}`, operator, 404},
		{http.MethodPost, "/tasks/1/deps", `{"on":1}`, operator, 409},
		{http.MethodPost, "/tasks/1/deps", `{"on":3}`, operator, 409},
		{http.MethodPost, "/tasks/1/deps", `{"on":2}`, operator, 200},
		{http.MethodPost, "/tasks/2/deps", `{"on":1}`, operator, 409},
		{http.MethodGet, "/tasks/9/deps", "", nil, 404},
		{http.MethodPut, "/tasks/1/deps", "", operator, 405},
	} {
		k.is(c.want, k.do(c.method, c.path, c.with, c.body))
	}
	list := func(a answer) (out web.DependencyList) {
		k.Helper()
		require.Equal(k, http.StatusOK, a.status)
		require.NoError(k, json.Unmarshal([]byte(a.body), &out))
		return out
	}
	got := list(k.get("/tasks/1/deps")).Dependencies
	require.Len(k, got, 1)
	require.Equal(k, []any{int64(2), "db"}, []any{got[0].On, got[0].Source})
	require.NoError(k, k.store.SetDependencies(k.Context(), 2, deps.SourceTracker, []int64{3}))
	k.is(http.StatusConflict, k.do(http.MethodDelete, "/tasks/2/deps", operator, `{"on":3}`)) // it is the tracker's
	require.Empty(k, list(k.do(http.MethodDelete, "/tasks/1/deps", operator, `{"on":2}`)).Dependencies)
}

// A cancelled task is found by its former names in a query with cancelled=true.
func TestTasksByTheirOldNames(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	row := task.Task{
		ID: 1, Repo: "acme/app", TrackerProjectID: "p1", TrackerIssueID: "i#cancelled-1-99", WorkItemID: "APP-1#cancelled-1-99", Branch: "b#cancelled-1-99",
		State: stage.State{Stage: stage.Cancelled},
	}
	k.keep(row)
	for query, want := range map[string]int{"work_item=APP-1": 0, "work_item=APP-1&cancelled=true": 1, "issue=i&cancelled=true": 1, "cancelled=true": 1} {
		var out web.TaskList
		require.NoError(k, json.Unmarshal([]byte(k.get("/tasks?"+query).body), &out))
		require.Len(k, out.Tasks, want, query)
	}
	k.is(http.StatusBadRequest, k.get("/tasks?cancelled=x"))
}
