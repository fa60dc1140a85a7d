package wiring

import (
	"context"
	"fmt"
	"net/http"
	"slices"

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
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/signals"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/subscriber"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// features are the additive behaviours that are switched on, in order. One that
// is off is not made at all.
func (v *Service) features() (list []orchestrator.Feature, err error) {
	for _, f := range []struct {
		on   bool
		make func() (orchestrator.Feature, error)
	}{
		{v.Settings.StopStatus, v.stop},
		{v.Settings.AgentPause, v.agentPause}, // before those that reserve something for a run
		{v.Settings.Reconcile, v.reconciler},
		{v.Settings.WaitComment, v.waitComment},
		{v.Settings.SerialGate, v.serialGate},
		{v.Settings.WIP, v.wip},
		{v.Settings.TaskDeps, v.deps},
		{true, v.mergeGate},
		{v.Settings.LiveMessage && v.Telegram != nil, v.liveMessage}, // shows what the rules before it have made of a decision
		{v.Settings.EventsURL.IsSet(), v.subscriber},
		{v.Settings.Monitor, v.monitor},
		{true, v.remotes},
		{v.Settings.budgetOn(), v.budget},
		{true, v.retention},
		{true, v.signals},
	} {
		if !f.on {
			continue
		}
		feature, err := f.make()
		if err != nil {
			return nil, err
		}
		list = append(list, feature)
	}
	return list, nil
}

func (v *Service) stop() (orchestrator.Feature, error) {
	return stop.Feature(v.stopOptions())
}

func (v *Service) stopOptions() stop.Options {
	return stop.Options{Store: v.DB, Projects: v.Projects, Workspaces: v.Git, Agents: v.Agents, Log: v.Log, Now: run.Real{}.Now}
}

func (v *Service) agentPause() (f orchestrator.Feature, err error) {
	v.Pauses, err = agentpause.New(agentpause.Options{Store: v.DB, Pauses: v.DB, Projects: v.Projects, Queue: v.DB, Inspector: v.DB, Agents: v.Agents, Log: v.Log})
	if err != nil {
		return f, err
	}
	return v.Pauses.Feature(), nil
}

// resume is what ends the pause of an agent; nil when there is none.
func (v *Service) resume() func(context.Context, string) (bool, error) {
	if v.Pauses == nil {
		return nil
	}
	return v.Pauses.Resume
}

func (v *Service) liveMessage() (orchestrator.Feature, error) {
	return livemessage.Feature(livemessage.Options{
		Store: v.DB, Records: v.DB, Jobs: v.DB, Projects: v.Projects, Messenger: v.chat(), Cards: v.Tracker, Log: v.Log,
	})
}

func (v *Service) waitComment() (orchestrator.Feature, error) {
	return waitcomment.Feature(waitcomment.Options{Store: v.DB, Jobs: v.DB, Log: v.Log})
}

func (v *Service) serialGate() (f orchestrator.Feature, err error) {
	v.Serial, err = serialgate.New(serialgate.Options{Store: v.DB, Holds: v.DB, Inspector: v.DB, Repos: v.Settings.SerialGateRepos, Projects: v.Projects, Log: v.Log})
	if err != nil {
		return f, fmt.Errorf("%sSERIAL_GATE_REPOS: %w", Prefix, err)
	}
	return v.Serial.Feature(), nil
}

func (v *Service) wip() (f orchestrator.Feature, err error) {
	o := wip.Options{Store: v.DB, Holds: v.DB, Finder: v.DB, Projects: v.Projects, Log: v.Log}
	if v.Serial != nil {
		o.Except, o.Before = v.Serial.Covers, v.Serial.Repair
	}
	if v.WIP, err = wip.New(o); err != nil {
		return f, err
	}
	return v.WIP.Feature(), nil
}

func (v *Service) deps() (f orchestrator.Feature, err error) {
	o := deps.Options{Store: v.DB, Table: v.DB, Queue: v.DB, Inspector: v.DB, Line: serialgate.Name, Log: v.Log}
	if v.WIP != nil {
		o.Changed = v.WIP.Look
	}
	if slices.Contains(v.Settings.TaskDepsSource, deps.SourceTracker) {
		o.Relations, o.Items = v.Tracker, v.Tracker
	}
	d, err := deps.New(o)
	if err != nil {
		return f, err
	}
	if slices.Contains(v.Settings.TaskDepsSource, deps.SourceDB) {
		v.Deps = d
	}
	return d.Feature(), nil
}

func (v *Service) mergeGate() (f orchestrator.Feature, err error) {
	s := v.Settings
	g, err := mergegate.New(mergegate.Options{
		Store: v.DB, Jobs: v.DB, Projects: v.Projects, Spaces: v.Git, Leases: v.Leases, Host: v.host(), Merge: v.runners()[stage.EffectMerge],
		Off: !s.MergeGate, Repos: s.MergeGateRepos, OnlyBehind: !s.RebaseAlways, DeferMax: s.MergeDeferMax, DeferDelay: s.MergeDeferDelay, TTL: s.MergeLeaseTTL, Log: v.Log,
	})
	if err != nil {
		return f, err
	}
	return g.Feature(), nil
}

func (v *Service) monitor() (orchestrator.Feature, error) {
	s := v.Settings
	o := monitor.Options{
		Store: v.DB, Projects: v.Projects, Jobs: v.DB, Window: s.MonitorWindow, Interval: s.MonitorInterval, Failures: s.MonitorFailures, Log: v.Log,
	}
	if s.Freezes && v.Serial != nil {
		o.Freeze = v.Serial.Freeze
	}
	return monitor.Feature(o)
}

func (v *Service) subscriber() (orchestrator.Feature, error) {
	s := v.Settings
	f, err := subscriber.Feature(subscriber.Options{
		URL: s.EventsURL.Reveal(), Source: s.publicURL(), Secret: []byte(s.EventsSecret.Reveal()), Client: &http.Client{Timeout: s.CallTimeout},
	})
	if err != nil {
		return f, fmt.Errorf("%sEVENTS_URL: want an address such as https://example.org/events", Prefix) // err may hold a token
	}
	return f, nil
}

func (v *Service) signals() (orchestrator.Feature, error) {
	o := signals.Options{Store: v.DB, Jobs: v.DB, Projects: v.Projects, Log: v.Log}
	if v.Budget != nil {
		o.Spent, o.Limit = v.Budget.Spent, int64(v.Settings.BudgetRepoDay)
	}
	return signals.Feature(o)
}

func (v *Service) remotes() (orchestrator.Feature, error) {
	return remotes.Feature(remotes.Options{Projects: v.Projects, Host: v.host(), Every: v.Settings.GitPoll, Log: v.Log})
}

func (v *Service) reconciler() (f orchestrator.Feature, err error) {
	o := reconcile.Options{Every: v.Settings.ReconcileInterval, Grace: v.Settings.ReconcileGrace, Source: v.Settings.Tracker, Log: v.Log}
	if v.Settings.ReconcileTracker {
		o.Tracker, o.Board = v.Tracker, v.boards
	}
	if v.Rec, err = reconcile.New(o); err != nil {
		return f, err
	}
	return v.Rec.Feature(), nil
}

// letGo frees what features hold that were switched off since: off is the same as
// without, and nobody else would ever do it.
func (v *Service) letGo(ctx context.Context) error {
	held, err := v.DB.Holds(ctx)
	if err != nil {
		return err
	}
	on := map[string]bool{
		serialgate.Name: v.Settings.SerialGate, serialgate.Freeze: v.Settings.SerialGate,
		wip.Name: v.Settings.WIP, wip.Waits: v.Settings.WIP, wip.Works: v.Settings.WIP,
		deps.Name: v.Settings.TaskDeps, deps.Cycle: v.Settings.TaskDeps, budget.Name: v.Settings.budgetOn(), agentpause.Name: v.Settings.AgentPause,
		reconcile.Told: v.Settings.Reconcile, reconcile.BrakeTold: v.Settings.Reconcile, waitcomment.Name: v.Settings.WaitComment,
	}
	var left []queue.Hold
	for _, h := range held {
		if is, known := on[h.Name]; known && !is {
			v.Log.Warn("what a feature held is let go: it is switched off", "feature", h.Name, "held", h.Subject, "why", h.Reason)
			left = append(left, h)
		}
	}
	return v.DB.Free(ctx, left...)
}

// unfreeze is what ends a freeze; nil when there is none.
func (v *Service) unfreeze() func(context.Context, string) (bool, string, error) {
	if v.Serial == nil {
		return nil
	}
	return func(ctx context.Context, repo string) (bool, string, error) {
		was, reason, err := v.Serial.Unfreeze(ctx, repo)
		if err == nil && was {
			err = v.Engine.TellUnfrozen(ctx, repo, reason)
		}
		return was, reason, err
	}
}
