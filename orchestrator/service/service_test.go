package service_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// bare is a tracker that can do what is required, and nothing beside it.
type bare struct {
	orchestrator.Tracking
	tracker.Board
}

// registry has one project for each name.
func registry(t *testing.T, names ...string) *task.Projects {
	t.Helper()
	var list []task.Project
	for _, name := range names {
		list = append(list, task.Project{TrackerProject: name, Repo: "acme/" + name, CloneURL: "u", Prefix: name, Main: "main"})
	}
	projects, err := task.NewProjects(list...)
	require.NoError(t, err)
	return projects
}

// options are those of a service over doubles, for a tracker that is bare.
func options(t *testing.T) (service.Options, *memtracker.Board, *memwork.Place) {
	t.Helper()
	board, host, place := memtracker.New(nil), memhost.New(), memwork.New(memwork.Good)
	board.AddProject("APP")
	host.Push("acme/APP", "main", "base")
	place.OnPush = func(repo, branch, sha string) {
		host.Push(repo, branch, sha)
		host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
	}
	return service.Options{
		Store: memstore.New(nil), Projects: registry(t, "APP"), Tracker: bare{board, board}, Host: host, Workspaces: place, Agents: place, Leases: memlease.New(nil),
		Listen: "127.0.0.1:0",
	}, board, place
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:1"
	h.ServeHTTP(w, r)
	return w
}

// serve makes a service.
func serve(t *testing.T, o service.Options) *service.Service {
	t.Helper()
	s, err := service.New(o)
	require.NoError(t, err)
	return s
}

// puts puts cards into columns, and waits for what follows.
func puts(board *memtracker.Board) func(id string, status stage.Status) {
	return func(id string, status stage.Status) {
		board.Put(tracker.Item{ID: id, ProjectID: "APP", Sequence: int64(id[0]), Title: "card " + id, Description: "d", Status: status})
		time.Sleep(3 * time.Minute)
	}
}

// running runs a service until stop is called.
func running(t *testing.T, s *service.Service) (ctx context.Context, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, nil, nil) }()
	return ctx, func() { cancel(); require.NoError(t, <-ended) }
}

// A tracker that can do what is required is enough: it is read, and cards are Done. What
// lies on this machine for a task that nobody knows is removed.
func TestBareTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, board, place := options(t)
		o.Features = service.DefaultFeatures()
		o.Features.Retention.Every, o.Features.Retention.Unknown = time.Minute, time.Minute
		_, err := place.Open(t.Context(), work.Workspace{Repo: "acme/APP", Main: "main", Branch: "forgotten", WorkItem: "APP-9", Task: 9}, nil)
		require.NoError(t, err)
		s := serve(t, o)
		require.NotContains(t, s.Engine.Features(), "wait_comment", "the tracker cannot edit comments")
		ctx, stop := running(t, s)
		defer stop()
		put := puts(board)
		for _, id := range []string{"1", "2", "3", "4"} {
			put(id, stage.StatusToAnalyse)
			put(id, stage.StatusApproved)
			item, err := board.Item(ctx, "APP", id)
			require.NoError(t, err)
			require.Equal(t, stage.StatusDone, item.Status)
		}
		require.Contains(t, get(s.Handler, "/readyz").Body.String(), `"reconcile": "ok"`, "no webhook is missed")
		left, err := place.Remains(ctx)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// hooks receives webhooks of a board.
type hooks struct{ tracker.Receiver }

func (hooks) Habits() signature.Habits { return signature.Habits{} }

// A webhook of any board shows that webhooks come, whichever board is that of the settings.
func TestWebhooksOfAnyBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, board, _ := options(t)
		o.Features = service.DefaultFeatures()
		o.Web.Sources = []web.Source{{Name: "plane", Tracker: hooks{}}, {Name: "issues", Tracker: hooks{}}}
		s, err := service.New(o)
		require.NoError(t, err)
		ctx, stop := running(t, s)
		defer stop()
		for n := range 3 {
			board.Put(tracker.Item{ID: fmt.Sprint(n), ProjectID: "APP", Title: "t", Description: "d", Status: stage.StatusToAnalyse})
			time.Sleep(3 * time.Minute)
		}
		require.Contains(t, get(s.Handler, "/readyz").Body.String(), "boards have moved")
		h := tracker.Hook{Kind: tracker.HookComment, ProjectID: "APP", ItemID: "0"}
		_, err = o.Store.Receive(ctx, task.Delivery{Source: "issues", ID: "1", ReceivedAt: time.Now()}, orchestrator.TrackerJob(h))
		require.NoError(t, err)
		time.Sleep(3 * time.Minute)
		require.Contains(t, get(s.Handler, "/readyz").Body.String(), `"reconcile": "ok"`)
	})
}

// Where nobody has said who may come in, it is this machine at a loopback address, and
// nobody at another one.
func TestAccessByDefault(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]int{"127.0.0.1:0": http.StatusOK, "0.0.0.0:80": http.StatusUnauthorized, "": http.StatusUnauthorized} {
		o, _, _ := options(t)
		o.Listen = listen
		s := serve(t, o)
		require.Equal(t, want, get(s.Handler, "/tasks").Code, listen)
	}
}

// What is missing is named, and what is beside is served.
func TestOptions(t *testing.T) {
	t.Parallel()
	o, _, _ := options(t)
	o.NoDashboard, o.HooksApart = true, true
	o.Beside = map[string]http.Handler{"/mine": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	s := serve(t, o)
	require.Equal(t, http.StatusTeapot, get(s.Handler, "/mine/too").Code)
	require.Equal(t, http.StatusNotFound, get(s.Handler, "/minefield").Code)
	require.Equal(t, http.StatusNotFound, get(s.Handler, "/dashboard/").Code)
	require.Equal(t, http.StatusOK, get(s.Hooks, "/healthz").Code)
	o.Leases = nil
	_, err := service.New(o)
	require.EqualError(t, err, "service: Options.Leases is required")
}

// A registry that is read again is in force, and one that is wrong is not.
func TestReload(t *testing.T) {
	t.Parallel()
	o, _, _ := options(t)
	s := serve(t, o)
	_, err := s.Reload(t.Context())
	require.ErrorContains(t, err, "at the start alone")
	next, fails := registry(t, "APP", "NEW"), errors.New("line 3 is wrong")
	o.Reread = func(context.Context) (*task.Projects, error) { return next, fails }
	s = serve(t, o)
	_, err = s.Reload(t.Context())
	require.ErrorIs(t, err, fails)
	require.Contains(t, get(s.Handler, "/readyz").Body.String(), "is not in force, because it is wrong: line 3 is wrong")
	fails = nil
	done, err := s.Reload(t.Context())
	require.NoError(t, err)
	require.Equal(t, web.Reloaded{Projects: 2, Added: []string{"acme/NEW"}, Removed: []string{}}, done)
	require.NotContains(t, get(s.Handler, "/readyz").Body.String(), "not in force")
}
