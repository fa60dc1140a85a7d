package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Jobs is everything that the engine needs of a queue.
type Jobs interface {
	queue.Queue
	queue.Admin
	queue.Restarter
	queue.Inspector
	queue.HoldFinder
}

// Storing is everything that the engine needs of a store of tasks.
type Storing interface {
	task.Store
	task.Facts
	task.Contents
}

// Tracking is everything that the engine needs of a tracker.
type Tracking interface {
	tracker.Tracker
	tracker.Accounts
}

// Hosting is everything that the engine needs of a git host.
type Hosting interface {
	githost.Host
	githost.Branches
}

// Workspaces is everything that the engine needs of the places of work.
type Workspaces interface {
	work.Workspaces
	work.Mirror
}

// Deps are the parts that an engine works with. All are required but Commands, Hooks, Probe,
// Logs, Log, Meter, Scheduler and Now. effects.Runners makes the usual runners, checks.All has
// the built-in gates, of which a [Project] can name more, and stage.Default the built-in pipeline.
// Package web receives webhooks, of which [TrackerJob] and [HostJob] make the jobs.
type Deps struct {
	Store      Storing
	Records    task.Records
	Jobs       Jobs
	Projects   *task.Projects
	Tracker    Tracking
	Host       Hosting
	Workspaces Workspaces
	Agents     work.Agents
	Gates      []gates.Gate
	Runners    map[stage.EffectKind]Runner // by stage effect kind
	Commands   gates.Commands
	Probe      Prober         // of deployments; nil = none can be read
	Hooks      work.Hooks     // of projects, in checkouts; nil = none is run
	Logs       work.LogWriter // of CI and hooks; nil = none are kept
	Log        *slog.Logger
	Meter      Meter
	Scheduler  run.Scheduler // starts and waits; nil = goroutines and timers
	Now        func() time.Time
}

// Options are an engine's settings; zero values mean the defaults.
type Options struct {
	MaxConcurrency int             `env:"MAX_CONCURRENCY" envDefault:"2" min:"1" doc:"agents at a time"`
	EventWorkers   int             `envDefault:"4"` // for each pool of events
	EffectWorkers  int             `envDefault:"4"` // for each lane
	AgentTimeout   time.Duration   `env:"AGENT_TIMEOUT" envDefault:"60m" doc:"time limit of an agent"`
	ProbeWait      time.Duration   `env:"PROBE_WAIT" envDefault:"10m" doc:"how long a deployment has until the registry's probe answers with the commit"`
	VerifyTimeout  time.Duration   `env:"VERIFY_TIMEOUT" envDefault:"30m" doc:"time limit of each command of the registry's verify"`
	GateTimeout    time.Duration   `env:"GATE_TIMEOUT" envDefault:"10m" doc:"time limit of each command of the registry's gates"`
	AgentRetries   []time.Duration `env:"AGENT_RETRY_DELAYS" envDefault:"30s,2m,10m" doc:"waits before a failed agent is tried again"`
	CIWait         time.Duration   `env:"CI_WAIT" envDefault:"6h" doc:"how long a task waits for the CI of a commit before it is blocked and a human is asked"`
	JobTTL         time.Duration   `env:"JOB_TTL" envDefault:"30s" doc:"a claim without a heartbeat for this long is given back"`
	Poll           time.Duration   `env:"POLL" envDefault:"1s" doc:"how often queues are looked at without a hint"`
	StatusDefer    time.Duration   `env:"STATUS_DEFER" envDefault:"500ms" doc:"how long a board event waits before it looks at the board again"`
	// Columns returns the columns of a board when it was last seen, by tracker project, and
	// whether it was seen; nil = that is not known.
	Columns func(trackerProject string) (columns map[stage.Status]string, seen bool)
	Stage   stage.Options
	// Settings returns what is set, without secrets, by name, and which program this is: the journal has it as a part
	// of the policy in force.
	Settings func() map[string]string
	Off      []string // gates of the pipeline and of features that are switched off
	Places   Places   // beside the first ones; each has lanes of its own
	Worker   string   `envDefault:"worker"` // name of this process in claims
}

// Engine turns events into decisions and decisions into work. It holds no task
// state of its own: everything is in the store, so that any number of crashes
// only delays it.
//
// A commit checks the task's version, writes its row, its journal and the verdicts, finishes the
// event and puts the jobs that follow; a decision that lost a race is made again. Effects are made
// at least once: each has a key or a condition, so that a second time changes nothing.
//
// Workers take jobs from pools. Events run in the order of their work item, agents at most
// Options.MaxConcurrency at a time. Each destination of effects (comments, board, chat, git, host,
// workspace) is a lane with workers and health of its own: one that does not answer delays no other.
// A gate that runs a command is judged in a pool of its own. A claim lives by its heartbeat; when that
// is missed the job goes to another worker, and the attempt number lets only one of them finish it.
type Engine struct {
	Deps
	Metrics   Metrics
	Admission *admit.Desk // decides which agents may start

	opt      Options
	machine  *stage.Machine
	gates    []gates.Gate // of all projects
	features []Feature

	health map[string]*health // of the pools that have one; never changed

	policy atomic.Pointer[policyVersion]

	said  said
	items items
	logs  sync.Map // the tracker's projects whose log of moves was read once

	mu      sync.Mutex
	running map[int64]*agentAtWork // by task id
}

