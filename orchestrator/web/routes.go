package web

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Of which repository a route needs its right.
const (
	ofTask   access.Scope = "the task's"
	ofEffect access.Scope = "the effect's"
	ofBody   access.Scope = "the one that the body names; all without one"
	ofOwed   access.Scope = "that of the task that the body names; all for a lane"
)

// bodyMax bounds the body of a changing request, in bytes.
const bodyMax = 64 << 10

// Routes are the rows of Handler, and the right that each needs. Those below /dashboard/ are
// rows of the dashboard's own table.
func Routes(o Options) ([]access.Route, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	return s.routes(), nil
}

// receivers are the routes that senders of webhooks and probes need.
func (s *server) receivers() (out []access.Route) {
	for _, path := range slices.Sorted(maps.Keys(s.sources)) {
		receive := func(w http.ResponseWriter, r *http.Request) { s.receive(w, r, s.sender(s.sources[path])) }
		out = append(out, free("POST", "/webhooks/"+path, receive, "the signature is checked"))
		if s.sources[path].edge().Habits().Probe {
			there := func(http.ResponseWriter, *http.Request) {}
			out = append(out, free("HEAD", "/webhooks/"+path, there, "the sender looks whether it is there"))
		}
	}
	return append(out, free("GET", "/healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	}, ""))
}

// free is a row for everybody.
func free(method, pattern string, h http.HandlerFunc, note string) access.Route {
	return access.Route{Method: method, Pattern: pattern, Needs: access.Everybody, Of: access.Free, Handler: h, Note: note}
}

func (s *server) routes() []access.Route {
	row := func(method, pattern string, needs access.Role, of access.Scope, v view) access.Route {
		most := int64(bodyMax)
		if of == ofCard || of == ofBoard {
			most = cardMax
		}
		if pattern == "/cards/{card}/files" {
			most = attachMax
		}
		h := http.MaxBytesHandler(s.show(v), most)
		return access.Route{Method: method, Pattern: pattern, Needs: needs, Of: of, Handler: h}
	}
	get := func(pattern string, of access.Scope, v view) access.Route {
		return row("GET", pattern, access.Viewer, of, v)
	}
	out := append(s.receivers(),
		free("GET", "/readyz", s.readyz, "the parts are shown to viewers of all repositories"),
		get("/queue", access.Every, s.queue),
		get("/explain", access.Some, s.explainAll),
		get("/tasks", access.Some, s.tasks),
		get("/tasks/{id}", ofTask, s.task),
		get("/tasks/{id}/explain", ofTask, s.explain),
		get("/tasks/{id}/documents", ofTask, s.mirrored(listDocuments)),
		get("/tasks/{id}/documents/{name}", ofTask, s.mirrored(readDocument)),
		get("/tasks/{id}/diff", ofTask, s.mirrored(readDiff)),
		get("/tasks/{id}/receipt", ofTask, s.receiptOf),
		get("/decisions", access.Some, s.decisions),
		get("/tasks/{id}/decision", ofTask, s.mirrored(readDecision)),
		row("POST", "/tasks/{id}/retry", access.Operator, ofTask, s.order(admin.Retry)),
		row("POST", "/tasks/{id}/stop", access.Operator, ofTask, s.stop),
		row("POST", "/tasks/{id}/undo", access.Operator, ofTask, s.order(admin.Undo)),
		row("POST", "/tasks/{id}/notes", access.Operator, ofTask, s.note),
		row("POST", "/tasks/{id}/approve", access.Approver, ofTask, s.decide(stage.OnApproved)),
		row("POST", "/tasks/{id}/reject", access.Approver, ofTask, s.decide(stage.OnRejected)),
		row("POST", "/tasks/{id}/confirm", access.Releaser, ofTask, s.decide(stage.OnConfirmDeploy)),
		get("/tasks/{id}/deps", ofTask, s.deps),
		row("POST", "/tasks/{id}/deps", access.Operator, ofTask, s.deps),
		row("DELETE", "/tasks/{id}/deps", access.Operator, ofTask, s.deps),
		get("/costs", access.Some, s.costs),
		get("/report", access.Some, s.report),
		get("/pauses", access.Some, s.pauses),
		row("POST", "/pauses", access.Operator, ofBody, s.pauses),
		row("DELETE", "/pauses", access.Operator, ofBody, s.pauses),
		row("POST", "/serial-gate/unfreeze", access.Releaser, ofBody, s.unfreeze),
		row("POST", "/agents/{agent}/resume", access.Operator, access.Every, s.resume),
		row("POST", "/effects/hasten", access.Operator, ofOwed, s.hasten),
		row("POST", "/effects/{id}/again", access.Operator, ofEffect, s.repeatEffect),
		row("POST", "/admin/reload", access.Admin, access.Every, s.reload),
		access.Route{
			Method: "GET", Pattern: "/openapi.json", Needs: access.Viewer, Of: access.Some, Handler: http.HandlerFunc(describe),
		},
		access.Route{
			Method: "GET", Pattern: "/tasks/{id}/runs/{run}/events", Needs: access.Viewer, Of: ofTask,
			Stream: true, Handler: http.HandlerFunc(s.runEvents),
		},
		access.Route{
			Method: "GET", Pattern: "/events", Needs: access.Viewer, Of: access.Some,
			Stream: true, Handler: http.HandlerFunc(s.events),
		},
	)
	out = append(out, s.cardRoutes(row)...)
	if s.Metrics != nil {
		metrics := access.Route{
			Method: "GET", Pattern: "/metrics", Needs: access.Viewer, Of: access.Every,
			Handler: s.Metrics, Note: "for everybody with `ORCH_PUBLIC_METRICS`",
		}
		if s.Access.PublicMetrics {
			metrics.Needs, metrics.Of = access.Everybody, access.Free
		}
		out = append(out, metrics)
	}
	if s.Dashboard != nil {
		lead := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "dashboard/") // relative: the prefix is not known here
			w.WriteHeader(http.StatusSeeOther)
		}
		out = append(out, free("GET", "/{$}", lead, ""), free("GET", "/dashboard", lead, ""),
			free("", "/dashboard/", http.StripPrefix("/dashboard", s.Dashboard).ServeHTTP, "it has a table of its own"))
	}
	return out
}

