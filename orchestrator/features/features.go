// Package features is the table of the additive behaviours: which there are, the order in which
// they see a decision, what switches and tunes each of them, and what a program has to give them.
// One that is off is not made at all.
package features

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/features/afterdone"
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
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Set switches and tunes the features. Its tags are their settings. What the options of a feature
// need beside these, such as stores, comes from Parts.
type Set struct {
	AfterDone bool `env:"AFTER_DONE_ENABLED" envDefault:"true" doc:"a done card still answers: To Analyse opens a follow-up, undo takes the change back"`

	WaitComment bool `env:"WAIT_COMMENT_ENABLED" envDefault:"true" doc:"one comment on each card that waits says what for"`
	LiveMessage bool `env:"LIVE_MESSAGE_ENABLED" envDefault:"true" doc:"one chat message for each task shows where it stands"`
	Stop        bool `env:"STOP_STATUS_ENABLED" envDefault:"true" doc:"STOP on the board cancels a task"`
	// Work is checks.WorkDone, which the engine judges by.
	Work          bool `env:"WORK_DONE_ENABLED" envDefault:"true" doc:"a task whose branch changes nothing but its own documents leaves development by a person's word alone"`
	Serial        bool `env:"SERIAL_GATE_ENABLED" envDefault:"true" doc:"one task of a repository begins at a time"`
	SerialGate    serialgate.Options
	WIP           bool     `env:"WIP_ENABLED" envDefault:"true" doc:"where the serial gate is not, so many tasks of a repository are in work at a time as the registry's wip says"`
	Deps          bool     `env:"TASK_DEPS_ENABLED" envDefault:"true" doc:"a task waits for the tasks that it depends on"`
	DepsSource    []string `env:"TASK_DEPS_SOURCE" envDefault:"db,tracker" oneof:"db,tracker" doc:"where dependencies are: db (the local table), tracker (relations of cards) or both"`
	Dependencies  deps.Options
	Merge         bool `env:"MERGE_GATE_ENABLED" envDefault:"true" doc:"a branch is brought up to date and tested again before it is merged; false: only one that is behind main"`
	RebaseAlways  bool `env:"PREMERGE_REBASE_ALWAYS" envDefault:"true" doc:"make branches straight even when they have all of main"`
	MergeGate     mergegate.Options
	Reconcile     bool `env:"RECONCILE_ENABLED" envDefault:"true" doc:"lost events are found and replayed"`
	ReadBoards    bool `env:"RECONCILE_TRACKER_ENABLED" envDefault:"true" doc:"the reconciler reads boards too"`
	Reconciler    reconcile.Options
	Remotes       remotes.Options
	Monitor       bool `env:"MONITOR_ENABLED" envDefault:"true" doc:"what was deployed is looked at for a while"`
	Watch         monitor.Options
	Freeze        bool         `env:"SERIAL_GATE_FREEZE_ENABLED" envDefault:"true" doc:"a degraded deployment freezes its repository"`
	BudgetTask    work.Dollars `env:"BUDGET_TASK_USD" envDefault:"0" doc:"what a task may cost in dollars; 0: no cap"`
	BudgetRepoDay work.Dollars `env:"BUDGET_REPO_DAY_USD" envDefault:"0" doc:"what the tasks of a repository may cost on one day (UTC); 0: no cap"`
	BudgetRun     work.Dollars `env:"BUDGET_RUN_USD" envDefault:"1.00" doc:"what a run is taken to cost until it is known, where there is a cap"`
	Budget        budget.Options
	AgentPause    bool `env:"AGENT_PAUSE_ENABLED" envDefault:"true" doc:"an agent that cannot work for any task (login, credit, limits) is paused for all, with one notice, in the place of failures of each task"`
	Retention     retention.Options
	Signals       signals.Options
	Events        subscriber.Options
	Traces        traces.Options
}

// capsCosts reports whether there is a cap of what agents cost.
func (s Set) capsCosts() bool { return s.BudgetTask > 0 || s.BudgetRepoDay > 0 }

// Default is the set of the reference server where nothing is set.
func Default() Set {
	const day = retention.Span(24 * time.Hour)
	return Set{
		Stop: true, AfterDone: true, Work: true, AgentPause: true, WaitComment: true, LiveMessage: true, Serial: true, WIP: true,
		Freeze: true, Merge: true, RebaseAlways: true, Reconcile: true, ReadBoards: true, Monitor: true,
		Deps: true, DepsSource: []string{deps.SourceDB, deps.SourceTracker},
		Retention: retention.Options{KeepJobs: 30 * day, KeepDeliveries: 90 * day, KeepLeft: 90 * day, KeepLogs: 30 * day},
	}
}

// fullTracker is the board. Its tracker.Relations and tracker.Linker are used where it has them.
type fullTracker interface {
	orchestrator.Tracking
	tracker.Board
}

