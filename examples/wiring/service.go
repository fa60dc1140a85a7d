package wiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/commitprobe"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/adapters/prometheus"
	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/queue/lease"
)

func logLevels() map[string]slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
}

// Logger makes the logger that the settings ask for. What is secret does not get there.
func (s Settings) Logger(w io.Writer) *slog.Logger {
	w = redactedLog{w, s.hidden}
	opt := new(slog.HandlerOptions)
	if s.level != nil { // it is not in settings that were not loaded
		opt.Level = s.level
	}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// Service is the reference service, ready to run.
type Service struct {
	Settings     Settings
	Projects     *task.Projects
	Reloads      <-chan os.Signal // each has Run read settings and registry again; nil = none
	DB           Database
	Tracker      Tracker
	Plane        *plane.Client        // nil: another tracker is the first
	Board        *board.Board         // our own; nil: another tracker is the first
	Boards       map[string]BoardHost // further trackers, by the registry's names
	Hosts        map[string]GitHost   // by their names; GitHub is not there while no token is set
	Git          *gitcli.Git
	Agents       *agentcli.Runner
	Telegram     *telegram.Chat // nil: notices are only logged
	Leases       lease.Locker
	Serial       *serialgate.Gate      // nil: switched off
	WIP          *wip.Limit            // nil: switched off
	Pauses       *agentpause.Pauses    // nil: switched off
	Deps         *deps.Deps            // nil: switched off, or without the local table
	Budget       *budget.Budget        // nil: there is no cap
	Rec          *reconcile.Reconciler // nil: switched off
	Tracks       *Layer                // nil: switched off
	trackStore   TrackStore            // nil: switched off
	Engine       *orchestrator.Engine
	Access       *access.Guard
	Handler      http.Handler
	Hooks        http.Handler // of webhooks, when they have a listener of their own; else nil
	Log          *slog.Logger
	neighbours   projectfile.Neighbours // as of the start
	identities   map[string]*identity   // by the names of trackers; empty = the first
	access       map[string]hostAccess  // of Hosts
	boards       *boards
	program      []string // as for Open
	stranded     stranded
	reloading    sync.Mutex // held while files are read: one at a time
	settingsFile reloaded
	registryFile reloaded
	inForce      Settings // what a reload compares with
	titleMax     atomic.Pointer[string]
	walls        confinement   // of agents and checks
	stopping     chan struct{} // closed when the server takes no more requests: streams end
	endWaits     func()        // closes it
}

// Open puts the service together. program is how this program is run again: with
// agent-shim it ends in agentcli.RunShim, with check-shim in gitcli.RunCheckShim, with
// rehearse.Command in rehearse.Main.
// Close it when it is not needed any more.
func Open(ctx context.Context, s Settings, program []string, log *slog.Logger) (*Service, error) {
	v := &Service{Settings: s, Log: log, stranded: stranded{changed: make(chan struct{}, 1)}, stopping: make(chan struct{}), inForce: s, settingsFile: reloaded{what: "the settings file"}, registryFile: reloaded{what: "the project registry"}}
	v.titleMax.Store(&s.QG0TitleMax)
	v.endWaits = sync.OnceFunc(func() { close(v.stopping) })
	if err := v.adapters(ctx, program); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	if err := v.engine(); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	if err := v.tracks(ctx); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	v.Handler = redactedAnswers(s.hidden, limit.Behind(v.Handler, s.Proxies))
	if v.Hooks != nil {
		v.Hooks = redactedAnswers(s.hidden, limit.Behind(v.Hooks, s.Proxies))
	}
	return v, nil
}

// adapters opens what the engine works with.
func (v *Service) adapters(ctx context.Context, program []string) (err error) {
	s := v.Settings
	r, secrets, err := s.readRegistry()
	if err != nil {
		return err
	}
	v.Projects, v.neighbours = r.Projects, r.Neighbours
	secrets.hideBy(s.hidden)
	if v.access, err = s.hostAccesses(r.Neighbours, secrets, os.Getenv); err != nil {
		return err
	}
	for _, a := range v.access {
		s.hidden.Hide(a.token)
	}
	if err := v.openHosts(v.access, secrets); err != nil {
		return err
	}
	if s.TelegramToken.IsSet() {
		if v.Telegram, err = telegram.New(telegram.Options{Token: s.TelegramToken.Reveal(), ChatID: s.TelegramChat, BaseURL: s.TelegramURL, HTTPClient: s.client(), Log: v.Log}); err != nil {
			return err
		}
	}
	if err := v.confine(ctx, program); err != nil {
		return err
	}
	s.DataDir = v.Settings.DataDir
	v.Git, err = gitcli.New(ctx, gitcli.Options{
		Root: filepath.Join(s.DataDir, "git"), Tokens: v.gitTokens(), Timeout: s.GitTimeout, Shared: s.Shared(),
		Shim: append(slices.Clone(program), "check-shim"), Jail: v.walls.jail, Log: v.Log,
	})
	if err != nil {
		return err
	}
	v.program = program
	if v.Agents, err = v.runner(s.DataDir); err != nil {
		return err
	}
	if err := v.openDatabase(ctx); err != nil {
		return err
	}
	if err := v.openTracker(ctx, r.Neighbours, secrets); err != nil {
		return err
	}
	v.identities = map[string]*identity{}
	for name := range v.identifiers() {
		v.identities[name] = &identity{since: time.Now()}
	}
	v.boards = &boards{Board: v.Tracker, projects: v.Projects, log: v.Log, changed: make(chan struct{}, 1), lacking: map[string]string{}, seen: map[string]map[stage.Status]string{}}
	v.DB = redactedStore{v.DB, s.hidden}
	return nil
}

// runner runs agents, with its files below a directory.
func (v *Service) runner(dir string) (*agentcli.Runner, error) {
	s := v.Settings
	return agentcli.New(agentcli.Options{
		Default: s.Agent, LogDir: filepath.Join(dir, "logs"), StateDir: filepath.Join(dir, "running"), Shim: append(slices.Clone(v.program), "agent-shim"),
		TermGrace: s.AgentTermGrace, EnvAllow: append(agentcli.DefaultEnv(), s.AgentEnv...), Prices: s.AgentPrices, Log: v.Log,
		HomeDir: filepath.Join(dir, "homes"), HomeFiles: s.AgentHome, Jail: v.walls.jail, Hidden: s.hidden, Presets: ownAgents(),
	})
}

// tracker, host and chat are where words go that people read; the chat is nil when there
// is none.
func (v *Service) tracker() orchestrator.Tracking {
	return redactedTracker{v.Tracker, v.Settings.hidden}
}

func (v *Service) host() redactedHost {
	return redactedHost{hosts{gitonly.New(v.Git, plainSpace(v.Projects)), v.Projects, v.Hosts}, v.Settings.hidden}
}

func (v *Service) chat() messenger.Messenger {
	if v.Telegram == nil {
		return nil
	}
	return redactedChat{v.Telegram, v.Settings.hidden}
}

// client is what neighbours are called with.
func (s Settings) client() *http.Client { return &http.Client{Timeout: s.CallTimeout} }

// runners are those of the machine's own effects.
func (v *Service) runners() map[stage.EffectKind]orchestrator.Runner {
	list := effects.Runners(effects.Deps{
		Store: v.DB, Jobs: v.DB, Projects: v.Projects, Tracker: v.tracker(), Host: v.host(), Messenger: v.chat(), Workspaces: v.Git, Agents: v.Agents, Log: v.Log,
	})
	// What a feature owes that is switched off now is cleared away all the same.
	if !v.Settings.StopStatus {
		list[orchestrator.EffectCancel] = stop.CleanUp(v.stopOptions())
	}
	return list
}

// engine puts the engine and its HTTP face on top of the adapters.
func (v *Service) engine() (err error) {
	s := v.Settings
	walls := orchestrator.Metric{Name: "jail", Kind: orchestrator.KindGauge, Help: "1 for the kind of jail that agents run in.", Labels: []string{"kind"}}
	meter, err := prometheus.New(Version(), walls)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	features, err := v.features()
	if err != nil {
		return err
	}
	v.Engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: v.DB, Records: v.DB, Jobs: v.DB, Projects: v.Projects, Tracker: v.tracker(), Host: v.host(), Workspaces: v.Git, Agents: v.Agents,
		Gates: checks.All(v.getenv), Commands: v.Git, Hooks: v.Git, Probe: commitprobe.New(nil), Logs: v.Agents, Log: v.Log, Meter: meter,
		Runners: v.runners(),
	}, orchestrator.Options{
		MaxConcurrency: s.MaxConcurrency, AgentTimeout: s.AgentTimeout, VerifyTimeout: s.VerifyTimeout, ProbeWait: s.ProbeWait, GateTimeout: s.GateTimeout, AgentRetries: s.AgentRetryDelays, JobTTL: s.JobTTL, Poll: s.Poll,
		StatusDefer: s.StatusDefer, CIWait: s.CIWait, Columns: v.boards.known, Stage: stage.Options{MaxRetries: s.MaxDeveloperRetries, CIPoll: s.CIPoll},
		Places: v.places(),
		Worker: fmt.Sprintf("%s/%d", host, os.Getpid()),
	}, features...)
	if err != nil {
		return err
	}
	meter.Set(walls.Name, 1, "kind", v.walls.kind())
	if v.Access, err = s.guard(v.DB, v.Log); err != nil {
		return err
	}
	show := dashboard.Options{
		Engine: v.Engine, History: v.DB, Access: v.Access, Stop: s.StopStatus, Unfreeze: v.unfreeze(), Resume: v.resume(), Logs: v.Agents,
		Links: s.Links, Warnings: v.warnings, Done: v.stopping, Log: v.Log,
	}
	v.ownCards(&show)
	pages, err := dashboard.Handler(show)
	if err != nil {
		return err
	}
	opt := web.Options{
		Engine: v.Engine, Sources: v.sources(), Access: v.Access,
		Metrics: meter.Handler(), Log: v.Log, Checks: v.readiness(), Stop: s.StopStatus, Unfreeze: v.unfreeze(), Resume: v.resume(), Reload: v.Reload,
		Logs: v.Agents, Dashboard: pages, Hosts: s.hosts(), Done: v.stopping,
	}
	if v.Deps != nil {
		opt.Deps = v.Deps
	}
	if s.HooksListen != "" {
		if v.Hooks, err = web.Hooks(opt); err != nil {
			return err
		}
		opt.Sources = nil
	}
	v.Handler, err = web.Handler(opt)
	return err
}

