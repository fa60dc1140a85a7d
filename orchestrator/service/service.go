// Package service puts the engine, its features, the runners of effects, the web handler and
// the dashboard together, over ports that a program gives it: a store, a board, a git host,
// workspaces, agents, a chat. It is what the reference server is made of, and it imports no
// adapter.
//
//	s, err := service.New(service.Options{Store: store, Projects: projects, Tracker: board, …})
//	…
//	err = s.Serve(ctx)
//
// What New needs is opened before, and closed behind Serve, by the program. Features are values
// of Options.Features; without them a service has those of DefaultFeatures.
//
// Requests are served by Service.Handler, at Options.Listen; a program with a server of its own
// mounts it there instead, and calls Run without a listener. A board that is a part of the
// program announces what people do there with Service.Engine.Announce; others send webhooks
// to the sources of Options.Web.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// Service is the service, ready to run.
type Service struct {
	Engine  *orchestrator.Engine
	Handler http.Handler
	Hooks   http.Handler     // of webhooks, with Options.HooksApart; else nil
	Reloads <-chan os.Signal // each has Run reload, with Options.Reread; nil = none
	Log     *slog.Logger

	opt      Options
	features *features.Made
	words    *admin.Chat // what people say in the chat
	watch    follow.Watch
	lives    *explain.Lives

	identities map[string]*identity // by the names of trackers; empty = the first
	boards     *boards
	stranded   stranded
	reach      reach
	reload     func(context.Context) (web.Reloaded, error)
	reloading  sync.Mutex            // held while the registry is read: one at a time
	wrong      atomic.Pointer[error] // of the registry, when it was read last
	stopping   chan struct{}         // closed when the server takes no more requests: streams end
	endWaits   func()                // closes it
}

// New puts a service together. It calls no port; an error names the option that is wrong.
func New(o Options) (*Service, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Service{
		Log: o.Log, opt: o, identities: map[string]*identity{}, boards: newBoards(o.Tracker, o.Projects, o.Log),
		stranded: stranded{changed: make(chan struct{}, 1)}, stopping: make(chan struct{}),
	}
	s.reach.found, s.reach.wrong, s.reach.told = map[string]finding{}, map[string]int{}, map[string]time.Time{}
	s.endWaits = sync.OnceFunc(func() { close(s.stopping) })
	s.opt.Store = redactedStore{o.Store, o.Redactor}
	s.lives = explain.Remember(s.opt.Store)
	s.watch.Logs = o.Logs
	s.words = &admin.Chat{Stop: o.Features.Stop, Pages: o.Pages}
	for name := range o.Identify {
		s.identities[name] = &identity{since: time.Now()}
	}
	if err := s.engine(); err != nil {
		return nil, err
	}
	return s, s.handlers()
}

// tracker, host and chat are where words go that people read; the chat is nil when there
// is none.
func (s *Service) tracker() redactedTracker { return redactedTracker{s.opt.Tracker, s.opt.Redactor} }

func (s *Service) host() orchestrator.Hosting { return redactHost(s.opt.Host, s.opt.Redactor) }

func (s *Service) chat() messenger.Messenger {
	if s.opt.Messenger == nil {
		return nil
	}
	if l, ok := s.opt.Messenger.(messenger.Listener); ok {
		s.words.Listener = redactedListener{l, s.opt.Redactor}
	}
	return redactedChat{s.opt.Messenger, s.opt.Redactor}
}