func (s *server) mux(routes []access.Route) (*http.ServeMux, error) {
	return s.Access.Mux(access.Table{Routes: routes, Refuse: s.fail, Find: map[access.Scope]func(*http.Request) (string, error){
		ofTask: s.repoOfTask, ofEffect: s.repoOfEffect, ofBody: repoOfBody, ofOwed: s.repoOfOwed,
		ofCard: s.repoOfCard, ofBoard: s.repoOfBoard,
	}})
}

// by is the principal that the journal names for a changing request.
func by(r *http.Request) stage.Principal {
	out := access.Of(r.Context()).By(stage.ViaAPI)
	out.Name = called(r)
	return out
}

// called is the name that is shown of somebody who shares a token and has sent one; a bad one is none.
func called(r *http.Request) string {
	name, _ := cards.CleanName(access.TypedName(r))
	name, _ = cards.CleanName(access.Of(r.Context()).Called(name))
	return name
}

// actor adds to the log who has sent a request.
func (s *server) actor(r *http.Request) *slog.Logger {
	p := access.Of(r.Context())
	return s.Log.With("by", p.String(), "remote", p.From, "request", p.Request)
}

func (s *server) repoOfTask(r *http.Request) (string, error) {
	if _, err := numberOf(r, "id"); err != nil {
		return "", err
	}
	t, err := s.Engine.Store.Task(r.Context(), id(r))
	return t.Repo, err
}

func (s *server) repoOfEffect(r *http.Request) (string, error) {
	if _, err := numberOf(r, "id"); err != nil {
		return "", err
	}
	return admin.RepoOfEffect(r.Context(), s.Engine, id(r))
}

func (s *server) repoOfBoard(r *http.Request) (string, error) {
	var in struct{ Board string }
	if err := readBody(r, &in); err != nil {
		return "", err
	}
	p, err := s.boardNamed(in.Board)
	return p.Repo, err
}

func (s *server) repoOfCard(r *http.Request) (string, error) {
	c, err := s.cardNamed(r)
	p, _ := s.Engine.Projects.ByTracker(c.Project)
	return p.Repo, err
}

// readBody reads the body, which stays for the handler: one that is no JSON is the handler's to
// refuse.
func readBody(r *http.Request, into any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, cardMax)) // the row has a bound of its own
	if err != nil {
		return &access.Refusal{Status: http.StatusBadRequest, Kind: "bad-payload", Text: "The body cannot be read."}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_ = json.Unmarshal(body, into) // see above
	return nil
}

func repoOfBody(r *http.Request) (string, error) {
	var in struct{ Repo string }
	err := readBody(r, &in)
	return in.Repo, err
}

func (s *server) repoOfOwed(r *http.Request) (string, error) {
	var in struct{ Task int64 }
	if err := readBody(r, &in); err != nil || in.Task < 1 {
		return "", err
	}
	t, err := s.Engine.Store.Task(r.Context(), in.Task)
	return t.Repo, err
}
