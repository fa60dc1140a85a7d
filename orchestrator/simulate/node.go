package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/signals"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// node is a replica: a machine that stays, and on it one process after the other.
type node struct {
	sim      *sim
	machine  int
	life     int // which process it is, from 1
	label    string
	features []string
	without  string // a project that has left its registry

	domain *run.Domain
	cancel context.CancelFunc
	engine *orchestrator.Engine
	serial *serialgate.Gate
	edge   http.Handler // where webhooks arrive

	memories memories
}

func (n *node) name() string { return n.label }

// boot starts a process over what is there.
func (n *node) boot() {
	s := n.sim
	n.life++
	n.label = fmt.Sprintf("r%d.%d", n.machine, n.life)
	n.memories = n.newMemories()
	n.domain = s.v.Domain()
	if err := n.build(); err != nil {
		s.check.fail(BadStart, "%s cannot be built: %v", n.name(), err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	engine, domain := n.engine, n.domain
	s.trace.line(s.since(), n.name(), "starts", "")
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
	case slices.Contains(AllFeatures(), what):
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
	projects, err := task.NewProjects(n.registry()...)
	if err != nil {
		return err
	}
	p := n.ports(projects)
	list, err := n.makeFeatures(p)
	if err != nil {
		return err
	}
	n.engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: p.store, Records: p.store, Jobs: p.store, Projects: projects, Tracker: p.tracker, Host: p.host, Workspaces: p.work, Agents: p.agents,
		Gates: checks.All(nil), Runners: effects.Runners(p.effects()),
		Log: s.check.logger(n), Meter: s.meter, Scheduler: n.domain,
	}, orchestrator.Options{
		MaxConcurrency: 2, AgentTimeout: 10 * time.Minute, Poll: s.world.Poll, JobTTL: time.Duration(1+s.world.Tempo) * 15 * time.Second, Worker: n.name(),
		AgentRetries: []time.Duration{10 * time.Second, 30 * time.Second},
	}, list...)
	if err != nil {
		return err
	}
	n.edge, err = web.Handler(web.Options{
		Engine: n.engine, Sources: []web.Source{{Name: sourceBoard, Tracker: boardHooks{}}, {Name: sourceHost, Host: hostHooks{}}}, Access: n.door(), Stop: n.has("stop"),
	})
	return err
}

// door lets in who has the token; ids of requests are the same in each run of a seed.
func (n *node) door() *access.Guard {
	return access.New(access.Options{AdminToken: adminToken, Now: n.domain.Now, NewID: func() string { return "request" }})
}

// registry are the projects that the process has.
func (n *node) registry() []task.Project {
	return slices.DeleteFunc(slices.Clone(n.sim.list), func(p task.Project) bool { return n.without != "" && p.Repo == "acme/"+n.without })
}

// ports are the ports of one process.
type ports struct {
	n        *node
	projects *task.Projects
	store    *storePort
	tracker  *trackerPort
	host     *hostPort
	chat     *chatPort
	work     *workPort
	agents   *agentsPort
	leases   *leasePort
}

func (n *node) ports(projects *task.Projects) ports {
	place := n.sim.places[n.machine]
	return ports{
		n: n, projects: projects, store: &storePort{n}, tracker: &trackerPort{n}, host: &hostPort{n}, chat: &chatPort{n},
		work: &workPort{n, place}, agents: &agentsPort{n, place}, leases: &leasePort{n},
	}
}

func (p ports) effects() effects.Deps {
	return effects.Deps{
		Store: p.store, Jobs: p.store, Projects: p.projects, Tracker: p.tracker, Host: p.host, Messenger: p.chat, Workspaces: p.work, Agents: p.agents,
		Log: p.n.sim.check.logger(p.n), Now: p.n.domain.Now,
	}
}