func (s *Service) engine() (err error) {
	o := s.opt
	runners := effects.Runners(effects.Deps{
		Store: o.Store, Jobs: o.Store, Projects: o.Projects, Tracker: s.tracker(), Host: s.host(), Messenger: s.chat(),
		Dress: s.words.Dress, Workspaces: o.Workspaces, Agents: o.Agents, Pages: o.Pages, Log: o.Log,
	})
	parts := orchestrator.Parts{
		Store: o.Store, Projects: o.Projects, Host: s.host(), Workspaces: o.Workspaces, Agents: o.Agents, Log: o.Log,
	}
	var sources []string
	if d := o.Dashboard; d.Cards != nil {
		sources = append(sources, d.CardsSource)
	}
	for _, w := range o.Web.Sources {
		if w.Tracker != nil {
			sources = append(sources, w.Name)
		}
	}
	if s.features, err = o.Features.Make(features.Parts{
		Parts: parts, Tracker: boarded{s.tracker(), s.boards}, Sources: sources, Cards: o.Dashboard.Cards,
		Messenger: s.chat(), Dress: s.dress, Work: s.working, Leases: o.Leases, Merger: runners[stage.EffectMerge],
	}); err != nil {
		return err
	}
	o.Engine.Columns = s.boards.known
	if !o.Features.Work {
		o.Engine.Off = append(slices.Clone(o.Engine.Off), checks.WorkDone)
	}
	pipeline := stage.Default()
	if o.Pipeline != nil {
		pipeline = *o.Pipeline
	}
	s.Engine, err = orchestrator.New(pipeline, orchestrator.Deps{
		Store: o.Store, Records: o.Store, Jobs: o.Store, Projects: o.Projects,
		Tracker: s.tracker(), Host: s.host(), Workspaces: o.Workspaces, Agents: o.Agents,
		Gates: o.Gates, Commands: o.Commands, Hooks: o.Hooks, Probe: o.Probe, Logs: o.Logs, Log: o.Log, Meter: o.Meter, Runners: runners,
	}, o.Engine, append(s.features.List, o.Further...)...)
	s.words.Engine = s.Engine
	return err
}

// boarded is the tracker with the columns as the service has read them last.
type boarded struct {
	redactedTracker
	boards *boards
}

func (b boarded) Columns(ctx context.Context, projectID string) (map[stage.Status]string, error) {
	return b.boards.Columns(ctx, projectID)
}

// resume returns what ends the pause of an agent; nil when there is none.
func (s *Service) resume() func(context.Context, string) (bool, error) {
	if s.features.Pauses == nil {
		return nil
	}
	return func(ctx context.Context, agent string) (bool, error) {
		defer s.Engine.Admission.Mark("")
		return s.features.Pauses.Resume(ctx, agent)
	}
}

// unfreeze returns what ends a freeze; nil when there is none.
func (s *Service) unfreeze() func(context.Context, string) (bool, string, error) {
	serial := s.features.Serial
	if serial == nil {
		return nil
	}
	return serial.Unfreeze
}

func (s *Service) letGo(ctx context.Context) error {
	return s.opt.Features.LetGo(ctx, s.opt.Store, s.Log)
}

// handlers makes what is served: webhooks, the API, the dashboard, and what is beside them.
func (s *Service) handlers() (err error) {
	w, o := s.opt.Web, s.opt
	w.Engine, w.Log, w.Checks, w.Done = s.Engine, s.Log, s.readiness(), s.stopping
	w.Stop, w.Unfreeze, w.Resume = o.Features.Stop, s.unfreeze(), s.resume()
	w.Hear = s.words.Hear
	w.History, w.Redactor, w.Signed = s.lives, o.Redactor, s.reach.signed
	if o.Logs != nil {
		w.Logs = o.Logs
	}
	if s.features.Deps != nil {
		w.Deps = s.features.Deps
	}
	if d := &s.opt.Dashboard; d.Cards != nil {
		d.Cards = redactedCards{d.Cards, o.Redactor}
		w.Desk = admin.Desk{Engine: s.Engine, Cards: d.Cards, Source: d.CardsSource}
	}
	s.reload = s.Reload
	if w.Reload != nil {
		s.reload = w.Reload
	} else if o.Reread != nil {
		w.Reload = s.Reload
	}
	if !o.NoDashboard {
		if w.Dashboard, err = s.pages(); err != nil {
			return err
		}
	}
	if o.HooksApart {
		hooks, err := web.Hooks(w)
		if err != nil {
			return err
		}
		s.Hooks = s.served(hooks)
		w.Sources = nil
	}
	h, err := web.Handler(w)
	if err != nil {
		return err
	}
	for path, other := range o.Beside {
		h = beside(h, other, path)
	}
	s.Handler = s.served(h)
	return nil
}

func (s *Service) served(h http.Handler) http.Handler {
	h = limit.Behind(h, s.opt.Proxies)
	if len(s.opt.Proxies) > 0 {
		return redactedAnswers(s.opt.Redactor, h)
	}
	var once sync.Once
	return redactedAnswers(s.opt.Redactor, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Forwarded-For") != "" {
			once.Do(func() {
				s.Log.Warn("a request came through a proxy, and none is trusted: all its senders are bounded as one address",
					"setting", "ORCH_TRUSTED_PROXIES", "from", r.RemoteAddr)
			})
		}
		h.ServeHTTP(w, r)
	}))
}

