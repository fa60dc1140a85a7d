// Package dashboard shows what the orchestrator sees, as web pages made on the
// server: the board with why each task waits, the queue in the order the scheduler
// will take, tasks, agent runs, repositories, cost, and the journal with the state
// at any moment of it.
//
//	GET  /, /review, /queue, /tasks/{id}, /tasks/{id}/review, /tasks/{id}/documents/{name}, /tasks/{id}/runs/{run}/{attempt}
//	GET  /repos, /cost, /history, /history/{csv,json}, /journal, /journal/{id}
//	POST /session, /tasks/{id}/decide, /tasks/{id}/retry, /tasks/{id}/stop, /tasks/{id}/undo
//	POST /repos/unfreeze, /agents/resume, /effects/hasten, /effects/{id}/again
//	GET  /board/new, /board/cards/{id}, /board/cards/{id}/edit   with Options.Cards
//	GET  /board/cards/{id}/files/{file}
//	POST /board/new, /board/move, /board/name, /board/cards/{id}/edit, …/{move,say,arrange,comments/{comment},files,files/{file}}
//	GET  /changes   server-sent events: something has changed, read again
//	GET  /tasks/{id}/runs/{run}/{attempt}/{log,steps}   what a run prints and does, from an offset on
//
// Handler works at any prefix (http.StripPrefix): every address in a page is
// relative. Pages work without JavaScript; a small module keeps them up to date.
// Who may see and do what is a table (Routes), judged by Options.Access; pages show only what
// their reader may read. Changing requests must come from the same origin, and leave a row in
// the journal with who has sent them.
//
// The pages have no words of their own for why something waits: they show what
// explain.Explanation, queue.Reason and the machine's notes say.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Link is an entry of the navigation that leads out of the dashboard. The URL is
// absolute (http or https), or a path.
type Link struct{ Name, URL string }

// Check returns what is wrong with a link, if anything.
func (l Link) Check() error {
	absolute := strings.HasPrefix(l.URL, "http://") || strings.HasPrefix(l.URL, "https://")
	if strings.TrimSpace(l.Name) == "" || !absolute && !strings.HasPrefix(l.URL, "/") {
		return fmt.Errorf("%q leads to %q; want a name, and an address that begins with http://, https:// or /", l.Name, l.URL)
	}
	return nil
}

// Options of a dashboard. Engine, History and Access are required.
type Options struct {
	Engine  *orchestrator.Engine
	History task.History
	// Access identifies people and says what they may do; required. Handlers of the same
	// people share it.
	Access *access.Guard
	Stop   bool // STOP cancellation is on
	// Unfreeze ends the freeze of a repository and returns whether there was one
	// and why; nil when the serial gate is off.
	Unfreeze func(ctx context.Context, repo string) (was bool, reason string, err error)
	// Resume ends the pauses of an agent and returns whether there was one; nil when agents
	// are not paused.
	Resume func(ctx context.Context, agent string) (was bool, err error)
	Logs   work.Logs // what agents print; nil: it is not shown
	// Warnings lists what is wrong with the service itself, for the list of what
	// waits for a person, from memory; nil: nothing is.
	Warnings func(context.Context) []string
	// Cards is the board that the service keeps itself; nil: it keeps none. CardsSource names
	// it in delivery records; default "board".
	Cards       cards.Board
	CardsSource string `envDefault:"board"`
	// Markdown renders what strangers and agents have written as HTML that is safe in a page
	// (adapters/markdown); nil: it is shown as it was written.
	Markdown func(text string) template.HTML
	Redactor *secret.Redactor // of documents before they are rendered; nil = nothing is hidden
	Links    []Link           // further entries of the navigation
	Done     <-chan struct{}  // ends streams when it is closed; nil: they end with their clients
	Log      *slog.Logger     // nil discards
}

func (o Options) warnings(ctx context.Context) []string {
	if o.Warnings == nil {
		return nil
	}
	return o.Warnings(ctx)
}

// server serves the pages.
type server struct {
	Options
	pages     map[string]*template.Template
	assets    map[string]asset
	pulse     pulse
	runs      follow.Watch
	lives     *explain.Lives
	listeners *limit.Streams // of /changes
	tally     limit.Tally    // of tokens that were refused
}

// Handler makes the handler.
func Handler(o Options) (http.Handler, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	mux, err := s.mux()
	if err != nil {
		return nil, err
	}
	return http.NewCrossOriginProtection().Handler(headers(mux)), nil
}

