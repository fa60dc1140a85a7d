package dashboard_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/tracker"
)

// evil holds the words that a stranger writes into every text that he can reach.
const evil = `</title></pre></script><script>alert(1)</script> task 1 <img src=x onerror=alert(2)>"'` + "`{{.}}\u202e\x1b[31m"

const (
	token   = "operator-token"
	project = "p1"
	repo    = "acme/app"
	other   = "acme/other"
	// roles of a test card's title: strangers' texts everywhere
	nowSleep = "sleep" // its developer works for hours
	nowRed   = "red"   // its CI is red
)

// world is a rig with the dashboard before its engine, most features on and strangers'
// texts everywhere.
type world struct {
	*Rig
	gate   *serialgate.Gate
	pauses *agentpause.Pauses
	leases *memlease.Locker
	opt    dashboard.Options
	logs   *memwork.Logs
	pages  http.Handler
	kim    string // who moves cards
}

// inWorld runs a test in a world whose engine works.
func inWorld(t *testing.T, change func(*dashboard.Options), f func(*world)) {
	t.Helper()
	w := &world{logs: new(memwork.Logs), leases: memlease.New(nil), kim: "kim"}
	Run(t, func(r *Rig) {
		w.Rig = r
		r.Options.MaxConcurrency = 2
		r.Projects = []task.Project{
			{TrackerProject: project, Repo: repo, CloneURL: "u", Prefix: "APP", WebURL: "https://git.example.org/acme/app"},
			{TrackerProject: "p2", Repo: other, CloneURL: "u", Prefix: "OTH", SelfHosting: true},
		}
		for _, p := range r.Projects {
			r.Board.AddProject(p.TrackerProject)
			r.Host.Push(p.Repo, "main", "base")
		}
		r.Place.SetScript(agent)
		r.Place.OnPush = func(repo, branch, sha string) {
			r.Host.Push(repo, branch, sha)
			state := githost.CheckPassed
			if strings.Contains(branch, nowRed) {
				state = githost.CheckFailed
			}
			r.Host.SetChecks(sha, githost.Check{Name: evil, State: state, Kind: "check_run"})
		}
		r.Effects = func(d *effects.Deps) { d.Messenger = nil } // a service without a chat
		r.Features = w.features
	}, func(r *Rig) {
		w.opt = dashboard.Options{
			Engine: r.Engine, History: r.Store, Access: access.New(access.Options{AdminToken: token, PublicRead: true}), Stop: true, Unfreeze: w.gate.Unfreeze, Resume: w.pauses.Resume, Logs: w.logs,
			Links: []dashboard.Link{{Name: "Map", URL: "/map"}},
		}
		if change != nil {
			change(&w.opt)
		}
		w.pages = handler(r, w.opt)
		f(w)
	})
}

func (w *world) features() []orchestrator.Feature {
	projects, err := task.NewProjects(w.Projects...)
	require.NoError(w, err)
	w.gate, err = serialgate.New(serialgate.Options{Parts: w.Parts(), Repos: []string{repo}})
	require.NoError(w, err)
	off, err := stop.Feature(w.Parts())
	require.NoError(w, err)
	rec, err := reconcile.New(reconcile.Options{Tracker: w.Board, Board: w.Board})
	require.NoError(w, err)
	dep, err := deps.New(deps.Options{Parts: w.Parts(), Relations: w.Board, Items: w.Board})
	require.NoError(w, err)
	runners := effects.Runners(effects.Deps{Store: w.Store, Jobs: w.Store, Projects: projects, Tracker: w.Board, Host: w.Host, Workspaces: w.Place})
	merge, err := mergegate.New(mergegate.Options{Parts: w.Parts(), Leases: w.leases, Merge: runners[stage.EffectMerge], Repos: []string{other}})
	require.NoError(w, err)
	money, err := budget.New(budget.Options{Parts: w.Parts(), Caps: budget.Caps{RepoDay: 50_000_000, Task: 9_000_000}})
	require.NoError(w, err)
	w.pauses, err = agentpause.New(w.Parts())
	require.NoError(w, err)
	return []orchestrator.Feature{off, w.pauses.Feature(), rec.Feature(), w.gate.Feature(), dep.Feature(), merge.Feature(), money.Feature()}
}