func (v *Service) readiness() []web.Check {
	list := []web.Check{
		{Name: "database", Ping: v.DB.Ping},
		{Name: "git", Ping: func(ctx context.Context) error { _, err := v.Git.Version(ctx); return err }},
		{Name: "tracker", Warning: true, Ping: v.unidentified},
		{Name: "board", Warning: true, Ping: v.boards.incomplete},
		{Name: "registry", Warning: true, Ping: v.stranded.warning},
		{Name: "registry file", Warning: true, Ping: v.registryFile.warning},
		{Name: "settings", Warning: true, Ping: v.settingsFile.warning},
		{Name: "lanes", Warning: true, Ping: v.Engine.Reachable},
		{Name: "jail", Warning: true, Ping: func(context.Context) error { return v.walls.loud }},
	}
	if v.Telegram != nil {
		list = append(list, web.Check{Name: "chat", Warning: true, Ping: v.Telegram.Moved})
	}
	if v.Rec != nil {
		list = append(list, web.Check{Name: "reconcile", Warning: true, Ping: v.Rec.Webhooks})
	}
	if v.Settings.InsecureWebhooks {
		list = append(list, web.Check{Name: "webhooks", Warning: true, Ping: func(context.Context) error {
			return errors.New("unsigned webhooks are taken (ORCH_INSECURE_WEBHOOKS)")
		}})
	}
	return list
}

