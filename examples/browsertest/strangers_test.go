package browsertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	work "github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	agents "github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// hostile holds the words that a stranger writes into every text that he can reach.
const hostile = `</title></pre></script><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "`{{.}}\u202eesrever\u001b[31m"

// operatorToken is the operator's.
const operatorToken = "operator-token"

// strangers is a pipeline whose cards, agents, checks and logs come from a
// stranger, with doubles around the real engine.
type strangers struct {
	store *memstore.Store
	board *memtracker.Board
	place *memwork.Place
	gate  *serialgate.Gate
	eng   *orchestrator.Engine
	seq   int
	logs  memwork.Logs
	ended chan struct{} // closed: developers who sleep have done their work
	once  sync.Once
}

// startStrangers serves the dashboard over such a pipeline, below each prefix, as
// the sites name, name-2 and so on.
func startStrangers(ctx context.Context, g *work.Group, name string, sites map[string]string, prefixes ...string) error {
	s := &strangers{store: memstore.New(nil), board: memtracker.New(nil), ended: make(chan struct{})}
	s.place = memwork.New(s.agent)
	if err := s.engine(); err != nil {
		return err
	}
	g.Go(name+" engine", s.eng.Run)
	if err := s.fill(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for n, prefix := range prefixes {
		pages, err := dashboard.Handler(dashboard.Options{
			Engine: s.eng, History: s.store, Access: access.New(access.Options{AdminToken: operatorToken, Local: true}),
			Stop: true, Unfreeze: s.gate.Unfreeze, Logs: &s.logs, Done: ctx.Done(),
			Links: []dashboard.Link{{Name: "Map " + hostile, URL: "/map"}},
		})
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("/", http.StripPrefix(strings.TrimSuffix(prefix, "/"), pages))
		mux.HandleFunc("POST /finish", func(http.ResponseWriter, *http.Request) { s.once.Do(func() { close(s.ended) }) })
		server := httptest.NewServer(mux)
		context.AfterFunc(ctx, server.Close)
		site := name
		if n > 0 {
			site = fmt.Sprint(name, "-", n+1)
		}
		sites[site] = server.URL + prefix
	}
	return nil
}

func (s *strangers) engine() error {
	host := memhost.New()
	for _, repo := range []string{"acme/app", "acme/other"} {
		host.Push(repo, "main", "base")
	}
	s.place.OnPush = func(repo, branch, sha string) {
		host.Push(repo, branch, sha)
		state := githost.CheckPassed
		if strings.Contains(branch, "red") {
			state = githost.CheckFailed
		}
		host.SetChecks(sha, githost.Check{Name: hostile, State: state, Kind: "check_run"})
	}
	for _, id := range []string{"p1", "p2"} {
		s.board.AddProject(id)
	}
	projects, err1 := task.NewProjects(
		task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "u", Prefix: "APP", WebURL: "https://git.example.org/acme/app"},
		task.Project{TrackerProject: "p2", Repo: "acme/other", CloneURL: "u", Prefix: "OTH", SelfHosting: true},
	)
	alone := orchestrator.Parts{Store: s.store, Projects: &task.Projects{}}
	gate, err2 := serialgate.New(serialgate.Options{Parts: alone, Repos: []string{"acme/app"}})
	ends, err3 := stop.Feature(orchestrator.Parts{Store: s.store, Projects: projects, Workspaces: s.place, Agents: s.place})
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	s.gate = gate
	var err error
	s.eng, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: s.store, Records: s.store, Jobs: s.store, Projects: projects, Tracker: s.board, Host: host,
		Workspaces: s.place, Agents: s.place, Gates: checks.All(nil), Log: slog.New(slog.DiscardHandler),
		Runners: effects.Runners(effects.Deps{
			Store: s.store, Jobs: s.store, Projects: projects, Tracker: s.board, Host: host, Workspaces: s.place,
		}),
	}, orchestrator.Options{
		Poll: 10 * time.Millisecond, StatusDefer: time.Millisecond, MaxConcurrency: 3, Stage: stage.Options{CIPoll: 20 * time.Millisecond},
	}, ends, gate.Feature())
	return err
}

// agent does the work of its role; the developer of a card that sleeps works until it is
// ended, or somebody posts to /finish.
func (s *strangers) agent(ctx context.Context, c agents.Command, files map[string]string) agents.Result {
	name := agents.LogName{TaskID: c.TaskID, Role: c.Role, Run: c.Run, Attempt: c.Attempt}
	errors := name
	errors.Stream = agents.StreamErrors
	s.logs.Print(name, "output "+hostile+"\n")
	s.logs.Print(errors, "errors "+hostile+"\n")
	usage := agents.Usage{Model: "model " + hostile, Input: 10, Output: 20, CacheRead: 300, CacheCreate: 40, MicroUSD: 1500}
	if c.Role == stage.Developer && strings.Contains(c.Prompt, "sleep") {
		if !s.develop(ctx, name) {
			return agents.Result{Kind: agents.ResultCancelled}
		}
	} else {
		s.logs.Step(name, agents.Step{At: time.Now(), Kind: agents.StepText, Text: "step " + hostile, Usage: &usage})
	}
	memwork.Good(ctx, c, files)
	return agents.Result{
		Kind: agents.ResultOK, Usage: usage, Summary: "done " + hostile,
		Agent: "claude", Vendor: "anthropic", SessionID: "session " + hostile,
		StartedAt: time.Now(), FinishedAt: time.Now(),
	}
}

