package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Options of a service. Those up to Leases are required; the caller closes what it has opened.
type Options struct {
	Store      Store
	Projects   *task.Projects
	Tracker    Tracker
	Host       orchestrator.Hosting // githost.Plain, Details and Commenter of it are used where it has them
	Workspaces workspaces
	Agents     work.Agents
	Leases     lease.Locker

	Pipeline  *stage.Pipeline     // nil = stage.Default
	Messenger messenger.Messenger // nil = notices are only logged
	Gates     []gates.Gate        // nil = checks.All
	Commands  gates.Commands      // of projects; nil = none can be run
	Hooks     work.Hooks          // of projects, in checkouts; nil = none is run
	Probe     orchestrator.Prober // of deployments; nil = none can be read
	Logs      logs                // of agents, CI and hooks; nil = none are kept
	Meter     orchestrator.Meter  // nil = nothing is measured
	Redactor  *secret.Redactor    // of what is kept, written to others and answered; nil = nothing is hidden
	Log       *slog.Logger        // nil discards

	Engine   orchestrator.Options // without a Worker the host and the process are named
	Features *Features            // nil = DefaultFeatures
	Further  []orchestrator.Feature

	// Identify reads which accounts of a tracker are the service's own, by the name that the
	// registry has for the tracker; empty = the first. Each is called until it succeeds.
	Identify map[string]func(context.Context) error
	// Mend tells a person in the imperative what to do when a neighbour refuses the service: host or board of
	// a project, or webhooks of a source, which is the Project's Host then. Nil = signalbox doctor is named.
	Mend func(of string, p task.Project) string
	// Reread reads the project registry again, for Service.Reload; nil = it is never read again.
	Reread func(context.Context) (*task.Projects, error)

	// Listen is the address of Serve, such as 127.0.0.1:8080. Without Web.Access this machine may
	// read where it is a loopback address; all else needs a token of Store.
	Listen string
	// Web has what the handler gets beside the parts of the service, which are filled in.
	Web web.Options
	// Dashboard has what the pages get beside the parts of the service, which are filled in.
	Dashboard   dashboard.Options
	NoDashboard bool
	Pages       string                  // address of the dashboard as people reach it, for links in comments; empty = there are none
	HooksApart  bool                    // webhooks are served by Service.Hooks alone
	Beside      map[string]http.Handler // further handlers, by the path that they serve with all below it
	Proxies     []limit.Trusted         // whose X-Forwarded-For is believed
}

// Features are the additive behaviours of a service; see package features.
type Features = features.Set

// DefaultFeatures are the features of the reference server where nothing is set.
func DefaultFeatures() *Features {
	set := features.Default()
	return &set
}

// Store keeps tasks, their story and the queue, which share transactions: adapters/sqlite and
// adapters/postgres, or memstore, which forgets.
type Store interface {
	orchestrator.Keeping
	task.History
}

// Tracker is the board. What is beside these in package tracker (Log, People, Linker, Editor,
// Relations, Recent, Budgeted) is used where it has it.
type Tracker interface {
	orchestrator.Tracking
	tracker.Board
}

// workspaces are the places of work: adapters/gitcli, or memwork.
type workspaces = orchestrator.Spaces

// logs keeps logs and shows them: adapters/agentcli.
type logs interface {
	work.Logs
	work.LogWriter
}

func (o *Options) check() error {
	for _, one := range []struct {
		name    string
		missing bool
	}{
		{"Store", o.Store == nil}, {"Projects", o.Projects == nil}, {"Tracker", o.Tracker == nil}, {"Host", o.Host == nil},
		{"Workspaces", o.Workspaces == nil}, {"Agents", o.Agents == nil}, {"Leases", o.Leases == nil},
	} {
		if one.missing {
			return fmt.Errorf("service: Options.%s is required", one.name)
		}
	}
	if o.Gates == nil {
		o.Gates = checks.All(nil)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Mend == nil {
		o.Mend = func(string, task.Project) string { return "Run signalbox doctor: it says what is wrong" }
	}
	if o.Web.Access == nil {
		tokens, _ := o.Store.(access.Store) // nil: one that is empty
		o.Web.Access = access.New(access.Options{Store: tokens, Local: access.IsLoopback(o.Listen), Log: o.Log})
	}
	set := *cmp.Or(o.Features, DefaultFeatures())
	o.Features = &set
	if _, edits := o.Tracker.(tracker.Editor); !edits { // the one comment is edited
		set.WaitComment = false
	}
	if o.Engine.Worker == "" {
		host, err := os.Hostname()
		if err != nil {
			return errors.Join(errors.New("service: this machine has no name for Options.Engine.Worker"), err)
		}
		o.Engine.Worker = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	return nil
}
