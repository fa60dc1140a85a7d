package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// operator is the header of who may do everything.
var operator = map[string]string{"Authorization": "Bearer " + adminToken}

func TestQueueSaysWhatIsOff(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	var q map[string]any
	require.NoError(t, json.Unmarshal([]byte(k.get("/queue").body), &q))
	for _, block := range []string{"stop", "serial_gate", "reconcile", "task_deps", "merge_gate", "budget", "agent_pause"} {
		require.Equal(t, map[string]any{"enabled": false}, q[block], block)
	}
	for _, block := range []string{"jobs", "effects", "workers", "depth"} {
		require.Contains(t, q, block)
	}
}

func TestUnfreeze(t *testing.T) {
	t.Parallel()
	off := setup(t, nil)
	off.has(http.StatusNotFound, "ORCH_SERIAL_GATE_ENABLED", off.order("/serial-gate/unfreeze", `{"repo":"acme/app"}`))
	on := setup(t, func(o *web.Options) {
		o.Unfreeze = func(_ context.Context, repo string) (bool, string, error) { return repo == "acme/app", "degraded", nil }
	})
	on.says(http.StatusOK, `{"repo":"acme/app","was_frozen":true,"reason":"degraded"}`, on.order("/serial-gate/unfreeze", `{"repo":"acme/app"}`))
	for body, want := range map[string]int{"": 400, "{}": 400, `{"repo":`: 400, `{"repo":"acme/none"}`: 404} {
		on.is(want, on.order("/serial-gate/unfreeze", body))
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	off := setup(t, nil)
	off.has(http.StatusNotFound, "ORCH_AGENT_PAUSE_ENABLED", off.order("/agents/claude/resume", ""))
	on := setup(t, func(o *web.Options) {
		o.Resume = func(_ context.Context, agent string) (bool, error) { return agent == "/opt/my agent", nil }
	})
	on.says(http.StatusOK, `{"agent":"/opt/my agent","was_paused":true}`, on.order("/agents/%2Fopt%2Fmy%20agent/resume", ""))
	on.says(http.StatusOK, `{"agent":"claude","was_paused":false}`, on.order("/agents/claude/resume", ""))
}

func TestReload(t *testing.T) {
	t.Parallel()
	require.Equal(t, http.StatusNotFound, setup(t, nil).order("/admin/reload", "").status)
	wrong := errors.New("projects.yaml:6: project 1 (acme/x): wip: is -1")
	k := setup(t, func(o *web.Options) {
		o.Reload = func(context.Context) (web.Reloaded, error) {
			return web.Reloaded{Projects: 2, Added: []string{"acme/new"}, Removed: []string{}}, wrong
		}
	})
	a := k.order("/admin/reload", "")
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	require.Contains(t, a.body, wrong.Error())
	wrong = nil
	k.says(http.StatusOK, `{"projects":2,"added":["acme/new"],"removed":[]}`, k.order("/admin/reload", ""))
	story, err := k.store.Journal(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, story, 2, "each is in the journal")
}

func TestStop(t *testing.T) {
	t.Parallel()
	k := setup(t, func(o *web.Options) { o.Stop = true })
	k.begin()
	for range 2 {
		k.is(http.StatusAccepted, k.order("/tasks/1/stop", ""))
	}
	require.Len(t, k.jobs(), 1, "asked twice, done once")
	k.is(http.StatusNotFound, k.order("/tasks/2/stop", ""))
	k.is(http.StatusBadRequest, k.order("/tasks/x/stop", ""))
}

func (b *brokenStore) GateResults(ctx context.Context, taskID int64) ([]task.GateResult, error) {
	if b.reading != nil {
		b.reading()
	}
	return b.Store.GateResults(ctx, taskID)
}

// A decision that is made while a task is read is not shown beside the task of before: who waits for it took it for refused.
func TestTaskIsAsNewAsItsStory(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	row := k.begin()
	k.store.reading = func() {
		row.Version, row.State.Hold = 1, stage.HoldApproval
		require.NoError(k, k.store.Commit(context.Background(), task.Commit{Task: &row}))
	}
	require.Contains(t, k.get("/tasks/1").body, `"hold": "approval"`)
}

func TestHandlerRefuses(t *testing.T) {
	_, err := web.Handler(web.Options{})
	require.ErrorContains(t, err, "Engine and Access are required")
	h, err := web.Handler(web.Options{Engine: &orchestrator.Engine{}, Access: access.New(access.Options{})})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/webhooks/tracker", nil))
	require.Equal(t, http.StatusNotFound, w.Code, "a receiver that is off has no endpoint")
	for want, sources := range map[string][]web.Source{
		`"Forge"`:             {{Name: "Forge", Host: &github.Client{}}},
		"two sources":         {{Name: "forge", Host: &github.Client{}}, {Name: "forge", Tracker: &plane.Client{}}},
		"either a tracker or": {{Name: "forge"}},
	} {
		_, err := web.Handler(web.Options{Engine: &orchestrator.Engine{}, Access: access.New(access.Options{}), Sources: sources})
		require.ErrorContains(t, err, want)
	}
}

// The handler can be mounted below a prefix.
func Example() {
	h, err := web.Handler(web.Options{Engine: &orchestrator.Engine{}, Access: access.New(access.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/signalbox/", http.StripPrefix("/signalbox", h))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/signalbox/healthz", nil))
	fmt.Println(w.Code)
	_, _ = io.Copy(os.Stdout, w.Body)
	// Output:
	// 200
	// {
	//   "status": "ok"
	// }
}

// A HEAD changes nothing, whatever else is done at its path: a page of a stranger may send one for a person.
func TestHeadChangesNothing(t *testing.T) {
	t.Parallel()
	describedWorld(t, func(w *world) {
		for _, path := range []string{"/pauses", "/tasks/{id}/deps"} {
			before := w.send("GET "+path, nil, "", adminToken).Body.String()
			require.Equal(w, http.StatusOK, w.send("HEAD "+path, nil, `{"on": 3, "why": "x"}`, adminToken).Code)
			require.Equal(w, before, w.send("GET "+path, nil, "", adminToken).Body.String())
		}
	})
}

func TestPaths(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	for path, want := range map[string]int{
		"GET /healthz": 200, "GET /readyz": 200, "GET /metrics": 200, "GET /queue": 200, "GET /tasks": 200,
		"GET /nothing": 404, "GET /webhooks/tracker": 405, "DELETE /queue": 405, "GET /tasks/1": 404, "GET /tasks/1/explain": 404, "GET /tasks/x": 400, "GET /tasks/-1": 400,
		"GET /tasks?limit=0": 400, "GET /tasks?limit=x": 400, "GET /tasks?cursor=zzz": 400, "GET /tasks?stage=nope": 400, "GET /explain": 200, "GET /explain?limit=0": 400, "GET /explain?repo=acme/app&stage=analysis": 200, "GET /tasks?after=-1": 400, "GET /tasks?live=perhaps": 400, "GET /tasks?live=true&stage=review&limit=5": 200,
		"POST /tasks/1/retry": 401, "POST /tasks/1/stop": 401, "POST /serial-gate/unfreeze": 401, "POST /agents/claude/resume": 401,
		"POST /effects/hasten": 401, "POST /admin/reload": 401, "GET /admin/reload": 405, "POST /effects/1/again": 401, "GET /effects": 404,
	} {
		method, p, _ := strings.Cut(path, " ")
		a := k.do(method, p, nil, "")
		require.Equal(t, want, a.status, path)
		require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"), path)
		if want >= 400 {
			var problem web.Problem
			require.NoError(t, json.Unmarshal([]byte(a.body), &problem), path)
			require.Equal(t, want, problem.Status)
			require.NotEmpty(t, problem.Detail)
		}
	}
	require.Equal(t, "POST", k.get("/webhooks/tracker").header.Get("Allow"))
}