// warnings are those of readiness, for the dashboard.
func (v *Service) warnings(ctx context.Context) (out []string) {
	for _, c := range v.readiness() {
		if !c.Warning {
			continue
		}
		if err := c.Ping(ctx); err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}

// Close closes what Open has opened.
func (v *Service) Close() error {
	errs := []error{v.closeTracker()}
	if v.trackStore != nil {
		errs = append(errs, v.trackStore.Close())
	}
	if v.DB != nil {
		errs = append(errs, v.DB.Close())
	}
	return errors.Join(errs...)
}

// server serves a handler, with limits for slow clients.
func (v *Service) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 60 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(v.Log.Handler(), slog.LevelWarn),
	}
}

// Run serves HTTP on the listener, and webhooks on hooks when they have one of their
// own (else it is nil), and works until ctx ends; then it takes no
// more requests, ends the agents (their jobs are given back) and returns. It waits
// for nobody before it serves, and no answer of a neighbour ends it.
func (v *Service) Run(ctx context.Context, l, hooks net.Listener) error {
	if v.Settings.InsecureWebhooks {
		v.Log.Warn("unsigned webhooks are taken", "setting", "ORCH_INSECURE_WEBHOOKS")
	}
	servers := map[net.Listener]*http.Server{l: v.server(v.Handler)}
	if hooks != nil {
		servers[hooks] = v.server(v.Hooks)
	}
	servers[l].RegisterOnShutdown(v.endWaits)
	g := run.New(ctx, v.Log)
	g.Go("engine", v.Engine.Run)
	v.identify(g)
	g.Go("boards", v.boards.watch)
	g.Go("stranded", v.watchStranded)
	g.Go("reload", v.reloadBySignal)
	g.Go("let go", func(ctx context.Context) {
		v.persist(ctx, "let go of what features held", v.letGo, func(error) {})
	})
	if v.Tracks != nil {
		g.Go("tracks", v.Tracks.Run)
	}
	served := make(chan error, len(servers))
	for on, srv := range servers {
		g.Go("http", func(context.Context) { served <- srv.Serve(on) })
	}
	if hooks != nil {
		v.Log.Info("serving webhooks alone", "address", hooks.Addr().String())
	}
	v.Log.Info("serving", "address", l.Addr().String(), "version", Version(), "projects", len(v.Projects.All()), "settings_file", cmp.Or(v.Settings.from.file, noConfig))
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	v.Log.Info("stopping")
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, srv := range servers {
		if stop := srv.Shutdown(end); stop != nil {
			v.Log.Warn("requests were cut off", "err", stop)
		}
	}
	g.Stop()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}
