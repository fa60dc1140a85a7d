package simulate

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/intercept"
	"github.com/signalbox-dev/signalbox/internal/run/virtual"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/signals"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// node is a replica: a machine that stays, and on it one process after the other.
type node struct {
	sim      *sim
	machine  int
	life     int // which process it is, from 1
	name     string
	features []string
	without  string // a project that has left its registry

	domain *virtual.Domain
	cancel context.CancelFunc
	engine *orchestrator.Engine
	serial *serialgate.Gate
	edge   http.Handler // where webhooks arrive

	memories memories
}

// boot starts a process over what is there.
func (n *node) boot() {
	s := n.sim
	n.life++
	n.name = fmt.Sprintf("r%d.%d", n.machine, n.life)
	n.memories = n.newMemories()
	n.domain = s.v.Domain()
	if err := n.build(); err != nil {
		s.check.fail(BadStart, "%s cannot be built: %v", n.name, err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	engine, domain := n.engine, n.domain
	s.trace.line(s.since(), n.name, "starts", "")
	domain.Go(func() {
		engine.Run(ctx)
	})
}

// restart ends the process as INT does, and starts it again after a while, with a
// feature switched.
func (n *node) restart(down time.Duration, flip string) {
	s := n.sim
	n.cancel()
	s.check.disturb()
	life := n.life
	s.v.After(down+30*time.Second, func() {
		if n.life != life || n.domain.Dead() {
			return
		}
		n.domain.Kill() // what has not ended by now is killed
		s.agents.orphan(n)
		if !s.calm {
			n.flip(flip)
		}
		n.boot()
	})
}

// flip switches a feature, or has a project leave the registry or come back.
func (n *node) flip(what string) {
	switch i := slices.Index(n.features, what); {
	case what == "":
	case i >= 0:
		n.features = slices.Delete(slices.Clone(n.features), i, i+1)
	case slices.Contains(allFeatures(), what):
		n.features = append(slices.Clone(n.features), what)
	case n.without == what:
		n.without = ""
	default:
		n.without = what
	}
}

func (n *node) has(feature string) bool { return slices.Contains(n.features, feature) }

// up reports whether the process lives and is not paused.
func (n *node) up() bool { return n.domain != nil && !n.domain.Dead() && n.engine != nil }

// build makes the engine with everything real but its ports.
func (n *node) build() error {
	s := n.sim
	gone := func(p task.Project) bool { return n.without != "" && p.Repo == "acme/"+n.without }
	registry := slices.DeleteFunc(slices.Clone(n.sim.list), gone)
	projects, err := task.NewProjects(registry...)
	if err != nil {
		return err
	}
	p := n.ports(projects)
	list, err := n.makeFeatures(p)
	if err != nil {
		return err
	}
	n.engine, err = orchestrator.New(pipeline(), orchestrator.Deps{
		Store: p.store, Records: p.store, Jobs: p.store, Projects: projects,
		Tracker: p.tracker, Host: p.host, Workspaces: p.work, Agents: p.agents,
		Gates: checks.All(nil), Runners: effects.Runners(p.effects()),
		Log: s.check.logger(n), Meter: s.meter, Scheduler: n.domain,
	}, orchestrator.Options{
		MaxConcurrency: 2, AgentTimeout: 10 * time.Minute, Poll: s.world.Poll, Worker: n.name,
		JobTTL:       time.Duration(1+s.world.Tempo) * 15 * time.Second,
		AgentRetries: []time.Duration{10 * time.Second, 30 * time.Second},
	}, list...)
	if err != nil {
		return err
	}
	n.edge, err = web.Handler(web.Options{
		Engine: n.engine, Stop: n.has("stop"),
		Access:  access.New(access.Options{AdminToken: adminToken, Now: n.domain.Now, NewID: func() string { return "request" }}),
		Sources: []web.Source{{Name: sourceBoard, Tracker: boardHooks{}}, {Name: sourceHost, Host: hostHooks{}}},
	})
	return err
}

// reverting are workspaces that can take back what has landed, which never fails.
type reverting struct {
	intercept.Places
	work.Reverter
}

// ports are the ports of one process.
type ports struct {
	n        *node
	projects *task.Projects
	store    intercept.Kept
	tracker  *trackerPort
	host     intercept.Hosting
	chat     *chatPort
	work     reverting
	agents   *agentsPort
	leases   *leasePort
}

func (n *node) ports(projects *task.Projects) ports {
	s, place := n.sim, n.sim.places[n.machine]
	return ports{
		n: n, projects: projects, tracker: &trackerPort{n}, chat: &chatPort{n}, agents: &agentsPort{n, place}, leases: &leasePort{n},
		store: intercept.Store(watchedStore{s.store, n, s.check}, n.fated("store", LaneStore, "Task Tasks Journal JournalSince "+
			"GateResults AgentRuns Content LastDelivery Dependencies Reservations RunsSince Pauses Waiting Jobs Holds HoldsIn Depth")),
		host: intercept.Host(watchedHost{s.host, n}, n.fated("host", LaneHost, "Checks Reviews PullRequest BranchesAt")),
		work: reverting{intercept.Workspaces(watchedPlace{place, n, s.check}, n.fated("git", LaneGit,
			"Tip Changed Diff Files MainTip SameTree Remains Heads")), place},
	}
}

func (p ports) effects() effects.Deps {
	return effects.Deps{
		Store: p.store, Jobs: p.store, Projects: p.projects, Tracker: p.tracker, Host: p.host,
		Messenger: p.chat, Workspaces: p.work, Agents: p.agents,
		Log: p.n.sim.check.logger(p.n), Now: p.n.domain.Now,
	}
}

// makeFeatures makes the features that are on, as the reference server does.
func (n *node) makeFeatures(p ports) ([]orchestrator.Feature, error) {
	every := time.Duration(n.sim.world.Tempo) * 30 * time.Second
	set := features.Set{
		Stop: n.has("stop"), AgentPause: n.has("agent_pause"), Reconcile: n.has("reconcile"),
		ReadBoards: true, WaitComment: true, LiveMessage: n.has("live_message"),
		Serial: n.has("serial_gate"), WIP: n.has("wip"),
		AfterDone: n.has("after_done"), Deps: n.has("task_deps"), DepsSource: []string{deps.SourceDB, deps.SourceTracker},
		Merge: n.has("merge_gate"), RebaseAlways: true, Monitor: n.has("monitor"), Freeze: true,
		Reconciler:   reconcile.Options{Every: 2 * every},
		SerialGate:   serialgate.Options{Repos: n.gated()},
		Dependencies: deps.Options{Every: every},
		MergeGate:    mergegate.Options{Repos: []string{"*"}},
		Watch:        monitor.Options{Probe: n.probe, Window: 3 * time.Minute},
		Signals:      signals.Options{Every: 10 * every},
		Retention:    retention.Options{Every: 2 * every, Unknown: 10 * every},
	}
	if n.has("budget") {
		set.BudgetTask, set.BudgetRepoDay, set.BudgetRun = 400*cost, 400*cost, cost
	}
	made, err := set.Make(features.Parts{
		Parts: orchestrator.Parts{
			Store: p.store, Projects: p.projects, Host: p.host, Workspaces: p.work, Agents: p.agents,
			Log: n.sim.check.logger(n), Now: n.domain.Now,
		},
		Tracker: p.tracker, Sources: []string{sourceBoard}, Messenger: p.chat, Leases: p.leases,
		Merger: effects.Runners(p.effects())[stage.EffectMerge],
	})
	if err != nil {
		return nil, err
	}
	n.serial = made.Serial
	return made.List, nil
}

// gated are the repositories of the serial gate: beside a limit of work in progress
// those that are self-hosting.
func (n *node) gated() []string {
	if n.sim.world.has("wip") {
		return nil
	}
	return []string{"*"}
}

// probe is a look at what was deployed.
func (n *node) probe(ctx context.Context, address string) (monitor.Look, string) {
	seen, err := call(ctx, n, op{name: "probe", lane: LaneHost, read: true}, address, func() (monitor.Look, error) {
		return n.sim.agents.deployed(address), nil
	})
	if err != nil {
		return monitor.Unknown, err.Error()
	}
	return seen, "seen"
}
