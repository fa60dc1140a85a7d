package browsertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/adapters/markdown"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	work "github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	agents "github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// cardsServer is the argument by which the program serves our own board, as a process that
// can be killed; an address and the path of a database follow.
const cardsServer = "cards-server"

// cardsPrefix is where its dashboard is mounted.
const cardsPrefix = "/tools/"

// killable is a server that tests kill and start again, at the same address.
type killable struct {
	args []string

	mu  sync.Mutex
	cmd *exec.Cmd
}

func (k *killable) start(ctx context.Context, ready string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cmd = exec.Command("/proc/self/exe", k.args...)
	k.cmd.Stderr = os.Stderr
	if err := k.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get(ready); err == nil {
			return resp.Body.Close()
		}
	}
	return errors.New("the server of the cards does not get ready")
}

func (k *killable) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.cmd.Process.Kill() // it may have ended
	_ = k.cmd.Wait()
}

// startCards adds the site cards, and cards-control, where POST /kill ends the server
// (kill -9) and POST /start starts it again.
func startCards(ctx context.Context, sites map[string]string) (end func(), err error) {
	dir, err := os.MkdirTemp("", "signalbox-cards-")
	if err != nil {
		return nil, err
	}
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	sites["cards"] = "http://" + at + cardsPrefix
	k := &killable{args: []string{cardsServer, at, filepath.Join(dir, "signalbox.db")}}
	if err := k.start(ctx, sites["cards"]); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /kill", func(http.ResponseWriter, *http.Request) { k.kill() })
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, r *http.Request) {
		if err := k.start(r.Context(), sites["cards"]); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	control := httptest.NewServer(mux)
	context.AfterFunc(ctx, control.Close)
	sites["cards-control"] = control.URL
	return func() { k.kill(); _ = os.RemoveAll(dir) }, nil
}

// serveCards is the server's process: our own board with a real engine behind it, whose
// agents are doubles.
func serveCards(ctx context.Context, address, path string) error {
	own, err := board.Open(ctx, board.Options{Path: path, Page: "http://" + address + cardsPrefix + "board/cards"})
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }() // the process ends
	projects, err := task.NewProjects(
		task.Project{TrackerProject: "app", Repo: "acme/app", CloneURL: "u", Prefix: "APP", WebURL: "https://git.example.org/acme/app"},
		task.Project{TrackerProject: "other", Repo: "acme/other", CloneURL: "u", Prefix: "OTH"},
	)
	if err != nil {
		return err
	}
	sessions, err := sqlite.Open(ctx, sqlite.Options{Path: path + ".sessions"}) // they outlive the process
	if err != nil {
		return err
	}
	defer func() { _ = sessions.Close() }()
	store, host := memstore.New(nil), memhost.New()
	place := memwork.New(func(ctx context.Context, c agents.Command, files map[string]string) agents.Result {
		memwork.Good(ctx, c, files)
		if docs := c.Env["SIGNALBOX_DOCS"] + "/requirements.md"; c.Role == stage.Analyst {
			files[docs] = "# Wanted\n\n- [ ] tiles from memory\n\n" + hostile
		}
		return agents.Result{Kind: agents.ResultOK}
	})
	place.OnPush = func(repo, branch, sha string) {
		host.Push(repo, branch, sha)
		host.SetChecks(sha, githost.Check{Name: "ci", State: githost.CheckPassed, Kind: "check_run"})
	}
	host.Push("acme/app", "main", "base")
	host.Push("acme/other", "main", "base")
	eng, err := orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: store, Records: store, Jobs: store, Projects: projects, Tracker: own, Host: host,
		Workspaces: place, Agents: place, Gates: checks.All(nil), Log: slog.New(slog.DiscardHandler),
		Runners: effects.Runners(effects.Deps{
			Store: store, Jobs: store, Projects: projects, Tracker: own, Host: host, Workspaces: place,
		}),
	}, orchestrator.Options{
		Poll: 10 * time.Millisecond, StatusDefer: time.Millisecond, MaxConcurrency: 3, Stage: stage.Options{CIPoll: 20 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	if err := fillCards(ctx, eng, own); err != nil {
		return err
	}
	pages, err := dashboard.Handler(dashboard.Options{
		Engine: eng, History: store, Cards: own, Stop: true,
		Access:   access.New(access.Options{Store: sessions, AdminToken: operatorToken, Local: true}),
		Markdown: markdown.Render, Done: ctx.Done(),
	})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	g := work.New(ctx, slog.New(slog.DiscardHandler))
	defer g.Stop()
	g.Go("engine", eng.Run)
	server := &http.Server{Handler: http.StripPrefix(strings.TrimSuffix(cardsPrefix, "/"), pages), ReadHeaderTimeout: 5 * time.Second}
	return server.Serve(l)
}

// fillCards puts cards on an empty board, one of which a stranger has written.
func fillCards(ctx context.Context, eng *orchestrator.Engine, own *board.Board) error {
	if list, err := own.Cards(ctx, cards.Filter{}); err != nil || len(list) > 0 {
		return err
	}
	kim := cards.Person{Name: "Kim Müller"}
	for n, c := range []struct{ title, text, column string }{
		{"Cache tiles per zoom level", "Panning the map is slow:\n\n  - keep the newest tiles in memory\n  - at most 64 MiB", "backlog"},
		{"Import price lists", "Suppliers send CSV files once a week.", "to_analyse"},
		{"A stranger's card " + hostile, "wanted: " + hostile, "backlog"},
		{"Rotate the signing keys", "Once a quarter.", "done"},
		{
			"Русский перевод корзины 🛒 с очень длинным названием, которое не помещается в одну строку карточки",
			"Тексты корзины на русском языке.", "blocked",
		},
		{"Offline mode for saved tracks", "Saved tracks must open without a network.", "backlog"},
	} {
		made, _, err := own.Make(ctx, cards.New{Key: fmt.Sprint(n), Project: "app", Title: c.title, Description: c.text, By: kim})
		if err != nil {
			return err
		}
		e, err := own.Move(ctx, made.ID, c.column, kim)
		if err != nil {
			return err
		}
		if c.column == "to_analyse" {
			hook := tracker.Hook{
				Kind: tracker.HookItemUpdated, ProjectID: "app", ItemID: made.ID, ActorID: kim.Name,
				Status: true, To: e.To, At: e.At, Via: stage.ViaBoard, Proof: e.Proof,
			}
			if err := eng.Announce(ctx, "board", e.Delivery(), hook); err != nil {
				return err
			}
		}
		if err := own.Say(ctx, cards.Saying{ID: made.ID, Key: "k", Body: "Is this still wanted?\n" + hostile, By: kim}); err != nil {
			return err
		}
	}
	return nil
}