// Parts holds what a program gives its features.
type Parts struct {
	orchestrator.Parts

	Tracker   fullTracker
	Sources   []string            // as of reconcile.Options
	Cards     cards.Reader        // nil = people put no order to them
	Messenger messenger.Messenger // nil = no feature sends live messages
	Dress     messenger.Dress     // of livemessage.Options, as Work
	Work      func(ctx context.Context, taskID int64) (string, error)
	Leases    lease.Locker
	Merger    orchestrator.Runner // of stage.EffectMerge
}

// Made are the features that are on, in order, and those that a program has to do with; these are nil when they
// are off.
type Made struct {
	List       []orchestrator.Feature
	Serial     *serialgate.Gate
	Pauses     *agentpause.Pauses
	Deps       *deps.Deps // nil without the local table, too
	Reconciler *reconcile.Reconciler

	budget *budget.Budget
}

// Make makes the features of a set that are on.
func (s Set) Make(p Parts) (*Made, error) {
	if err := p.Complete("features"); err != nil {
		return nil, err
	}
	for _, parts := range []*orchestrator.Parts{
		&s.SerialGate.Parts, &s.Dependencies.Parts, &s.MergeGate.Parts, &s.Traces.Parts, &s.Watch.Parts, &s.Remotes.Parts,
		&s.Budget.Parts, &s.Retention.Parts, &s.Signals.Parts,
	} {
		*parts = p.Parts
	}
	m := &Made{}
	for _, one := range []struct {
		on   bool
		make func(Set, Parts) (orchestrator.Feature, error)
	}{
		{s.Stop, func(_ Set, p Parts) (orchestrator.Feature, error) { return stop.Feature(p.Parts) }},
		{!s.Stop, func(_ Set, p Parts) (orchestrator.Feature, error) { return stop.Owed(p.Parts) }},
		{s.AfterDone, afterDone},
		{s.AgentPause, m.agentPause}, // before those that reserve something for a run
		{s.Reconcile, m.reconciler},
		{s.WaitComment, func(_ Set, p Parts) (orchestrator.Feature, error) { return waitcomment.Feature(p.Parts) }},
		{s.Serial, m.serialGate},
		{s.WIP, m.limitWork},
		{s.Deps && len(s.DepsSource) > 0, m.dependencies},
		{true, mergeGate},
		{s.LiveMessage && p.Messenger != nil, liveMessage}, // shows what the rules before it have made of a decision
		{s.Events.URL.IsSet(), func(s Set, _ Parts) (orchestrator.Feature, error) { return subscriber.Feature(s.Events) }},
		{s.Traces.URL.IsSet(), func(s Set, _ Parts) (orchestrator.Feature, error) { return traces.Feature(s.Traces) }},
		{s.Monitor, m.monitor},
		{true, func(s Set, _ Parts) (orchestrator.Feature, error) { return remotes.Feature(s.Remotes) }},
		{s.capsCosts(), m.capCosts},
		{true, prune},
		{true, m.signals},
	} {
		if !one.on {
			continue
		}
		feature, err := one.make(s, p)
		if err != nil {
			return nil, err
		}
		m.List = append(m.List, feature)
	}
	return m, nil
}

func afterDone(s Set, p Parts) (orchestrator.Feature, error) {
	return afterdone.Feature(afterdone.Options{Parts: p.Parts, Freeze: s.Freeze && s.Serial})
}

// made is the feature of what was made.
func made(of interface{ Feature() orchestrator.Feature }, err error) (f orchestrator.Feature, _ error) {
	if err == nil {
		f = of.Feature()
	}
	return f, err
}

func (m *Made) agentPause(_ Set, p Parts) (_ orchestrator.Feature, err error) {
	m.Pauses, err = agentpause.New(p.Parts)
	return made(m.Pauses, err)
}

// polledEvery is how often a board is read whose changes nothing else reports.
const polledEvery = 5 * time.Second

func (m *Made) reconciler(s Set, p Parts) (_ orchestrator.Feature, err error) {
	o := s.Reconciler
	o.Log, o.Now, o.Sources, o.AfterDone = p.Log, p.Now, p.Sources, s.AfterDone
	if len(p.Sources) == 0 && o.Every == 0 {
		o.Every = polledEvery
	}
	if s.ReadBoards {
		o.Tracker, o.Board = p.Tracker, p.Tracker
	}
	m.Reconciler, err = reconcile.New(o)
	return made(m.Reconciler, err)
}

func (m *Made) serialGate(s Set, _ Parts) (_ orchestrator.Feature, err error) {
	m.Serial, err = serialgate.New(s.SerialGate)
	return made(m.Serial, err)
}

func (m *Made) limitWork(_ Set, p Parts) (orchestrator.Feature, error) {
	o := wip.Options{Parts: p.Parts, Cards: p.Cards}
	if m.Serial != nil {
		o.Except = m.Serial.Covers
	}
	return made(wip.New(o))
}

