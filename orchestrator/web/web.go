// Package web is the service's HTTP face: webhook receivers that only verify,
// de-duplicate and store, and a JSON API that shows what the scheduler sees.
//
//	POST /webhooks/{source}
//	GET  /queue, /tasks, /tasks/{id}, /tasks/{id}/explain, /tasks/{id}/runs/{n}/events, /events
//	POST /tasks/{id}/retry, /tasks/{id}/stop, /serial-gate/unfreeze
//	GET, POST, DELETE /tasks/{id}/deps
//	POST /agents/{agent}/resume
//	POST /effects/hasten, /effects/{id}/again, /admin/reload
//	GET  /healthz, /readyz, /metrics
//	GET  /, /dashboard/…   the pages of package dashboard, when Options has them
//
// A webhook is answered with a 2xx only after it is durable. Errors are RFC
// 9457 problem documents. Handler may be mounted at any prefix with
// http.StripPrefix.
package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Options of a handler. Engine is required.
type Options struct {
	Engine *orchestrator.Engine
	// Sources send webhooks, each to /webhooks/ and its name. The first tracker may use
	// /webhooks/tracker and the first git host /webhooks/githost as well.
	Sources    []Source
	AdminToken string // empty: changing requests are answered 403
	// Guesses bounds guessing of the token; nil = one of the handler's own. Handlers
	// that take the same token share it.
	Guesses *limit.Guesses
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
	// Reload reads the project registry again; an error reports what is wrong with it, and
	// the one before stays. Nil = it is read at the start alone.
	Reload func(ctx context.Context) (Reloaded, error)
	// Deps is the local table of dependencies; nil when it is off.
	Deps Dependencies
	// Logs is what agents print, for the steps of runs; nil = they are not shown.
	Logs work.Logs
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
	token     [sha256.Size]byte
	sources   map[string]Source // by the last part of their paths
	listeners limit.Share       // of streams
	inbox     *inbox
	refused   limit.Tally // webhooks
}

// Handler makes the HTTP handler.
func Handler(o Options) (http.Handler, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	return s.routes(), nil
}

// Hooks makes a handler for webhooks and /healthz alone, for a listener of their own: with
// it the internet does not reach the rest. Give the Options of Handler no receivers then.
func Hooks(o Options) (http.Handler, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	s.receivers(mux)
	return strict(mux), nil
}

func newServer(o Options) (*server, error) {
	if o.Engine == nil {
		return nil, errors.New("web: Options.Engine is required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Guesses == nil {
		o.Guesses = new(limit.Guesses)
	}
	sources, err := index(o.Sources)
	if err != nil {
		return nil, err
	}
	s := &server{
		Options: o, sources: sources, token: sha256.Sum256([]byte(o.AdminToken)), inbox: newInbox(), listeners: limit.Share{All: listenersAll, Each: listenersEach},
	}
	s.declare()
	return s, nil
}

// receivers are the routes that senders of webhooks and probes need.
func (s *server) receivers(mux *http.ServeMux) {
	for path, from := range s.sources {
		mux.HandleFunc("POST /webhooks/"+path, func(w http.ResponseWriter, r *http.Request) { s.receive(w, r, s.sender(from)) })
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	s.receivers(mux)
	mux.Handle("GET /queue", limit.Finish(s.queue))
	mux.Handle("GET /explain", limit.Finish(s.explainAll))
	mux.Handle("GET /tasks", limit.Finish(s.tasks))
	mux.Handle("GET /tasks/{id}", limit.Finish(s.task))
	mux.Handle("GET /tasks/{id}/explain", limit.Finish(s.explain))
	mux.Handle("POST /tasks/{id}/retry", limit.Finish(s.admin(s.retry)))
	mux.Handle("POST /tasks/{id}/stop", limit.Finish(s.admin(s.stop)))
	mux.Handle("GET /tasks/{id}/deps", limit.Finish(s.deps))
	mux.Handle("POST /tasks/{id}/deps", limit.Finish(s.admin(s.deps)))
	mux.Handle("DELETE /tasks/{id}/deps", limit.Finish(s.admin(s.deps)))
	mux.Handle("POST /serial-gate/unfreeze", limit.Finish(s.admin(s.unfreeze)))
	mux.Handle("POST /agents/{agent}/resume", limit.Finish(s.admin(s.resume)))
	mux.Handle("POST /effects/hasten", limit.Finish(s.admin(s.hasten)))
	mux.Handle("POST /effects/{id}/again", limit.Finish(s.admin(s.repeatEffect)))
	mux.Handle("POST /admin/reload", limit.Finish(s.admin(s.reload)))
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /tasks/{id}/runs/{run}/events", s.runEvents)
	mux.HandleFunc("GET /readyz", newReadiness(s.Checks, s.Log).ServeHTTP)
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	if s.Dashboard != nil {
		mux.Handle("/dashboard/", http.StripPrefix("/dashboard", s.Dashboard))
		for _, path := range []string{"GET /{$}", "GET /dashboard"} {
			mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "dashboard/") // relative: the prefix is not known here
				w.WriteHeader(http.StatusSeeOther)
			})
		}
	}
	h := http.NewCrossOriginProtection().Handler(strict(mux))
	if len(s.Hosts) > 0 {
		return onlyHosts(h, s.Hosts)
	}
	return h
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
		for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
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

// admin lets a request through that carries the operator's token.
func (s *server) admin(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.AdminToken == "" {
			problem(w, http.StatusForbidden, "no-admin-token", "Changing requests are off: ORCH_ADMIN_TOKEN is not set.")
			return
		}
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		var right bool
		var wait time.Duration
		if bearer {
			sum := sha256.Sum256([]byte(given))
			right, wait = s.Guesses.Try(limit.Sender(r), s.Engine.Now(), func() bool { return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1 })
		}
		switch {
		case wait > 0:
			w.Header().Set("Retry-After", limit.RetryAfter(wait))
			problem(w, http.StatusTooManyRequests, "guesses", "Too many wrong tokens were sent. Wait before the next one.")
			return
		case !right:
			w.Header().Set("WWW-Authenticate", `Bearer realm="signalbox"`)
			problem(w, http.StatusUnauthorized, "bad-token", "Send the operator's token: Authorization: Bearer <ORCH_ADMIN_TOKEN>.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		next(w, r)
	}
}

// absent answers for a feature that this program is built without.
func (s *server) absent(what, setting string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		problem(w, http.StatusNotFound, "feature-off", "This program runs without "+what+" ("+setting+").")
	}
}