// New wires an engine for a pipeline. A gate that the pipeline or a project
// names and nobody registered, or an effect kind that nobody runs, is an error that names it.
func New(p stage.Pipeline, deps Deps, opt Options, features ...Feature) (*Engine, error) {
	defaults.Fill(&opt)
	if err := deps.check(); err != nil {
		return nil, err
	}
	e := &Engine{
		Deps: deps, Metrics: newMetrics(deps.Meter), opt: opt, features: features,
		health: newHealth(opt.Places, deps.Now()), running: map[int64]*agentAtWork{},
	}
	if err := e.adopt(features); err != nil {
		return nil, err
	}
	var rules []stage.Rule
	var admission []admit.Rule
	all := append([]gates.Gate(nil), deps.Gates...)
	p.Edges, p.When = slices.Clone(p.Edges), maps.Collect(maps.All(p.When)) // the caller's stay
	for _, f := range features {
		if f.Pipeline != nil {
			p = f.Pipeline(p)
		}
		rules, admission = append(rules, f.Rules...), append(admission, f.Admission...)
		all = append(all, f.Gates...)
	}
	for i, edge := range p.Edges {
		p.Edges[i].Gates = slices.DeleteFunc(slices.Clone(edge.Gates), func(name string) bool { return slices.Contains(opt.Off, name) })
	}
	var err error
	if e.machine, err = stage.New(p, opt.Stage, rules...); err != nil {
		return nil, err
	}
	e.gates = all
	e.Admission = admit.NewDesk(admit.Options{
		Store: e.Store, Jobs: e.Jobs, Rules: admission, Scheduler: e.Scheduler, Log: e.Log,
		Begins: func(t task.Task) bool { return t.State.Stage == e.machine.Pipeline().First(t.State) },
	})
	common, err := e.gatesOf(task.Project{})
	if err != nil {
		return nil, err
	}
	for _, name := range p.Gates() {
		if !common.Has(name) {
			return nil, fmt.Errorf("orchestrator: the pipeline judges %q, which is not registered", name)
		}
	}
	e.policy.Store(policyOf(e))
	return e, errors.Join(e.checkRunners(), e.Check(deps.Projects))
}

func (d *Deps) check() error {
	for _, part := range []struct {
		field   string
		missing bool
	}{
		{"Store", d.Store == nil}, {"Records", d.Records == nil}, {"Jobs", d.Jobs == nil}, {"Projects", d.Projects == nil},
		{"Tracker", d.Tracker == nil}, {"Host", d.Host == nil}, {"Workspaces", d.Workspaces == nil}, {"Agents", d.Agents == nil},
	} {
		if part.missing {
			return fmt.Errorf("orchestrator: Deps.%s is required", part.field)
		}
	}
	d.Log = cmp.Or(d.Log, slog.New(slog.DiscardHandler))
	if d.Scheduler == nil {
		d.Scheduler = run.Real{}
	}
	if d.Now == nil {
		d.Now = d.Scheduler.Now
	}
	return nil
}

// adopt takes in the features' runners.
func (e *Engine) adopt(features []Feature) error {
	runners := maps.Collect(maps.All(e.Runners))
	have := map[string]bool{}
	for _, f := range features {
		if f.Name == "" || have[f.Name] {
			return fmt.Errorf("orchestrator: feature %q has no name or is given twice", f.Name)
		}
		have[f.Name] = true
		for kind, r := range f.Runners {
			if runners[kind] != nil && e.Runners[kind] == nil {
				return fmt.Errorf("orchestrator: feature %s: effect %q has a runner already", f.Name, kind)
			}
			runners[kind] = r
		}
	}
	e.Runners = runners
	return nil
}

func (e *Engine) checkRunners() error {
	for _, kind := range []stage.EffectKind{
		stage.EffectComment, stage.EffectStatus, stage.EffectNotify, stage.EffectPrepare,
		stage.EffectPublish, stage.EffectPull, stage.EffectMerge, stage.EffectTidy,
	} {
		if e.Runners[kind] == nil {
			return fmt.Errorf("orchestrator: nobody runs the effect %q", kind)
		}
	}
	return nil
}

