package app

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

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/commitprobe"
	"github.com/signalbox-dev/signalbox/adapters/credential"
	"github.com/signalbox-dev/signalbox/adapters/dssekey"
	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/adapters/markdown"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/adapters/prometheus"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/subscriber"
	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/queue/lease"
)

// redactedLog is where the log goes. A line is written at once.
type redactedLog struct {
	to io.Writer
	by *secret.Redactor
}

func (l redactedLog) Write(p []byte) (int, error) {
	if _, err := l.to.Write(l.by.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
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
	*service.Service
	Settings    Settings
	Projects    *task.Projects
	DB          Database
	Tracker     Tracker
	Board       *board.Board         // our own; nil: no project has it
	Boards      map[string]BoardHost // those of other programs, by the registry's names; that of the settings has none
	Hosts       map[string]GitHost   // by their names; one of the settings is not there while nothing signs in
	Git         *gitcli.Git
	Agents      *agentcli.Runner
	Gateway     *modelgateway.Gateway // nil: agents call their vendors themselves
	Chat        Chat                  // nil: notices are only logged
	Leases      lease.Locker
	Tracks      *Layer     // nil: switched off
	trackStore  TrackStore // nil: switched off
	Access      *access.Guard
	Log         *slog.Logger
	opened      projectfile.Registry  // as of the start
	near        []neighbour           // Hosts and Boards
	program     []string              // as for Open
	walls       confinement           // of agents and checks
	egress      *egress.Link          // nil: they may reach all hosts
	credentials *credential.Link      // of deployers
	reloading   sync.Mutex            // held while files are read: one at a time
	wrong       atomic.Pointer[error] // of the settings file, when it was read last
	inForce     Settings              // what a reload compares with
	titleMax    atomic.Pointer[string]
}

// Open puts the service together. program is how this program is run again: with agent-shim it ends in agentcli.RunShim, with check-shim
// in gitcli.RunCheckShim, with rehearse.Command in rehearse.Main. Close it when it is not needed any more.
func Open(ctx context.Context, s Settings, program []string, log *slog.Logger) (*Service, error) {
	v := &Service{Settings: s, Log: log, inForce: s}
	v.titleMax.Store(&s.QG0TitleMax)
	err := v.adapters(ctx, program)
	if err == nil {
		err = v.assemble(ctx)
	}
	if err == nil {
		err = v.checkStages(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// checkStages refuses a pipeline that lacks the lane of a live task, or the stage at which it stands.
func (v *Service) checkStages(ctx context.Context) error {
	p := v.Engine.Machine().Pipeline() // with the stages of features
	for t, err := range task.Each(ctx, v.DB, task.Filter{Live: true}) {
		if err != nil {
			return err
		}
		what := ""
		if p.CheckLane(cmp.Or(t.State.Lane, stage.WholeLane)) != nil {
			what = "has the lane " + t.State.Lane
		}
		if p.Info(t.State.Stage).Stage == "" {
			what = "stands at the stage " + string(t.State.Stage)
		}
		if what != "" {
			return fmt.Errorf("%s: task %d (%s) %s, which is not there: put it back until the task has ended",
				projectfile.PipelineName, t.ID, t.WorkItemID, what)
		}
	}
	return nil
}

// adapters opens what the engine works with.
func (v *Service) adapters(ctx context.Context, program []string) (err error) {
	s := v.Settings
	r, secrets, err := s.ReadRegistry()
	if err != nil {
		return err
	}
	v.Projects, v.opened = r.Projects, r
	secrets.hideBy(s.hidden)
	if err := v.openNeighbours(s.neighbours(r.Neighbours), secrets, os.Getenv); err != nil {
		return err
	}
	if err := v.openChat(); err != nil {
		return err
	}
	if err := v.confine(ctx, program); err != nil {
		return err
	}
	v.egress, v.credentials = v.openEgress(v.Projects), v.openCredentials(v.Projects)
	s.DataDir = v.Settings.DataDir
	v.Git, err = gitcli.New(ctx, gitcli.Options{
		Root: filepath.Join(s.DataDir, "git"), Tokens: v.gitTokens(), Timeout: s.GitTimeout, Shared: s.Shared(),
		Shim: append(slices.Clone(program), "check-shim"), Jail: v.walls.jail, Connect: v.connect(), Log: v.Log,
	})
	if err != nil {
		return err
	}
	v.program = program
	if err := v.openGateway(); err != nil {
		return err
	}
	if v.Agents, err = agentcli.New(v.agentOptions(s.DataDir)); err != nil {
		return err
	}
	if err := v.openDatabase(ctx); err != nil {
		return err
	}
	if err := v.openTracker(ctx); err != nil {
		return err
	}
	v.Access, err = s.guard(v.DB, v.Log)
	return err
}

// agentOptions are those of what runs agents, with its files below a directory.
func (v *Service) agentOptions(dir string) agentcli.Options {
	s := v.Settings
	return agentcli.Options{
		Default: s.Agent, Presets: ownAgents(), Shim: append(slices.Clone(v.program), "agent-shim"),
		LogDir: filepath.Join(dir, "logs"), StateDir: filepath.Join(dir, "running"), HomeDir: filepath.Join(dir, "homes"),
		TermGrace: s.AgentTermGrace, EnvAllow: append(agentcli.DefaultEnv(), s.AgentEnv...), Prices: s.AgentPrices, Log: v.Log,
		HomeFiles: s.AgentHome, Jail: v.walls.jail, Hidden: s.hidden, Links: v.links(),
	}
}

// client returns the client that neighbours are called with.
func (s Settings) client() *http.Client { return &http.Client{Timeout: s.CallTimeout} }

// assemble gives the adapters to the service.
func (v *Service) assemble(ctx context.Context) error {
	s := v.Settings
	walls := orchestrator.Metric{
		Name: "jail", Kind: orchestrator.KindGauge, Help: "1 for the kind of jail that agents run in.", Labels: []string{"kind"},
	}
	meter, err := prometheus.New(Version(), walls)
	if err != nil {
		return err
	}
	meter.Set(walls.Name, 1, "kind", v.walls.kind())
	layer, err := v.tracks(ctx)
	if err != nil {
		return err
	}
	s.Engine.Places = v.places()
	s.Engine.Settings = func() map[string]string {
		set := v.Settings.policy()
		set[checks.TitleMaxSetting] = v.getenv(checks.TitleMaxSetting)
		return set
	}
	key, err := dssekey.OpenKey(filepath.Join(s.DataDir, "receipt.key"))
	if err != nil {
		return err
	}
	o := service.Options{
		Store: v.DB, Projects: v.Projects, Pipeline: &v.opened.Pipeline, Tracker: v.Tracker,
		Host:       hosts{gitonly.New(v.Git, gitonly.Registered(v.Projects)), v.Projects, v.Hosts},
		Workspaces: v.Git, Agents: v.Agents, Leases: v.Leases,
		Gates: checks.All(v.getenv), Commands: v.Git, Hooks: v.Git, Probe: commitprobe.New(nil),
		Logs: v.Agents, Meter: meter, Redactor: s.hidden, Log: v.Log,
		Engine: s.Engine, Features: s.features(), Identify: v.identifiers(), Mend: v.mend, Reread: v.reread,
		Web: web.Options{
			Access: v.Access, Sources: v.sources(), Metrics: meter.Handler(),
			Receipt: func(ctx context.Context, t task.Task) (receipt.Issued, error) {
				return key.Issue(ctx, v.DB, t, s.publicURL(), Version())
			},
			Checks: v.checks(), Hosts: s.hosts(), Reload: v.Reload,
		},
		Dashboard:  dashboard.Options{Links: s.Links, Markdown: markdown.Render},
		Pages:      s.pages(),
		HooksApart: s.HooksListen != "", Proxies: s.Proxies, Beside: layer,
	}
	if v.Chat != nil {
		o.Messenger = v.Chat
	}
	if v.Board != nil {
		o.Dashboard.Cards, o.Dashboard.CardsSource = v.Board, trackerBoard
	}
	v.Service, err = service.New(o)
	return err
}

// features are those of the settings, with what they call others with.
func (s Settings) features() *service.Features {
	f := s.Features
	f.Budget.Price = s.priceOf
	f.Events.Source, f.Events.Client, f.Traces.Client = s.publicURL(), s.client(), s.client()
	return &f
}

func (s Settings) checkEvents(wrong func(name, format string, args ...any)) {
	f := s.features()
	if f.Traces.URL.IsSet() && f.Traces.Check() != nil {
		wrong("OTLP_URL", "is no address such as http://127.0.0.1:4318") // what it is may hold a key
	}
	if _, err := subscriber.Feature(f.Events); f.Events.URL.IsSet() && err != nil {
		wrong("EVENTS_URL", "is no address such as https://example.org/events") // what it is may hold a token
	}
}

// checks are the parts of readiness that are adapters'.
func (v *Service) checks() []web.Check {
	list := []web.Check{
		{Name: "database", Ping: v.DB.Ping},
		{Name: "git", Ping: func(ctx context.Context) error { _, err := v.Git.Version(ctx); return err }},
		{Name: "settings", Warning: true, Ping: v.settingsFile},
		{Name: "jail", Warning: true, Ping: func(context.Context) error { return v.walls.loud }},
	}
	if v.Chat != nil {
		list = append(list, web.Check{Name: "chat", Warning: true, Ping: v.Chat.Moved})
	}
	if v.Tracks != nil {
		list = append(list, web.Check{Name: "tracks", Warning: true, Ping: v.Tracks.readable})
	}
	if v.Settings.InsecureWebhooks {
		list = append(list, web.Check{Name: "webhooks", Warning: true, Ping: func(context.Context) error {
			return errors.New("unsigned webhooks are taken (ORCH_INSECURE_WEBHOOKS)")
		}})
	}
	return list
}

// Close closes what Open has opened.
func (v *Service) Close() error {
	var errs []error
	if v.Board != nil {
		errs = append(errs, v.Board.Close())
	}
	if v.trackStore != nil {
		errs = append(errs, v.trackStore.Close())
	}
	if v.DB != nil {
		errs = append(errs, v.DB.Close())
	}
	if v.Gateway != nil {
		errs = append(errs, v.Gateway.Close())
	}
	return errors.Join(errs...)
}

// Run works until ctx ends; see service.Service.Run.
func (v *Service) Run(ctx context.Context, l, hooks net.Listener) error {
	if v.Settings.InsecureWebhooks {
		v.Log.Warn("unsigned webhooks are taken", "setting", "ORCH_INSECURE_WEBHOOKS")
	}
	for _, agent := range v.Settings.MissingAgents(v.opened) {
		v.Log.Warn("an agent's program is not installed: tasks that need it will wait", "agent", agent)
	}
	v.Log.Info("starting", "version", Version(), "settings_file", cmp.Or(v.Settings.from.file, noConfig))
	if err := v.listenGateway(ctx, v.Settings.ModelGateway); err != nil {
		return err
	}
	g := run.New(ctx, v.Log)
	defer g.Stop()
	g.Go("credentials", v.credentials.Sweep)
	g.Go("modes", v.keepModes)
	g.Go("database", func(ctx context.Context) {
		if err := v.checkFile(ctx); err != nil && ctx.Err() == nil {
			v.Log.Error("the database was read", "err", err)
		}
	})
	if v.Tracks != nil {
		g.Go("tracks", v.Tracks.Run)
	}
	return v.Service.Run(ctx, l, hooks)
}