func newServer(o Options) (*server, error) {
	if o.Engine == nil || o.History == nil || o.Access == nil {
		return nil, errors.New("dashboard: Options.Engine, History and Access are required")
	}
	for _, l := range o.Links {
		if err := l.Check(); err != nil {
			return nil, fmt.Errorf("dashboard: Options.Links: %w", err)
		}
	}
	defaults.Fill(&o)
	s := &server{
		Options: o, pages: map[string]*template.Template{}, assets: map[string]asset{},
		runs: follow.Watch{Logs: o.Logs}, lives: explain.Remember(o.History), listeners: limit.NewStreams(listenersAll, listenersEach),
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	return s, nil
}

// policy bounds what a page may do: nothing that does not come from here.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "" { // the prefix without a slash: relative addresses need one
			path, _, _ := strings.Cut(r.RequestURI, "?")
			seeOther(w, path[strings.LastIndex(path, "/")+1:]+"/")
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// seeOther redirects to a relative address. http.Redirect would resolve it
// against a path that lacks the prefix.
func seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// root is the relative address of the dashboard's beginning, seen from a page.
func root(r *http.Request) string {
	if up := strings.Count(r.URL.Path, "/") - 1; up > 0 {
		return strings.Repeat("../", up)
	}
	return "./"
}

// view is a page to be made: which template, and what it shows.
type view struct {
	Name   string // of the file in pages, without .html
	Title  string
	Nav    string // the entry of the navigation that is current
	Still  bool   // the page does not change by itself
	Script string // a module of its own, beside dash.js
	Watch  string // the run at work that it shows, as task/run/attempt; empty = none
	Seen   string // how much of that run it shows
	Status int    // 0 = 200
	Data   any
}

// frame holds what every page is given.
type frame struct {
	view
	Root     string
	At       time.Time // when it was read
	Rev      string
	Links    []Link
	Who      string // the principal; empty: nobody has signed in
	SignedIn bool   // and can sign out
	Reads    bool   // may read something
	Operator bool   // may change something
	Onward   string // where the page leads by itself; empty: nowhere
	Said     string // the result of a changing request
	Stop     bool   // an operator may request STOP
	Unfreeze bool
	Needs    int        // tasks that wait for a person's word
	Next     *task.Task // of these: the one that waits longest, beside that of the page
}

// failure is an error that has a page.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func notFound(text string) error { return &failure{http.StatusNotFound, text} }

func badRequest(text string) error { return &failure{http.StatusBadRequest, text} }

// show serves a page.
func (s *server) show(page func(*http.Request) (view, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rev := s.pulse.read(r.Context(), s.Options)
		v, err := page(r)
		if err != nil {
			v = s.failed(err)
		}
		f := s.frame(r, v)
		f.Rev = rev + v.Seen
		s.render(w, r, f)
	})
}

// fail shows the page of an error.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.render(w, r, s.frame(r, s.failed(err)))
}

// failed is the page of an error.
func (s *server) failed(err error) view {
	f := s.failureOf(err)
	return view{Name: "failed", Title: http.StatusText(f.status), Still: true, Status: f.status, Data: f.text}
}

// failureOf returns the words for an error.
func (s *server) failureOf(err error) *failure {
	if f, is := errors.AsType[*failure](err); is {
		return f
	}
	if no, is := errors.AsType[*access.Refusal](err); is {
		return &failure{no.Status, no.Text}
	}
	if no, is := errors.AsType[*admin.RefusedError](err); is {
		return &failure{http.StatusConflict, "Not taken: " + no.Why + "."}
	}
	if no, is := errors.AsType[*admin.DeniedError](err); is {
		return &failure{http.StatusForbidden, "Not taken: " + no.Why + "."}
	}
	for _, known := range []struct {
		err error
		failure
	}{
		{task.ErrNotFound, failure{http.StatusNotFound, "There is no such task."}},
		{tracker.ErrNotFound, failure{http.StatusNotFound, "There is no such card."}},
		{admin.ErrNoLane, failure{http.StatusNotFound, "There is no such lane."}},
		{admin.ErrNoEffect, failure{http.StatusNotFound, "There is no such effect."}},
		{admin.ErrOutdated, failure{http.StatusConflict, "The board is to show another status by now: there is nothing to make again."}},
		{queue.ErrNotFailed, failure{http.StatusConflict, "The effect was not given up, or is made again already."}},
	} {
		if errors.Is(err, known.err) {
			return &known.failure
		}
	}
	s.Log.Error("a request failed", "err", err)
	return &failure{http.StatusServiceUnavailable, "The store does not answer. Try again in a moment."}
}

func (s *server) frame(r *http.Request, v view) frame {
	p := access.Of(r.Context())
	f := frame{
		view: v, Root: root(r), At: s.Engine.Now(), Who: p.Name,
		Reads: p.MaySomewhere(access.Viewer), Operator: p.MaySomewhere(access.Operator),
		SignedIn: p.Via == access.ViaToken || p.Via == access.ViaProvider, Said: resultText(r.URL.Query().Get("said")),
		Stop: s.Stop, Unfreeze: s.Unfreeze != nil,
	}
	if f.Reads {
		f.Links = s.Links
		line, left := s.pulse.waiting(r.Context(), s.Options)
		line = access.Readable(r.Context(), line, repoOf)
		f.Needs = len(line) + len(access.Readable(r.Context(), left, func(c orchestrator.Refusal) string { return c.Repo }))
		here := r.PathValue("id")
		at := slices.IndexFunc(line, func(t task.Task) bool { return here != fmt.Sprint(t.ID) && here != t.TrackerIssueID })
		if at >= 0 {
			f.Next = &line[at]
		}
	}
	return f
}

func (s *server) render(w http.ResponseWriter, r *http.Request, f frame) {
	var body bytes.Buffer
	if err := s.pages[f.Name].ExecuteTemplate(&body, "layout", f); err != nil {
		s.Log.Error("a page could not be made", "page", f.Name, "err", err)
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	packed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	if packed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	if f.Status != 0 {
		w.WriteHeader(f.Status)
	}
	if !packed {
		_, _ = w.Write(body.Bytes()) // a reader that has gone away needs no page
		return
	}
	z := gzip.NewWriter(w)
	_, _ = z.Write(body.Bytes()) // as above
	_ = z.Close()
}

// number reads a number of the path.
func number(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, badRequest("The address is wrong: " + name + " must be a whole number above 0.")
	}
	return n, nil
}