// Wait is for loops of features: it returns nil after d or when a hint comes, and
// the context's error when that has ended. It is the one way to wait.
func (e *Engine) Wait(ctx context.Context, d time.Duration, hints ...<-chan struct{}) error {
	return e.Scheduler.Wait(ctx, e.Scheduler.Now().Add(d), hints...)
}

// Features are the names of the features that the engine was made with, in their order.
func (e *Engine) Features() (names []string) {
	for _, f := range e.features {
		names = append(names, f.Name)
	}
	return names
}

// Machine is the machine that decides.
func (e *Engine) Machine() *stage.Machine { return e.machine }

// Columns returns the columns of a board when it was last seen, by tracker project, and
// whether it was seen; see Options.Columns.
func (e *Engine) Columns(trackerProject string) (columns map[stage.Status]string, seen bool) {
	if e.opt.Columns == nil {
		return nil, false
	}
	return e.opt.Columns(trackerProject)
}

// gatesOf are the gates that may judge in a project: those of all, and its own.
func (e *Engine) gatesOf(p task.Project) (*gates.Registry, error) {
	return gates.NewRegistry(append(e.gates[:len(e.gates):len(e.gates)], p.Commands...)...)
}

// evaluateGates has gates judge a subject of a project, by name.
func (in intake) evaluateGates(ctx context.Context, s gates.Facts, names ...string) gates.Verdict {
	have, err := in.gatesOf(in.project)
	if err != nil {
		return gates.Broken(gates.All, err.Error())
	}
	return have.Judge(ctx, s, names...)
}

// Check looks whether the engine could work by a registry: whether there are the checks
// that projects name, and a host for repositories that have none. An error is a FieldError.
func (e *Engine) Check(projects *task.Projects) error {
	for i, p := range projects.All() {
		if field, wrong := e.hosts(p); wrong != "" {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: field, Text: wrong}
		}
		have, err := e.gatesOf(p)
		if err != nil {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: "commands", Text: err.Error()}
		}
		for _, role := range slices.Sorted(maps.Keys(p.Agents)) { // a program's own: a file is checked where it is read
			if !e.machine.Pipeline().Has(role) {
				text := fmt.Sprintf("there is no role %q in the pipeline", role)
				return &task.FieldError{Entry: i, Repo: p.Repo, Field: "agents", Text: text}
			}
		}
		if err := p.Lanes.Check(e.machine.Pipeline()); err != nil {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: "pipeline", Text: err.Error()}
		}
		for s, names := range p.Gates {
			for _, name := range names {
				if !have.Has(name) {
					text := fmt.Sprintf("%q at %s is no check of this program, and none of the project's commands", name, s)
					return &task.FieldError{Entry: i, Repo: p.Repo, Field: "gates", Text: text}
				}
			}
		}
	}
	return nil
}

// Replace has the engine, its features, and every other holder of Deps.Projects work by another
// registry from now on, one that Check has passed. All that waits is looked at again.
func (e *Engine) Replace(with *task.Projects) {
	e.Projects.Replace(with)
	e.policy.Store(policyOf(e))
	e.Admission.Reload()
}

// FeatureBlocks returns what the features that are on show of themselves in /queue, by
// name. The block of a feature that cannot say is an error.
func (e *Engine) FeatureBlocks(ctx context.Context) map[string]any {
	out := map[string]any{}
	for _, f := range e.features {
		if f.Show == nil {
			continue
		}
		block, err := f.Show(ctx)
		if err != nil {
			block = map[string]string{"error": err.Error()}
		}
		out[f.Name] = block
	}
	return out
}

// Concurrency is how many agents may be at work at a time.
func (e *Engine) Concurrency() int { return e.opt.MaxConcurrency }

// Green evaluates the gates that a trigger would meet at a task's stage, and reports
// whether it would move. It reads and changes nothing. A slow gate is not judged: the
// trigger is worth raising then, except for a blocked task, which a person resumes.
func (e *Engine) Green(ctx context.Context, t task.Task, on stage.Trigger) (bool, error) {
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		return false, nil
	}
	v, _, err := intake{Engine: e, project: p}.judge(ctx, t, stage.Event{On: on, At: e.Now()})
	if errors.Is(err, errApart) {
		return t.State.Hold != stage.HoldBlocked, nil
	}
	return v != nil && v.Passed(), err
}

// Raise makes an event of a task. It is durable when it returns; the same dedupe
// key again while the first is unfinished is a no-op.
func (e *Engine) Raise(ctx context.Context, t task.Task, ev stage.Event, dedupe string) error {
	_, err := e.Jobs.Put(ctx, e.triggerJob(t, ev, nil, dedupe))
	return err
}

// Waiting lists unfinished jobs with what each waits for, in the words of today.
func (e *Engine) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	waits, err := e.Jobs.Waiting(ctx, f)
	e.Admission.Fresh(ctx, waits)
	return waits, err
}
