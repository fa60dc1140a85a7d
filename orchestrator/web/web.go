// Package web is the service's HTTP face: webhook receivers that only verify,
// de-duplicate and store, and a JSON API that shows what the scheduler sees.
//
//	POST /webhooks/{source}
//	GET  /queue, /tasks, /tasks/{id}, /tasks/{id}/explain, /tasks/{id}/documents[/{name}], /tasks/{id}/diff
//	GET  /tasks/{id}/receipt, /tasks/{id}/runs/{n}/events, /events, /costs
//	POST /tasks/{id}/approve, /tasks/{id}/reject, /tasks/{id}/confirm, /tasks/{id}/retry, /tasks/{id}/stop, /tasks/{id}/undo
//	POST /tasks/{id}/notes
//	GET, POST, DELETE /tasks/{id}/deps, /pauses
//	POST /serial-gate/unfreeze, /agents/{agent}/resume, /effects/hasten, /effects/{id}/again, /admin/reload
//	GET  /healthz, /readyz, /metrics, /openapi.json (which describes all of it)
//	GET  /, /dashboard/…   the pages of package dashboard, when Options has them
//
// Who may do what is a table (Routes): every route names the right that it needs, and of which
// repository. Webhooks, /healthz and the word of /readyz are open.
//
// A webhook is answered with a 2xx only after it is durable. Errors are RFC
// 9457 problem documents. Handler may be mounted at any prefix with
// http.StripPrefix.
package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Options of a handler. Engine and Access are required.
type Options struct {
	Engine *orchestrator.Engine
	// Sources send webhooks, each to /webhooks/ and its name. The first tracker may use
	// /webhooks/tracker and the first git host /webhooks/githost as well.
	Sources []Source
	// Access identifies who sends requests, and says what they may do; required. Handlers
	// of the same people share it.
	Access  *access.Guard
	Checks  []Check
	Metrics http.Handler
	Stop    bool // STOP cancellation is on
	// Hosts, when not empty, are the names that requests must come under, beside
	// localhost and IP addresses (see OnlyHosts); webhooks, /healthz, /readyz and
	// /metrics may come under any. Empty: all may, as where a proxy looks at names.
	Hosts []string
	// Unfreeze ends the freeze of a repository and returns whether there was one
	// and why; nil when the serial gate is off.
	Unfreeze func(ctx context.Context, repo string) (was bool, reason string, err error)
	// Resume ends the pauses of an agent and returns whether there was one; nil when agents
	// are not paused.
	Resume func(ctx context.Context, agent string) (was bool, err error)
	// Reload reads settings and the project registry again; an error reports what is wrong with it, and
	// the one before stays. Nil = it is read at the start alone.
	Reload func(ctx context.Context) (Reloaded, error)
	// Deps is the local table of dependencies; nil when it is off.
	Deps Dependencies
	// History sums what agents have cost, and is what forecasts are taken from; nil = these are not shown. Handlers share
	// what explain.Remember makes of one.
	History task.History
	// Logs reads what agents print, for the steps of runs; nil = they are not shown.
	Logs     work.Logs
	Redactor *secret.Redactor // of documents and diffs; nil = nothing is hidden
	// Desk changes the board that the service keeps itself; without Cards it keeps none.
	Desk admin.Desk
	// Hear takes an act in a chat that has come by a webhook, once it returns nil.
	Hear func(ctx context.Context, a messenger.Act) error
	// Signed is called for each webhook that has a signature, with whether it is right; nil = nobody listens.
	Signed func(source string, right bool)
	// Receipt issues the receipt of a task; nil = there are none.
	Receipt func(context.Context, task.Task) (receipt.Issued, error)
	// Dashboard serves the pages below /dashboard/; nil = none.
	Dashboard http.Handler
	// Done ends streams when it is closed, so that a server can stop at once; nil
	// = they end with their clients.
	Done <-chan struct{}
	Log  *slog.Logger
	// Hold is how long a delivery is held while the store cannot take it; 0 = as long as
	// its sender waits.
	Hold time.Duration
}

type server struct {
	Options
	sources   map[string]Source // by the last part of their paths
	listeners *limit.Streams    // of streams
	ready     readiness
	inbox     *inbox
	refused   limit.Tally // webhooks
	lives     *explain.Lives
}

// Handler makes the HTTP handler.
func Handler(o Options) (http.Handler, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	mux, err := s.mux(s.routes())
	if err != nil {
		return nil, err
	}
	h := http.NewCrossOriginProtection().Handler(strict(mux))
	if len(s.Hosts) > 0 {
		return onlyHosts(h, s.Hosts), nil
	}
	return h, nil
}

// Hooks makes a handler for webhooks and /healthz alone, for a listener of their own: with
// it the internet does not reach the rest. Give the Options of Handler no receivers then.
func Hooks(o Options) (http.Handler, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	mux, err := s.mux(s.receivers())
	if err != nil {
		return nil, err
	}
	return strict(mux), nil
}

func newServer(o Options) (*server, error) {
	if o.Engine == nil || o.Access == nil {
		return nil, errors.New("web: Options.Engine and Access are required")
	}
	defaults.Fill(&o)
	if o.Signed == nil {
		o.Signed = func(string, bool) {}
	}
	sources, err := index(o.Sources)
	if err != nil {
		return nil, err
	}
	s := &server{
		Options: o, sources: sources, lives: explain.Remember(o.History),
		inbox: &inbox{
			bodies: limit.Share{All: bodiesAll, Each: bodiesEach}, blocks: limit.Share{All: blocksAll, Each: blocksEach},
		},
		listeners: limit.NewStreams(listenersAll, listenersEach), ready: newReadiness(o.Checks, o.Log),
	}
	s.declare()
	return s, nil
}

// strict answers unknown paths and wrong methods with problem documents.
func strict(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			probe := r.Clone(r.Context())
			probe.Method = m
			if _, pattern := mux.Handler(probe); pattern != "" {
				allowed = append(allowed, m)
			}
		}
		if len(allowed) == 0 {
			problem(w, http.StatusNotFound, "not-found", "There is nothing at this path.")
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		problem(w, http.StatusMethodNotAllowed, "method-not-allowed", "This path takes "+strings.Join(allowed, " and ")+".")
	})
}