// makeFeatures makes the features that are on, in the order of the reference
// server.
func (n *node) makeFeatures(p ports) (list []orchestrator.Feature, err error) {
	now, log := n.domain.Now, n.sim.check.logger(n)
	every := time.Duration(n.sim.world.Tempo) * 30 * time.Second
	add := func(f orchestrator.Feature, failed error) {
		list = append(list, f)
		err = errors.Join(err, failed)
	}
	if n.has("stop") {
		add(stop.Feature(stop.Options{Store: p.store, Projects: p.projects, Workspaces: p.work, Agents: p.agents, Now: now, Log: log}))
	}
	if n.has("reconcile") {
		rec, failed := reconcile.New(reconcile.Options{Tracker: p.tracker, Board: p.tracker, Source: sourceBoard, Every: 2 * every, Now: now, Log: log})
		add(rec.Feature(), failed)
	}
	if n.has("live_message") {
		add(livemessage.Feature(livemessage.Options{Store: p.store, Records: p.store, Jobs: p.store, Projects: p.projects, Messenger: p.chat, Now: now, Log: log}))
	}
	if n.has("agent_pause") {
		f, failed := agentpause.New(agentpause.Options{Store: p.store, Pauses: p.store, Projects: p.projects, Queue: p.store, Inspector: p.store, Agents: p.agents, Every: every, Now: now, Log: log})
		add(f.Feature(), failed)
	}
	n.serial = nil
	if n.has("serial_gate") {
		gate, failed := serialgate.New(serialgate.Options{Store: p.store, Holds: p.store, Inspector: p.store, Repos: n.gated(), Projects: p.projects, Every: every, Log: log})
		n.serial = gate
		add(gate.Feature(), failed)
	}
	changed := func() {}
	if n.has("wip") {
		o := wip.Options{Store: p.store, Holds: p.store, Finder: p.store, Projects: p.projects, Every: every, Log: log}
		if n.serial != nil {
			o.Except, o.Before = n.serial.Covers, n.serial.Repair
		}
		limit, failed := wip.New(o)
		changed = limit.Look
		add(limit.Feature(), failed)
	}
	if n.has("task_deps") {
		d, failed := deps.New(deps.Options{
			Store: p.store, Table: p.store, Queue: p.store, Inspector: p.store, Relations: p.tracker, Items: p.tracker, Line: serialgate.Name, Changed: changed, Every: every, Now: now, Log: log,
		})
		add(d.Feature(), failed)
	}
	measured := signals.Options{Store: p.store, Jobs: p.store, Projects: p.projects, Every: 10 * every, Log: log}
	if n.has("budget") {
		b, failed := budget.New(budget.Options{
			Store: p.store, Records: p.store, Costs: p.store, Projects: p.projects, Queue: p.store, Inspector: p.store,
			Caps: budget.Caps{Task: 400 * cost, RepoDay: 400 * cost, Run: cost}, Every: every, Now: now, Log: log,
		})
		add(b.Feature(), failed)
		measured.Spent, measured.Limit = b.Spent, 400*cost
	}
	add(signals.Feature(measured))
	gate, failed := mergegate.New(mergegate.Options{
		Store: p.store, Jobs: p.store, Projects: p.projects, Spaces: p.work, Leases: p.leases, Host: p.host,
		Merge: effects.Runners(p.effects())[stage.EffectMerge], Off: !n.has("merge_gate"), Repos: []string{"*"}, Now: now, Log: log,
	})
	add(gate.Feature(), failed)
	if n.has("monitor") {
		o := monitor.Options{Store: p.store, Projects: p.projects, Jobs: p.store, Probe: n.probe, Window: 3 * time.Minute, Now: now, Log: log}
		if n.serial != nil {
			o.Freeze = n.serial.Freeze
		}
		add(monitor.Feature(o))
	}
	add(waitcomment.Feature(waitcomment.Options{Store: p.store, Jobs: p.store, Log: log}))
	add(retention.Feature(retention.Options{
		Store: p.store, Jobs: p.store, Projects: p.projects, Agents: p.agents, Disks: []retention.Disk{{Disk: p.work, Name: "checkouts"}},
		Every: 2 * every, Unknown: 10 * every, Now: now, Log: log,
	}))
	return list, err
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