func (s *Service) pages() (http.Handler, error) {
	d, o := s.opt.Dashboard, s.opt
	d.Engine, d.History, d.Access, d.Stop, d.Unfreeze, d.Resume = s.Engine, s.lives, o.Web.Access, o.Features.Stop, s.unfreeze(), s.resume()
	d.Warnings, d.Done, d.Log = s.warnings, s.stopping, s.Log
	if o.Logs != nil {
		d.Logs = o.Logs
	}
	d.Redactor = o.Redactor
	return dashboard.Handler(d)
}

// beside serves a handler at a path and below it, and everything else as before.
func beside(rest, other http.Handler, path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path || strings.HasPrefix(r.URL.Path, path+"/") {
			other.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// readiness are the checks of the program, and those of the service's own parts.
func (s *Service) readiness() []web.Check {
	list := append(slices.Clone(s.opt.Web.Checks),
		web.Check{Name: "tracker", Warning: true, Ping: s.unidentified},
		web.Check{Name: "access", Warning: true, Ping: s.broken},
		web.Check{Name: "board", Warning: true, Ping: s.boards.incomplete},
		web.Check{Name: "registry", Warning: true, Ping: s.stranded.warning},
		web.Check{Name: "registry file", Warning: true, Ping: s.registryFile},
		web.Check{Name: "pause", Warning: true, Ping: func(ctx context.Context) error { return admin.CheckPaused(ctx, s.Engine) }},
		web.Check{Name: "events", Warning: true, Ping: s.Engine.CheckEvents},
		web.Check{Name: "lanes", Warning: true, Ping: s.Engine.Reachable})
	if s.features.Reconciler != nil {
		list = append(list, web.Check{Name: "reconcile", Warning: true, Ping: s.features.Reconciler.Webhooks})
	}
	return list
}

// warnings are those of readiness, for the dashboard.
func (s *Service) warnings(ctx context.Context) (out []string) {
	for _, c := range s.readiness() {
		if !c.Warning {
			continue
		}
		if err := c.Ping(ctx); err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}

// server serves a handler, with limits for slow clients.
func (s *Service) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 60 * time.Second, IdleTimeout: 2 * time.Minute, ConnContext: withPeer,
	}
}

// Serve is Run on a listener at Options.Listen.
func (s *Service) Serve(ctx context.Context) error {
	l, err := Listen(ctx, s.opt.Listen)
	if err != nil {
		return fmt.Errorf("service: Options.Listen: %w", err)
	}
	return s.Run(ctx, l, nil)
}

// Run works until ctx ends, and serves Handler on l and Hooks on hooks meanwhile; either may
// be nil, when it is served elsewhere or not at all. Then it takes no
// more requests, ends the agents (their jobs are given back) and returns. It waits
// for nobody before it serves, and no answer of a neighbour ends it. Its error is that of a
// listener.
func (s *Service) Run(ctx context.Context, l, hooks net.Listener) error {
	servers := map[net.Listener]*http.Server{}
	for on, h := range map[net.Listener]http.Handler{l: s.Handler, hooks: s.Hooks} {
		if on != nil {
			servers[on] = s.server(h)
		}
	}
	g := run.New(ctx, s.Log)
	g.Go("engine", s.Engine.Run)
	s.identify(g)
	if s.words.Listener != nil {
		g.Go("chat", s.words.Listen)
	}
	g.Go("boards", s.boards.watch)
	g.Go("stranded", s.watchStranded)
	g.Go("access", s.watchAccess)
	g.Go("reload", s.reloadBySignal)
	g.Go("let go", func(ctx context.Context) {
		s.persist(ctx, "let go of what features held", s.letGo, func(error) {})
	})
	served := make(chan error, len(servers))
	for on, srv := range servers {
		g.Go("http", func(context.Context) { served <- srv.Serve(on) })
	}
	if hooks != nil {
		s.Log.Info("serving webhooks alone", "address", hooks.Addr().String())
	}
	if l != nil {
		s.Log.Info("serving", "address", l.Addr().String(), "projects", len(s.opt.Projects.All()))
	}
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	s.Log.Info("stopping")
	s.endWaits()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, srv := range servers {
		if stop := srv.Shutdown(end); stop != nil {
			s.Log.Warn("requests were cut off", "err", stop)
		}
	}
	g.Stop()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}
