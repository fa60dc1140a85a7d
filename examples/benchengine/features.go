package main

import (
	"errors"
	"slices"

	"github.com/signalbox-dev/signalbox/examples/wiring"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// gated lists the repositories of the serial gate: every second one. It would let
// none of the measured lives begin beside other tasks.
func (w *world) gated() (list []string) {
	for slot := range w.inflight {
		if !shared(slot) {
			list = append(list, slotRepo(slot))
		}
	}
	for n := range quietRepos {
		if n%2 == 1 {
			list = append(list, quietRepo(n))
		}
	}
	return list
}

func (w *world) isGated(repo string) bool { return w.features && slices.Contains(w.gated(), repo) }

// list makes the features that are on: those of examples/wiring by default, in
// its order and with its settings, before doubles.
func (w *world) list(runners map[stage.EffectKind]orchestrator.Runner) (list []orchestrator.Feature, err error) {
	if !w.features {
		return nil, nil
	}
	s, err := wiring.Load(nil)
	if err != nil {
		return nil, err
	}
	add := func(on bool, f orchestrator.Feature, failed error) {
		if err = errors.Join(err, failed); on {
			list = append(list, f)
		}
	}
	f, failed := stop.Feature(stop.Options{Store: w.store, Projects: w.projects, Workspaces: w.place, Agents: w.place, Log: w.log})
	add(s.StopStatus, f, failed)
	rec, failed := reconcile.New(reconcile.Options{Tracker: w.boards, Board: w.boards, Every: s.ReconcileInterval, Grace: s.ReconcileGrace, Source: "plane", Log: w.log})
	add(s.Reconcile, rec.Feature(), failed)
	f, failed = livemessage.Feature(livemessage.Options{Store: w.store, Records: w.store, Jobs: w.store, Projects: w.projects, Messenger: w.chat, Cards: w.boards, Log: w.log})
	add(s.LiveMessage, f, failed)
	f, failed = waitcomment.Feature(waitcomment.Options{Store: w.store, Jobs: w.store, Log: w.log})
	add(s.WaitComment, f, failed)
	serial, failed := serialgate.New(serialgate.Options{Store: w.store, Holds: w.store, Inspector: w.store, Repos: w.gated(), Log: w.log})
	add(s.SerialGate, serial.Feature(), failed)
	limit, failed := wip.New(wip.Options{Store: w.store, Holds: w.store, Finder: w.store, Projects: w.projects, Except: serial.Covers, Before: serial.Repair, Log: w.log})
	add(s.WIP, limit.Feature(), failed)
	d, failed := deps.New(deps.Options{
		Store: w.store, Table: w.store, Queue: w.store, Inspector: w.store, Relations: w.boards, Items: w.boards, Changed: limit.Look, Log: w.log,
	})
	add(s.TaskDeps, d.Feature(), failed)
	gate, failed := mergegate.New(mergegate.Options{
		Store: w.store, Jobs: w.store, Projects: w.projects, Spaces: w.place, Leases: w.leases, Host: w.host, Merge: runners[stage.EffectMerge],
		Off: !s.MergeGate, Repos: s.MergeGateRepos, OnlyBehind: !s.RebaseAlways, DeferMax: s.MergeDeferMax, DeferDelay: s.MergeDeferDelay, TTL: s.MergeLeaseTTL, LineMax: s.MergeLineMax, Log: w.log,
	})
	add(true, gate.Feature(), failed)
	f, failed = monitor.Feature(monitor.Options{
		Store: w.store, Projects: w.projects, Jobs: w.store, Window: s.MonitorWindow, Interval: s.MonitorInterval, Failures: s.MonitorFailures,
		Freeze: serial.Freeze, Log: w.log,
	})
	add(s.Monitor, f, failed)
	return list, err
}
