package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// Projects of the rig.
const (
	appProject  = "p-app"
	selfProject = "p-self"
	appRepo     = "acme/app"
	selfRepo    = "acme/self"
)

// rig is an engine with everything around it in memory, under a clock that
// jumps. It lives in one synctest bubble.
type rig struct {
	*testing.T
	store  *memstore.Store
	board  *memtracker.Board
	host   *memhost.Host
	chat   *memmessenger.Chat
	place  *memwork.Place
	engine *orchestrator.Engine
	opt    orchestrator.Options
	// features makes the features of an engine; nil = none.
	features func() []orchestrator.Feature
	project  []orchestrator.Project
	projects *orchestrator.Projects // nil = made of project
	tracker  orchestrator.Tracking  // nil = the board
	decides  orchestrator.Store     // what the engine decides on; nil = the store
	log      *slog.Logger           // nil discards
	meter    orchestrator.Meter
	commands gates.Commands
	gates    []gates.Gate        // besides the built-in ones
	around   func(*effects.Deps) // changes what effects are made with; nil = nothing

	stop    context.CancelFunc
	stopped chan struct{}

	mu sync.Mutex
	ci func(files map[string]bool) githost.CheckState
	n  int
}

// run runs a test in a bubble with a fresh rig whose engine works.
func run(t *testing.T, f func(*rig)) {
	t.Helper()
	runWith(t, nil, f)
}

func runWith(t *testing.T, change func(*rig), f func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{
			T: t, store: memstore.New(nil), board: memtracker.New(nil), host: memhost.New(), chat: memmessenger.New(), place: memwork.New(goodAgent),
			opt: orchestrator.Options{JobTTL: 30 * time.Second, StatusDefer: 100 * time.Millisecond},
		}
		r.project = []orchestrator.Project{
			{TrackerProject: appProject, Repo: appRepo, CloneURL: "u", Prefix: "APP", Main: "main", WebURL: "https://git.example.org/acme/app"},
			{TrackerProject: selfProject, Repo: selfRepo, CloneURL: "u", Prefix: "SLF", Main: "main", SelfHosting: true},
		}
		r.board.AddProject(appProject)
		r.board.AddProject(selfProject)
		r.place.OnPush = r.pushed
		r.host.Push(appRepo, "main", "base")
		r.host.Push(selfRepo, "main", "base")
		r.setCI(githost.CheckPassed)
		if change != nil {
			change(r)
		}
		r.start()
		r.Cleanup(func() { r.shutdown() })
		f(r)
	})
}

// setCI makes CI say the same of every commit from now on; an empty state says
// nothing.
func (r *rig) setCI(s githost.CheckState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ci = func(map[string]bool) githost.CheckState { return s }
}

// pushed is the git host: it sees the head and runs CI.
func (r *rig) pushed(repo, branch, sha string) {
	r.host.Push(repo, branch, sha)
	r.mu.Lock()
	state := r.ci(nil)
	r.mu.Unlock()
	if state != "" {
		r.host.SetChecks(sha, githost.Check{Name: "build", State: state, Kind: "check_run"})
	}
}

// start makes an engine over what is there, as a new process would.
func (r *rig) start() {
	r.Helper()
	projects, err := r.projects, error(nil)
	if projects == nil {
		projects, err = orchestrator.NewProjects(r.project...)
	}
	require.NoError(r, err)
	board := r.tracker
	if board == nil {
		board = r.board
	}
	store := r.decides
	if store == nil {
		store = r.store
	}
	with := effects.Deps{
		Store: r.store, Jobs: r.store, Projects: projects, Tracker: board, Host: r.host, Messenger: r.chat, Workspaces: r.place, Agents: r.place,
	}
	if r.around != nil {
		r.around(&with)
	}
	r.engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Log: r.log, Meter: r.meter, Commands: r.commands, Store: store, Story: r.store, Jobs: r.store, Projects: projects, Tracker: board, Host: r.host, Workspaces: r.place, Agents: r.place,
		Gates:   append(checks.All(nil), r.gates...),
		Runners: effects.Runners(with),
	}, r.opt, r.list()...)
	require.NoError(r, err)
	ctx, stop := context.WithCancel(context.Background())
	stopped, engine := make(chan struct{}), r.engine
	r.stop, r.stopped = stop, stopped
	go func() {
		defer close(stopped)
		engine.Run(ctx)
	}()
}

func (r *rig) list() []orchestrator.Feature {
	if r.features == nil {
		return nil
	}
	return r.features()
}

func (r *rig) shutdown() {
	r.stop()
	<-r.stopped
}

// settle lets time pass until everything that is due is done.
func (r *rig) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// next counts cards and deliveries.
func (r *rig) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return r.n
}

// card puts a work item on the board and returns its id.
func (r *rig) card(project, title string) string {
	n := r.next()
	id := fmt.Sprintf("item-%d", n)
	r.board.Put(tracker.Item{ID: id, ProjectID: project, Sequence: int64(n), Title: title, Description: "what is wanted"})
	return id
}

// operator is who operates the rig.
var operator = orchestrator.OperatorBy(stage.ViaAPI)

// move is a person moving a card; the tracker's webhook arrives.
func (r *rig) move(project, item string, to stage.Status) {
	r.Helper()
	r.moveAs("kim", project, item, to)
	r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: project, ItemID: item, ActorID: "kim", Status: true})
}

