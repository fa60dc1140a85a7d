package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/remotes"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/signals"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/subscriber"
	"github.com/signalbox-dev/signalbox/orchestrator/features/traces"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// features are the additive behaviours that are switched on, in order. One that
// is off is not made at all.
func (s *Service) features() (list []orchestrator.Feature, err error) {
	f := s.opt.Features
	for _, one := range []struct {
		on   bool
		make func() (orchestrator.Feature, error)
	}{
		{f.Stop, s.stop},
		{f.AgentPause, s.agentPause}, // before those that reserve something for a run
		{f.Reconcile != nil, s.reconciler},
		{f.WaitComment, s.waitComment},
		{f.Serial != nil, s.serialGate},
		{f.WIP, s.limitWork},
		{len(f.Deps) > 0, s.dependencies},
		{true, s.mergeGate},
		{f.LiveMessage && s.opt.Messenger != nil, s.liveMessage}, // shows what the rules before it have made of a decision
		{f.Events != nil, s.subscriber},
		{f.Traces != nil, s.traces},
		{f.Monitor != nil, s.monitor},
		{true, s.remotes},
		{f.Budget != nil, s.capCosts},
		{true, s.retention},
		{true, s.signals},
	} {
		if !one.on {
			continue
		}
		feature, err := one.make()
		if err != nil {
			return nil, err
		}
		list = append(list, feature)
	}
	return list, nil
}

func (s *Service) stop() (orchestrator.Feature, error) { return stop.Feature(s.stopOptions()) }

func (s *Service) stopOptions() stop.Options {
	o := s.opt
	return stop.Options{Store: o.Store, Projects: o.Projects, Workspaces: o.Workspaces, Agents: o.Agents, Log: o.Log, Now: run.Real{}.Now}
}

func (s *Service) agentPause() (f orchestrator.Feature, err error) {
	o := s.opt
	s.pauses, err = agentpause.New(agentpause.Options{Store: o.Store, Pauses: o.Store, Projects: o.Projects, Queue: o.Store, Inspector: o.Store, Agents: o.Agents, Log: o.Log})
	if err != nil {
		return f, err
	}
	return s.pauses.Feature(), nil
}

// resume is what ends the pause of an agent; nil when there is none.
func (s *Service) resume() func(context.Context, string) (bool, error) {
	if s.pauses == nil {
		return nil
	}
	return s.pauses.Resume
}

func (s *Service) liveMessage() (orchestrator.Feature, error) {
	o := s.opt
	return livemessage.Feature(livemessage.Options{
		Store: o.Store, Records: o.Store, Jobs: o.Store, Projects: o.Projects, Messenger: s.chat(), Cards: s.tracker(), Log: o.Log,
	})
}

func (s *Service) waitComment() (orchestrator.Feature, error) {
	return waitcomment.Feature(waitcomment.Options{Store: s.opt.Store, Jobs: s.opt.Store, Log: s.opt.Log})
}

func (s *Service) serialGate() (f orchestrator.Feature, err error) {
	o := *s.opt.Features.Serial
	o.Store, o.Holds, o.Inspector, o.Projects, o.Log = s.opt.Store, s.opt.Store, s.opt.Store, s.opt.Projects, s.opt.Log
	if s.serial, err = serialgate.New(o); err != nil {
		return f, err
	}
	return s.serial.Feature(), nil
}

func (s *Service) limitWork() (f orchestrator.Feature, err error) {
	o := wip.Options{Store: s.opt.Store, Holds: s.opt.Store, Finder: s.opt.Store, Projects: s.opt.Projects, Log: s.opt.Log}
	if s.serial != nil {
		o.Except, o.Before = s.serial.Covers, s.serial.Repair
	}
	if s.wip, err = wip.New(o); err != nil {
		return f, err
	}
	return s.wip.Feature(), nil
}

func (s *Service) dependencies() (f orchestrator.Feature, err error) {
	o := deps.Options{Store: s.opt.Store, Table: s.opt.Store, Queue: s.opt.Store, Inspector: s.opt.Store, Line: serialgate.Name, Log: s.opt.Log}
	if s.wip != nil {
		o.Changed = s.wip.Look
	}
	if slices.Contains(s.opt.Features.Deps, deps.SourceTracker) {
		o.Relations, o.Items = s.tracker(), s.tracker()
	}
	d, err := deps.New(o)
	if err != nil {
		return f, err
	}
	if slices.Contains(s.opt.Features.Deps, deps.SourceDB) {
		s.deps = d
	}
	return d.Feature(), nil
}

func (s *Service) mergeGate() (f orchestrator.Feature, err error) {
	o := s.opt.Features.Merge
	o.Store, o.Jobs, o.Projects, o.Log = s.opt.Store, s.opt.Store, s.opt.Projects, s.opt.Log
	o.Spaces, o.Leases, o.Host, o.Merge = s.opt.Workspaces, s.opt.Leases, s.host(), s.runners[stage.EffectMerge]
	g, err := mergegate.New(o)
	if err != nil {
		return f, err
	}
	return g.Feature(), nil
}