func (m *Made) dependencies(s Set, p Parts) (orchestrator.Feature, error) {
	o := s.Dependencies
	o.Line = serialgate.Name
	if relations, has := p.Tracker.(tracker.Relations); has && slices.Contains(s.DepsSource, deps.SourceTracker) {
		o.Relations, o.Items = relations, p.Tracker
	}
	d, err := deps.New(o)
	if slices.Contains(s.DepsSource, deps.SourceDB) {
		m.Deps = d
	}
	return made(d, err)
}

func mergeGate(s Set, p Parts) (orchestrator.Feature, error) {
	o := s.MergeGate
	o.Off, o.OnlyBehind, o.Leases, o.Merge = !s.Merge, !s.RebaseAlways, p.Leases, p.Merger
	return made(mergegate.New(o))
}

func liveMessage(_ Set, p Parts) (orchestrator.Feature, error) {
	o := livemessage.Options{Parts: p.Parts, Messenger: p.Messenger, Dress: p.Dress, Work: p.Work}
	o.Cards, _ = p.Tracker.(tracker.Linker)
	return livemessage.Feature(o)
}

func (m *Made) monitor(s Set, _ Parts) (orchestrator.Feature, error) {
	o := s.Watch
	if s.Freeze && m.Serial != nil {
		o.Freeze = m.Serial.Freeze
	}
	return monitor.Feature(o)
}

func (m *Made) capCosts(s Set, _ Parts) (_ orchestrator.Feature, err error) {
	o := s.Budget
	o.Caps = budget.Caps{Task: int64(s.BudgetTask), RepoDay: int64(s.BudgetRepoDay), Run: int64(s.BudgetRun)}
	m.budget, err = budget.New(o)
	return made(m.budget, err)
}

func prune(s Set, p Parts) (orchestrator.Feature, error) {
	o := s.Retention
	if disk, ok := p.Workspaces.(work.Disk); ok {
		o.Disks = append(slices.Clone(o.Disks), retention.Disk{Disk: disk, Name: "checkouts"})
	}
	if mirrors, ok := p.Workspaces.(work.Mirrors); ok {
		o.Mirrors = mirrors
	}
	if a, ok := p.Agents.(interface{ Marks() work.Disk }); ok {
		o.Disks = append(o.Disks, retention.Disk{Disk: a.Marks(), Name: "marks of runs"})
	}
	if a, ok := p.Agents.(interface{ LogDisk() work.Disk }); ok && o.KeepLogs > 0 {
		o.Disks = append(o.Disks, retention.Disk{Disk: a.LogDisk(), Name: "logs", Keep: time.Duration(o.KeepLogs)})
	}
	return retention.Feature(o)
}

func (m *Made) signals(s Set, _ Parts) (orchestrator.Feature, error) {
	o := s.Signals
	o.Pauses = m.Pauses != nil
	if m.budget != nil {
		o.Spent, o.Limit = m.budget.Spent, int64(s.BudgetRepoDay)
	}
	return signals.Feature(o)
}

// LetGo frees what features hold that were switched off since, and forgets their facts: off is the
// same as without, and nobody else would ever do it.
func (s Set) LetGo(ctx context.Context, store orchestrator.Keeping, log *slog.Logger) error {
	held, err := store.Holds(ctx)
	if err != nil {
		return err
	}
	on := map[string]bool{
		serialgate.Name: s.Serial, serialgate.Freeze: s.Serial, wip.Name: s.WIP,
		deps.Name: s.Deps, deps.Cycle: s.Deps, budget.Name: s.capsCosts(), agentpause.Name: s.AgentPause,
		afterdone.Freeze: s.AfterDone,
	}
	var c task.Commit
	for _, h := range held {
		_, _, row := admit.Parse(h.Subject)
		name, _, _ := strings.Cut(h.Name, "/")
		is, known := on[name]
		freezes := name == serialgate.Freeze || name == afterdone.Freeze
		if known && (!is || !row && !freezes) { // before there were rules, other subjects were held
			log.Warn("what a feature held is let go: it is off, or holds otherwise", "feature", h.Name, "held", h.Subject, "why", h.Reason)
			c.Free = append(c.Free, h)
		}
	}
	for kind, is := range map[task.FactKind]bool{
		orchestrator.FactFreeze: s.Serial, wip.Works: s.WIP, "place_wait": false,
		reconcile.Told: s.Reconcile, reconcile.BrakeTold: s.Reconcile, orchestrator.FactWait: s.WaitComment,
	} {
		if is {
			continue
		}
		facts, err := store.Facts(ctx, task.Fact{Kind: kind}, 0)
		if err != nil {
			return err
		}
		c.Over = append(c.Over, facts...)
	}
	if len(c.Free)+len(c.Over) == 0 {
		return nil
	}
	return store.Commit(ctx, c)
}