// place0 moves a card without a webhook.
func (r *rig) place0(project, item string, to stage.Status) {
	r.Helper()
	r.moveAs(memtracker.Somebody, project, item, to)
}

// moveAs moves a card as an account, without a webhook.
func (r *rig) moveAs(account, project, item string, to stage.Status) {
	r.Helper()
	i, err := r.board.Item(context.Background(), project, item)
	require.NoError(r, err)
	i.Status = to
	r.board.PutAs(account, i)
}

func (r *rig) hook(h tracker.Hook) {
	r.Helper()
	id := fmt.Sprint(r.next())
	_, err := r.store.Receive(context.Background(), orchestrator.Delivery{Source: "plane", ID: id, BodyHash: id, ReceivedAt: time.Now()}, orchestrator.TrackerJob(h))
	require.NoError(r, err)
}

func (r *rig) hostHook(h githost.Hook) {
	r.Helper()
	_, err := r.store.Put(context.Background(), orchestrator.HostJob(h))
	require.NoError(r, err)
}

// mergedByHand is a person who merges the branch of a task at the host, and the
// webhook of it.
func (r *rig) mergedByHand(t orchestrator.Task) {
	r.Helper()
	ctx, pull := context.Background(), githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: "main"}
	pr, err := r.host.OpenPullRequest(ctx, pull)
	if errors.Is(err, githost.ErrNotFound) { // nothing was pushed yet
		r.host.Push(t.Repo, t.Branch, "0123456789012345678901234567890123456789")
		pr, err = r.host.OpenPullRequest(ctx, pull)
	}
	require.NoError(r, err)
	sha, err := r.host.Merge(ctx, githost.Merge{Repo: t.Repo, Number: pr.Number, HeadSHA: pr.HeadSHA})
	require.NoError(r, err)
	r.hostHook(githost.Hook{Kind: githost.HookMerged, Repo: t.Repo, Branch: t.Branch, SHA: pr.HeadSHA, Number: pr.Number, MergeSHA: sha})
}

// task is the newest task of a card.
func (r *rig) task(item string) orchestrator.Task {
	r.Helper()
	list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{TrackerIssueID: item})
	require.NoError(r, err)
	require.NotEmpty(r, list, "the card has no task")
	return list[len(list)-1]
}

// replays decides every task's journal again, which must give the same, and returns
// how many decisions that were.
func (r *rig) replays() (decisions int) {
	r.Helper()
	list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{Limit: 1000})
	require.NoError(r, err)
	for _, t := range list {
		again, err := r.engine.Replay(context.Background(), t.ID)
		require.NoError(r, err)
		require.Empty(r, again.First(), "task %d, %s", t.ID, t.WorkItemID)
		decisions += again.Decisions
	}
	return decisions
}

func (r *rig) status(project, item string) stage.Status {
	r.Helper()
	i, err := r.board.Item(context.Background(), project, item)
	require.NoError(r, err)
	return i.Status
}

// comments are the texts of a card's comments, oldest first.
func (r *rig) comments(project, item string) []string {
	r.Helper()
	list, err := r.board.Comments(context.Background(), project, item)
	require.NoError(r, err)
	var out []string
	for _, c := range list {
		out = append(out, c.Body)
	}
	return out
}

func (r *rig) notices() string {
	var b strings.Builder
	for _, m := range r.chat.Messages() {
		b.WriteString(m.Shown.Title + " | " + strings.Join(m.Shown.Lines, " ") + "\n")
	}
	return b.String()
}

// roles lists who was run, in order.
func (r *rig) roles() []stage.Role {
	var out []stage.Role
	for _, c := range r.place.Runs() {
		out = append(out, c.Role)
	}
	return out
}

// open lists the unfinished jobs.
func (r *rig) open() []queue.Job {
	r.Helper()
	jobs, err := r.store.Jobs(context.Background(), queue.Filter{Open: true})
	require.NoError(r, err)
	return jobs
}

// toDone takes a card through the pipeline.
func (r *rig) toDone(project, item string) {
	r.Helper()
	r.move(project, item, stage.StatusToAnalyse)
	r.settle(10 * time.Second)
	r.move(project, item, stage.StatusApproved)
	r.settle(time.Minute)
}

// usage is what every agent of the rig costs.
func usage() work.Usage {
	return work.Usage{Model: "m", Input: 10, Output: 20, CacheRead: 300, CacheCreate: 40, MicroUSD: 1500}
}

// goodAgent does what its role is asked for.
func goodAgent(_ context.Context, c work.Command, files map[string]string) work.Result {
	time.Sleep(time.Second)
	memwork.Diligent(c, files)
	return work.Result{Kind: work.ResultOK, Usage: usage(), Summary: "fine"}
}

// instead makes one role of the good agent do something else.
func instead(role stage.Role, script memwork.Script) memwork.Script {
	return func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		if c.Role == role {
			return script(ctx, c, files)
		}
		return goodAgent(ctx, c, files)
	}
}

func count[T comparable](list []T, want T) int {
	n := 0
	for _, v := range list {
		if v == want {
			n++
		}
	}
	return n
}

func contains(list []string, part string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, part) })
}
