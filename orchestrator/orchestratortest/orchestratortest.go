// Package orchestratortest tests gates, features and settings with a whole engine: the
// engine is the real one, and everything around it (store, board, git host, chat,
// workspaces and agents) is a double in memory. The clock is that of a testing/synctest
// bubble, so an hour takes no time and a test gives the same result each time.
//
// A test moves cards as a person does, lets time pass and reads what has become of them:
//
//	func TestMyFeature(t *testing.T) {
//		orchestratortest.Run(t, func(r *orchestratortest.Rig) {
//			r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{mine(r.Store)} }
//		}, func(r *orchestratortest.Rig) {
//			item := r.Card(orchestratortest.App, "Cache the tiles")
//			r.ToDone(orchestratortest.App, item)
//			require.Equal(r, stage.Done, r.Task(item).State.Stage)
//		})
//	}
//
// The package imports testing: only tests import it, of this module and of programs that
// embed the engine. It imports no feature, so that each feature's own tests can use it.
package orchestratortest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// The two projects that a rig begins with: App is the tracker's project of a common
// repository, Self that of the service's own, whose deployments a person confirms.
const (
	App      = "p-app"
	Self     = "p-self"
	AppRepo  = "acme/app"
	selfRepo = "acme/self"
)

// Rig is an engine with doubles around it in one synctest bubble. It is the bubble's
// *testing.T as well, so that it can be given to assertions.
type Rig struct {
	*testing.T
	Store  *memstore.Store
	Board  *memtracker.Board
	Host   *memhost.Host
	Chat   *memmessenger.Chat
	Place  *memwork.Place       // workspaces and agents; its script is GoodAgent
	Engine *orchestrator.Engine // of the newest Start

	// What follows is read by Start: a change takes effect with the next engine.

	Options  orchestrator.Options
	Projects []task.Project
	Registry *task.Projects // nil = made of Projects
	Pipeline stage.Pipeline // without stages = stage.Default
	// Features makes the features of an engine, anew at each start as a new process would;
	// nil = none.
	Features func() []orchestrator.Feature
	Tracker  orchestrator.Tracking    // in the place of the board, for engine and effects; nil = the board
	Deps     func(*orchestrator.Deps) // changes what the engine is made with; nil = nothing
	Effects  func(*effects.Deps)      // changes what the effects are made with; nil = nothing

	running []func() // each ends an engine and waits for it

	mu sync.Mutex
	ci githost.CheckState
	n  int // cards and deliveries
}

// Run makes a rig in a synctest bubble, starts its engine and calls test. When that
// returns, all engines are ended. Prepare changes the rig before the start; nil = nothing.
func Run(t *testing.T, prepare, test func(*Rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &Rig{
			T: t, Store: memstore.New(nil), Board: memtracker.New(nil), Host: memhost.New(),
			Chat: memmessenger.New(), Place: memwork.New(GoodAgent),
			Options: orchestrator.Options{JobTTL: 30 * time.Second, StatusDefer: 100 * time.Millisecond},
		}
		r.Projects = []task.Project{
			{TrackerProject: App, Repo: AppRepo, CloneURL: "u", Prefix: "APP", Main: "main", WebURL: "https://git.example.org/acme/app"},
			{TrackerProject: Self, Repo: selfRepo, CloneURL: "u", Prefix: "SLF", Main: "main", SelfHosting: true},
		}
		r.Board.AddProject(App)
		r.Board.AddProject(Self)
		r.Place.OnPush = r.Pushed
		r.Host.Push(AppRepo, "main", "base")
		r.Host.Push(selfRepo, "main", "base")
		r.SetCI(githost.CheckPassed)
		if prepare != nil {
			prepare(r)
		}
		r.Start()
		r.Cleanup(r.Shutdown)
		test(r)
	})
}

// Parts are those of features, by the registry of now; a host is in the place of the rig's.
func (r *Rig) Parts(host ...orchestrator.Hosting) orchestrator.Parts {
	r.Helper()
	projects, err := r.Registry, error(nil)
	if projects == nil {
		projects, err = task.NewProjects(r.Projects...)
	}
	require.NoError(r, err)
	return orchestrator.Parts{Store: r.Store, Projects: projects, Host: append(host, r.Host)[0], Workspaces: r.Place, Agents: r.Place}
}

// Start makes an engine over what is there, as a new process would, and runs it. While
// another one still runs it is a second process beside that.
func (r *Rig) Start() {
	r.Helper()
	projects := r.Parts().Projects
	board := r.Tracker
	if board == nil {
		board = r.Board
	}
	with := effects.Deps{
		Store: r.Store, Jobs: r.Store, Projects: projects, Tracker: board, Host: r.Host,
		Messenger: r.Chat, Workspaces: r.Place, Agents: r.Place,
	}
	if r.Effects != nil {
		r.Effects(&with)
	}
	deps := orchestrator.Deps{
		Store: r.Store, Records: r.Store, Jobs: r.Store, Projects: projects,
		Tracker: board, Host: r.Host, Workspaces: r.Place, Agents: r.Place,
		Gates: checks.All(nil), Runners: effects.Runners(with),
	}
	if r.Deps != nil {
		r.Deps(&deps)
	}
	var features []orchestrator.Feature
	if r.Features != nil {
		features = r.Features()
	}
	pipeline := r.Pipeline
	if pipeline.Stages == nil {
		pipeline = stage.Default()
	}
	engine, err := orchestrator.New(pipeline, deps, r.Options, features...)
	require.NoError(r, err)
	r.Engine = engine
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	r.running = append(r.running, func() { stop(); <-stopped })
	go func() {
		defer close(stopped)
		engine.Run(ctx)
	}()
}

// Shutdown ends what Start has started, as the end of the processes would: agents at work
// are ended too. What is in the store stays.
func (r *Rig) Shutdown() {
	for _, end := range r.running {
		end()
	}
	r.running = nil
}

// Settle lets time pass, and then waits until everything that is due is done.
func (r *Rig) Settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// SetCI makes CI report the same state of every commit that is pushed from now on; an
// empty state reports nothing. It is CheckPassed at first.
func (r *Rig) SetCI(s githost.CheckState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ci = s
}

// Pushed does what the git host does when it sees a new head: it runs CI. It is the
// OnPush of the place, for tests that put a function of their own before it.
func (r *Rig) Pushed(repo, branch, sha string) {
	r.Host.Push(repo, branch, sha)
	r.mu.Lock()
	state := r.ci
	r.mu.Unlock()
	if state != "" {
		r.Host.SetChecks(sha, githost.Check{Name: "build", State: state, Kind: "check_run"})
	}
}