// agent does the work of its role, and what the title of its card says.
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
	memwork.Good(ctx, c, files)
	return work.Result{Kind: work.ResultOK, Usage: work.Usage{Model: "model " + evil, Input: 10, Output: 20, CacheRead: 300, CacheCreate: 40, MicroUSD: 1500}, Summary: "done " + evil}
}

// card puts a work item on the board of a project and starts it.
func (w *world) card(project, title string) string {
	w.Helper()
	id := w.Card(project, title)
	i, err := w.Board.Item(context.Background(), project, id)
	require.NoError(w, err)
	i.Description = "wanted: " + evil
	w.Board.Put(i)
	w.move(project, id, stage.StatusToAnalyse)
	return id
}

// move is a person moving a card; the tracker's webhook, which names the column, arrives.
func (w *world) move(project, item string, to stage.Status) {
	w.Helper()
	w.MoveAs(w.kim, project, item, to)
	w.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: project, ItemID: item, ActorID: w.kim, Status: true, To: string(to)})
	w.Settle(10 * time.Second)
}

// full fills the world with tasks in every situation, made by a stranger.
func (w *world) full() {
	w.Helper()
	w.kim = "kim " + evil
	done := w.card(project, "done "+evil)
	w.move(project, done, stage.StatusApproved)
	w.Settle(time.Minute)
	w.Stands(done, stage.Done)
	red := w.card("p2", nowRed+" "+evil)
	w.move("p2", red, stage.StatusApproved)
	w.Settle(time.Hour)
	stopped := w.card("p2", "stopped "+evil)
	w.move("p2", stopped, stage.StatusStop)
	ended, err := w.Store.Ended(context.Background(), time.Time{}, 1)
	require.NoError(w, err)
	require.Equal(w, stage.Cancelled, ended[0].State.Stage)
	sleeps := w.card(project, nowSleep+" "+evil)
	w.move(project, sleeps, stage.StatusApproved)
	w.Settle(time.Minute)
	w.card(project, "behind the serial gate "+evil)
	asks := w.card("p2", "waits for a person "+evil)
	w.Board.Say(asks, "kim", evil)
	w.move("p2", asks, stage.StatusRejected)
	after := w.card("p2", "depends "+evil)
	w.Board.Block(after, asks)
	w.freeze(1, "the deployment of task 1 is degraded: "+evil)
	w.Settle(10 * time.Minute)
	runs, err := w.Store.AgentRuns(context.Background())
	require.NoError(w, err)
	for _, r := range runs {
		w.logs.Replace(work.LogName{TaskID: r.TaskID, Role: r.Role, Run: r.Run, Attempt: r.Attempt}, "output "+evil)
		w.logs.Replace(work.LogName{TaskID: r.TaskID, Role: r.Role, Run: r.Run, Attempt: r.Attempt, Stream: work.StreamErrors}, "errors "+evil)
	}
	t := w.Task(sleeps)
	w.logs.Replace(work.LogName{TaskID: t.ID, Role: stage.Developer, Run: t.State.Run, Attempt: 1}, "at work "+evil)
}

// answer holds what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// request requests a page of the dashboard below a prefix.
func (w *world) request(method, prefix, path string, form url.Values, header ...string) answer {
	w.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, prefix+path, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	rec := httptest.NewRecorder()
	http.StripPrefix(prefix, w.pages).ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

func (w *world) get(path string) answer { w.Helper(); return w.request(http.MethodGet, "", path, nil) }

// has requires the body of an answer to have a text.
func (w *world) has(path, text string) {
	w.Helper()
	require.Contains(w, w.get(path).body, text)
}

func (w *world) freeze(task int64, why string) {
	w.Helper()
	require.NoError(w, w.gate.Freeze(context.Background(), repo, task, why))
}

// shows requires a page to have a text.
func (w *world) shows(path, text string) {
	w.Helper()
	require.Contains(w, plain(w.get(path).body), text)
}

func handler(t testing.TB, o dashboard.Options) http.Handler {
	t.Helper()
	pages, err := dashboard.Handler(o)
	require.NoError(t, err)
	return pages
}
