package dashboard_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// evil is what a stranger writes into every text that he can reach.
const evil = `</title></pre></script><script>alert(1)</script> task 1 <img src=x onerror=alert(2)>"'` + "`{{.}}\u202e\x1b[31m"

const (
	token    = "operator-token"
	project  = "p1"
	repo     = "acme/app"
	other    = "acme/other"
	nowEvil  = "evil"  // roles of a test card's title: strangers' texts everywhere
	nowSleep = "sleep" // its developer works for hours
	nowRed   = "red"   // its CI is red
)

// world is an engine with doubles around it under a clock that jumps, and the
// dashboard before it.
type world struct {
	*testing.T
	store  *memstore.Store
	board  *memtracker.Board
	host   *memhost.Host
	place  *memwork.Place
	gate   *serialgate.Gate
	leases *memlease.Locker
	engine *orchestrator.Engine
	opt    dashboard.Options
	logs   logs
	pages  http.Handler
	cards  int
	kim    string // who moves cards
	rest   func() // ends the engine's work; the pages stay
}

// logs are what agents have printed, by name.
type logs map[work.LogName]string

type openLog struct{ *bytes.Reader }

func (openLog) Close() error { return nil }

// OpenLog implements work.Logs.
func (l logs) OpenLog(_ context.Context, n work.LogName) (io.ReadSeekCloser, error) {
	text, ok := l[n]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return openLog{bytes.NewReader([]byte(text))}, nil
}

// inWorld runs a test in a world whose engine works.
func inWorld(t *testing.T, change func(*dashboard.Options), f func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, store: memstore.New(nil), board: memtracker.New(nil), host: memhost.New(), place: memwork.New(agent), logs: logs{}, kim: "kim"}
		w.board.AddProject(project)
		w.board.AddProject("p2")
		for _, r := range []string{repo, other} {
			w.host.Push(r, "main", "base")
		}
		w.place.OnPush = func(repo, branch, sha string) {
			w.host.Push(repo, branch, sha)
			state := githost.CheckPassed
			if strings.Contains(branch, nowRed) {
				state = githost.CheckFailed
			}
			w.host.SetChecks(sha, githost.Check{Name: evil, State: state, Kind: "check_run"})
		}
		w.start(change)
		f(w)
	})
}

func (w *world) start(change func(*dashboard.Options)) {
	projects, err := orchestrator.NewProjects(
		orchestrator.Project{TrackerProject: project, Repo: repo, CloneURL: "u", Prefix: "APP", WebURL: "https://git.example.org/acme/app"},
		orchestrator.Project{TrackerProject: "p2", Repo: other, CloneURL: "u", Prefix: "OTH", SelfHosting: true},
	)
	require.NoError(w, err)
	w.gate, err = serialgate.New(serialgate.Options{Store: w.store, Holds: w.store, Lister: w.store, Repos: []string{repo}})
	require.NoError(w, err)
	off, err := stop.Feature(stop.Options{Store: w.store, Projects: projects, Workspaces: w.place, Agents: w.place})
	require.NoError(w, err)
	rec, err := reconcile.New(reconcile.Options{Tracker: w.board, Board: w.board})
	require.NoError(w, err)
	dep, err := deps.New(deps.Options{Store: w.store, Table: w.store, Queue: w.store, Lister: w.store, Relations: w.board, Items: w.board})
	require.NoError(w, err)
	runners := effects.Runners(effects.Deps{Store: w.store, Jobs: w.store, Projects: projects, Tracker: w.board, Host: w.host, Workspaces: w.place})
	w.leases = memlease.New(nil)
	merge, err := mergegate.New(mergegate.Options{
		Store: w.store, Jobs: w.store, Projects: projects, Spaces: w.place, Leases: w.leases, Host: w.host, Merge: runners[stage.EffectMerge], Repos: []string{other},
	})
	require.NoError(w, err)
	money, err := budget.New(budget.Options{
		Store: w.store, Story: w.store, Ledger: w.store, Projects: projects, Queue: w.store, Lister: w.store, Caps: budget.Caps{RepoDay: 50_000_000, Task: 9_000_000},
	})
	require.NoError(w, err)
	w.engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: w.store, Story: w.store, Jobs: w.store, Projects: projects, Tracker: w.board, Host: w.host, Workspaces: w.place, Agents: w.place, Gates: checks.All(nil),
		Runners: runners,
	}, orchestrator.Options{JobTTL: 30 * time.Second, StatusDefer: 100 * time.Millisecond, MaxConcurrency: 2}, off, rec.Feature(), w.gate.Feature(), dep.Feature(),
		merge.Feature(), money.Feature())
	require.NoError(w, err)
	w.opt = dashboard.Options{
		Engine: w.engine, History: w.store, AdminToken: token, Stop: true, Unfreeze: w.gate.Unfreeze, Logs: w.logs,
		Links: []dashboard.Link{{Name: "Map", URL: "/map"}},
	}
	if change != nil {
		change(&w.opt)
	}
	w.pages, err = dashboard.Handler(w.opt)
	require.NoError(w, err)
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.engine.Run(ctx)
	}()
	w.rest = func() { end(); <-ended }
	w.Cleanup(w.rest)
}