func (s *Service) monitor() (orchestrator.Feature, error) {
	o := *s.opt.Features.Monitor
	o.Store, o.Projects, o.Jobs, o.Log = s.opt.Store, s.opt.Projects, s.opt.Store, s.opt.Log
	if s.opt.Features.Freeze && s.serial != nil {
		o.Freeze = s.serial.Freeze
	}
	return monitor.Feature(o)
}

func (s *Service) traces() (orchestrator.Feature, error) {
	o := *s.opt.Features.Traces
	o.Store, o.Records = s.opt.Store, s.opt.Store
	return traces.Feature(o)
}

func (s *Service) subscriber() (orchestrator.Feature, error) {
	return subscriber.Feature(*s.opt.Features.Events)
}

func (s *Service) signals() (orchestrator.Feature, error) {
	o := signals.Options{Store: s.opt.Store, Jobs: s.opt.Store, Projects: s.opt.Projects, Log: s.opt.Log}
	if s.budget != nil {
		o.Spent, o.Limit = s.budget.Spent, s.opt.Features.Budget.Caps.RepoDay
	}
	return signals.Feature(o)
}

func (s *Service) remotes() (orchestrator.Feature, error) {
	o := s.opt.Features.Remotes
	o.Projects, o.Host, o.Log = s.opt.Projects, s.host(), s.opt.Log
	return remotes.Feature(o)
}

// polledEvery is how often a board is read whose changes nothing else reports.
const polledEvery = 5 * time.Second

func (s *Service) reconciler() (f orchestrator.Feature, err error) {
	o := *s.opt.Features.Reconcile
	o.Log = s.opt.Log
	if announced := slices.ContainsFunc(s.opt.Web.Sources, func(w web.Source) bool { return w.Tracker != nil }); !announced && s.opt.Dashboard.Cards == nil {
		o.Polled, o.Every = true, cmp.Or(o.Every, polledEvery)
	}
	if !s.opt.Features.Unread {
		o.Tracker, o.Board = s.tracker(), s.boards
	}
	if s.rec, err = reconcile.New(o); err != nil {
		return f, err
	}
	return s.rec.Feature(), nil
}

func (s *Service) capCosts() (f orchestrator.Feature, err error) {
	o := *s.opt.Features.Budget
	o.Store, o.Records, o.Costs, o.Projects, o.Log = s.opt.Store, s.opt.Store, s.opt.Store, s.opt.Projects, s.opt.Log
	o.Queue, o.Inspector = s.opt.Store, s.opt.Store
	if s.budget, err = budget.New(o); err != nil {
		return f, err
	}
	return s.budget.Feature(), nil
}

func (s *Service) retention() (orchestrator.Feature, error) {
	o := s.opt.Features.Retention
	o.Store, o.Jobs, o.Projects, o.Agents, o.Log = s.opt.Store, s.opt.Store, s.opt.Projects, s.opt.Agents, s.opt.Log
	if disk, ok := s.opt.Workspaces.(work.Disk); ok {
		o.Disks = append(slices.Clone(o.Disks), retention.Disk{Disk: disk, Name: "checkouts"})
	}
	if mirrors, ok := s.opt.Workspaces.(work.Mirrors); ok {
		o.Mirrors = mirrors
	}
	if a, ok := s.opt.Agents.(interface{ Marks() work.Disk }); ok {
		o.Disks = append(o.Disks, retention.Disk{Disk: a.Marks(), Name: "marks of runs"})
	}
	if a, ok := s.opt.Agents.(interface{ LogDisk() work.Disk }); ok && s.opt.Features.KeepLogs > 0 {
		o.Disks = append(o.Disks, retention.Disk{Disk: a.LogDisk(), Name: "logs", Keep: s.opt.Features.KeepLogs})
	}
	return retention.Feature(o)
}

// letGo frees what features hold that were switched off since: off is the same as
// without, and nobody else would ever do it.
func (s *Service) letGo(ctx context.Context) error {
	held, err := s.opt.Store.Holds(ctx)
	if err != nil {
		return err
	}
	f := s.opt.Features
	on := map[string]bool{
		serialgate.Name: f.Serial != nil, serialgate.Freeze: f.Serial != nil, wip.Name: f.WIP, wip.Waits: f.WIP, wip.Works: f.WIP,
		deps.Name: len(f.Deps) > 0, deps.Cycle: len(f.Deps) > 0, budget.Name: f.Budget != nil, agentpause.Name: f.AgentPause,
		reconcile.Told: f.Reconcile != nil, reconcile.BrakeTold: f.Reconcile != nil, waitcomment.Name: f.WaitComment,
	}
	var left []queue.Hold
	for _, h := range held {
		if is, known := on[h.Name]; known && !is {
			s.Log.Warn("what a feature held is let go: it is switched off", "feature", h.Name, "held", h.Subject, "why", h.Reason)
			left = append(left, h)
		}
	}
	return s.opt.Store.Free(ctx, left...)
}

// unfreeze is what ends a freeze; nil when there is none.
func (s *Service) unfreeze() func(context.Context, string) (bool, string, error) {
	if s.serial == nil {
		return nil
	}
	return func(ctx context.Context, repo string) (bool, string, error) {
		was, reason, err := s.serial.Unfreeze(ctx, repo)
		if err == nil && was {
			err = s.Engine.TellUnfrozen(ctx, repo, reason)
		}
		return was, reason, err
	}
}