// develop works at a file after the other, and reports whether the work was finished.
func (s *strangers) develop(ctx context.Context, name agents.LogName) bool {
	step := func(kind agents.StepKind, tool, path, text string) {
		s.logs.Step(name, agents.Step{At: time.Now(), Kind: kind, Tool: tool, Path: path, Text: text})
	}
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return false
		case <-s.ended:
			step(agents.StepText, "", "", "The tiles are kept, and every test passes. "+hostile)
			return true
		case <-time.After(300 * time.Millisecond):
		}
		s.logs.Print(name, fmt.Sprintf("line %d\n", n))
		file := fmt.Sprintf("tiles/cache%d.go", n/8)
		switch n % 8 {
		case 1:
			step(agents.StepText, "", "", fmt.Sprintf("Part %d: the cache of the tiles needs a bound. "+
				"I look at how they are read first, then write the test that fails without one.", n/8+1))
		case 2, 3, 4:
			step(agents.StepTool, "Read", "", fmt.Sprintf("tiles/part%d.go lines 1 to %d", n%8, n*40))
		case 5:
			step(agents.StepTool, "Edit", "", file+" 12 lines")
			step(agents.StepFile, "", file, "")
		case 6:
			step(agents.StepTool, "Bash", "", "go test ./tiles/... "+hostile)
		case 7:
			used := agents.Usage{Model: "opus", Input: int64(n) * 900, Output: int64(n) * 120, MicroUSD: int64(n) * 21_000}
			s.logs.Step(name, agents.Step{At: time.Now(), Kind: agents.StepUsage, Usage: &used})
		}
	}
}

// card puts a work item on the board, sets statuses, and waits until the task
// stands as it should after each.
func (s *strangers) card(ctx context.Context, project, title string, steps ...move) error {
	s.seq++
	id := fmt.Sprintf("item-%d", s.seq)
	for _, m := range steps {
		s.board.Put(tracker.Item{
			ID: id, ProjectID: project, Sequence: int64(s.seq),
			Title: title + " " + hostile, Description: "wanted: " + hostile, Status: m.to,
		})
		key := fmt.Sprint(id, " ", m.to)
		hook := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: project, ItemID: id, ActorID: "kim " + hostile, Status: true}
		delivery := task.Delivery{Source: "plane", ID: key, BodyHash: key, ReceivedAt: time.Now()}
		if _, err := s.store.Receive(ctx, delivery, orchestrator.TrackerJob(hook)); err != nil {
			return err
		}
		if err := s.until(ctx, id, m.stands); err != nil {
			return fmt.Errorf("%s, %s: %w", title, m.to, err)
		}
	}
	return nil
}

// move is a status that a person sets, and how the task stands then.
type move struct {
	to     stage.Status
	stands func(stage.State) bool
}

// until waits for a task.
func (s *strangers) until(ctx context.Context, item string, stands func(stage.State) bool) error {
	var last stage.State
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		list, err := s.store.Tasks(ctx, task.Filter{})
		if err != nil {
			return err
		}
		for _, t := range list {
			if issue, _ := task.ParseTombstone(t.TrackerIssueID); issue == item {
				if last = t.State; stands(last) {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("the task stands at %+v", last)
}

// fill makes tasks in every situation.
func (s *strangers) fill(ctx context.Context) error {
	at := func(want stage.Stage) func(stage.State) bool {
		return func(t stage.State) bool { return t.Stage == want }
	}
	review := func(t stage.State) bool { return t.Stage == stage.Analysis && t.Active == "" }
	held := func(t stage.State) bool { return t.Hold != stage.HoldNone }
	busy := func(t stage.State) bool { return t.Stage == stage.Development && t.Active == stage.Developer }
	err := errors.Join(
		s.card(ctx, "p1", "done", move{stage.StatusToAnalyse, review}, move{stage.StatusApproved, at(stage.Done)}),
		s.card(ctx, "p2", "red", move{stage.StatusToAnalyse, review}, move{stage.StatusApproved, held}),
		s.card(ctx, "p2", "stopped", move{stage.StatusToAnalyse, review}, move{stage.StatusStop, at(stage.Cancelled)}),
		s.card(ctx, "p1", "sleep", move{stage.StatusToAnalyse, review}, move{stage.StatusApproved, busy}),
		s.card(ctx, "p1", "behind the serial gate", move{stage.StatusToAnalyse, at(stage.Analysis)}),
		s.card(ctx, "p2", "waits for a person", move{stage.StatusToAnalyse, review}),
	)
	if err != nil {
		return err
	}
	return s.gate.Freeze(ctx, "acme/app", 1, "the deployment of task 1 is degraded: "+hostile)
}