// agent does what its role is asked for, and what the title of its card says.
func agent(ctx context.Context, c work.Command, files map[string]string) work.Result {
	pause := time.Second
	if c.Role == stage.Developer && strings.Contains(c.Prompt, nowSleep) {
		pause = 5 * time.Hour
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return work.Result{Kind: work.ResultCancelled}
	}
	memwork.Diligent(c, files)
	return work.Result{Kind: work.ResultOK, Usage: work.Usage{Model: "model " + evil, Input: 10, Output: 20, CacheRead: 300, CacheCreate: 40, MicroUSD: 1500}, Summary: "done " + evil}
}

// settle lets time pass until everything that is due is done.
func (w *world) settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// card puts a work item on the board of a project and starts it.
func (w *world) card(project, title string) string {
	w.Helper()
	w.cards++
	id := fmt.Sprintf("item-%d", w.cards)
	w.board.Put(tracker.Item{ID: id, ProjectID: project, Sequence: int64(w.cards), Title: title, Description: "wanted: " + evil})
	w.move(project, id, stage.StatusToAnalyse)
	return id
}

// move is a person moving a card; the tracker's webhook arrives.
func (w *world) move(project, item string, to stage.Status) {
	w.Helper()
	i, err := w.board.Item(context.Background(), project, item)
	require.NoError(w, err)
	i.Status = to
	w.board.PutAs(w.kim, i)
	w.cards++
	n := fmt.Sprint(w.cards)
	_, err = w.store.Receive(context.Background(), orchestrator.Delivery{Source: "plane", ID: n, BodyHash: n, ReceivedAt: time.Now()},
		orchestrator.TrackerJob(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: project, ItemID: item, ActorID: w.kim, Status: true, To: string(i.Status)}))
	require.NoError(w, err)
	w.settle(10 * time.Second)
}

// task is the newest task of a card.
func (w *world) task(item string) orchestrator.Task {
	w.Helper()
	list, err := w.store.Tasks(context.Background(), orchestrator.TaskFilter{TrackerIssueID: item})
	require.NoError(w, err)
	require.NotEmpty(w, list, "the card has no task")
	return list[len(list)-1]
}

// full fills the world with tasks in every situation, made by a stranger.
func (w *world) full() {
	w.Helper()
	w.kim = "kim " + evil
	done := w.card(project, "done "+evil)
	w.move(project, done, stage.StatusApproved)
	w.settle(time.Minute)
	require.Equal(w, stage.Done, w.task(done).State.Stage)
	red := w.card("p2", nowRed+" "+evil)
	w.move("p2", red, stage.StatusApproved)
	w.settle(time.Hour)
	stopped := w.card("p2", "stopped "+evil)
	w.move("p2", stopped, stage.StatusStop)
	ended, err := w.store.Ended(context.Background(), 1)
	require.NoError(w, err)
	require.Equal(w, stage.Cancelled, ended[0].State.Stage)
	sleeps := w.card(project, nowSleep+" "+evil)
	w.move(project, sleeps, stage.StatusApproved)
	w.settle(time.Minute)
	w.card(project, "behind the serial gate "+evil)
	asks := w.card("p2", "waits for a person "+evil)
	w.board.Say(asks, "kim", evil)
	w.move("p2", asks, stage.StatusRejected)
	after := w.card("p2", "depends "+evil)
	w.board.Block(after, asks)
	require.NoError(w, w.gate.Freeze(context.Background(), repo, "the deployment of task 1 is degraded: "+evil))
	w.settle(10 * time.Minute)
	runs, err := w.store.AgentRuns(context.Background(), 0)
	require.NoError(w, err)
	for _, r := range runs {
		w.logs[work.LogName{TaskID: r.TaskID, Role: r.Role, Run: r.Run, Attempt: r.Attempt}] = "output " + evil
		w.logs[work.LogName{TaskID: r.TaskID, Role: r.Role, Run: r.Run, Attempt: r.Attempt, Errors: true}] = "errors " + evil
	}
	t := w.task(sleeps)
	w.logs[work.LogName{TaskID: t.ID, Role: stage.Developer, Run: t.State.Run, Attempt: 1}] = "at work " + evil
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask asks the dashboard below a prefix.
func (w *world) ask(method, prefix, path string, form url.Values, header ...string) answer {
	w.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, prefix+path, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	http.StripPrefix(prefix, w.pages).ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

func (w *world) get(path string) answer { w.Helper(); return w.ask(http.MethodGet, "", path, nil) }
