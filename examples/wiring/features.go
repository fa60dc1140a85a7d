package wiring

import (
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/remotes"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/subscriber"
	"github.com/signalbox-dev/signalbox/orchestrator/features/traces"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
)

// features are those that the settings switch on.
func (s Settings) features() *service.Features {
	f := &service.Features{
		Stop: s.StopStatus, Work: s.WorkDone, AgentPause: s.AgentPause, WaitComment: s.WaitComment, LiveMessage: s.LiveMessage, WIP: s.WIP, Freeze: s.Freezes, Unread: !s.ReconcileTracker,
		Merge: mergegate.Options{
			Off: !s.MergeGate, Repos: s.MergeGateRepos, OnlyBehind: !s.RebaseAlways, DeferMax: s.MergeDeferMax, DeferDelay: s.MergeDeferDelay, TTL: s.MergeLeaseTTL, LineMax: s.MergeLineMax,
		},
		Remotes:   remotes.Options{Every: s.GitPoll},
		Retention: retention.Options{KeepJobs: time.Duration(s.KeepJobs), KeepDeliveries: time.Duration(s.KeepDeliveries), KeepLeft: time.Duration(s.KeepLeft)},
		KeepLogs:  time.Duration(s.KeepLogs),
	}
	if s.SerialGate {
		f.Serial = &serialgate.Options{Repos: s.SerialGateRepos}
	}
	if s.TaskDeps {
		f.Deps = s.TaskDepsSource
	}
	if s.Reconcile {
		f.Reconcile = &reconcile.Options{Every: s.ReconcileInterval, Grace: s.ReconcileGrace, Source: s.Tracker}
	}
	if s.Monitor {
		f.Monitor = &monitor.Options{Window: s.MonitorWindow, Interval: s.MonitorInterval, Failures: s.MonitorFailures}
	}
	if s.EventsURL.IsSet() {
		f.Events = &subscriber.Options{URL: s.EventsURL.Reveal(), Source: s.publicURL(), Secret: []byte(s.EventsSecret.Reveal()), Client: &http.Client{Timeout: s.CallTimeout}}
	}
	if s.OTLPURL.IsSet() {
		f.Traces = &traces.Options{URL: s.OTLPURL.Reveal(), Headers: s.otlpHeaders(), Client: &http.Client{Timeout: s.CallTimeout}}
	}
	if s.budgetOn() {
		f.Budget = &budget.Options{Price: s.priceOf, Caps: budget.Caps{Task: int64(s.BudgetTask), RepoDay: int64(s.BudgetRepoDay), Run: int64(s.BudgetRun)}}
	}
	return f
}

// otlpHeaders are name=value pairs with commas between them.
func (s Settings) otlpHeaders() map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(s.OTLPHeaders.Reveal(), ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			out[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return out
}

func (s Settings) checkEvents(wrong func(name, format string, args ...any)) {
	if f := s.features().Traces; f != nil && f.Check() != nil {
		wrong("OTLP_URL", "is no address such as http://127.0.0.1:4318") // what it is may hold a key
	}
	if f := s.features().Events; f != nil {
		if _, err := subscriber.Feature(*f); err != nil {
			wrong("EVENTS_URL", "is no address such as https://example.org/events") // what it is may hold a token
		}
	}
}
