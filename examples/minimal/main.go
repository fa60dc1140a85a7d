// Command minimal is a whole service: the issues of GitHub are the board, and Claude Code works
// in a jail. What it has it keeps below data.
package main

import (
	"cmp"
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/filelease"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

func main() {
	if shim := map[string]func() int{"agent": agentcli.RunShim, "check": gitcli.RunCheckShim}[os.Args[len(os.Args)-1]]; shim != nil {
		os.Exit(shim())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	token, key, jail := os.Getenv("GITHUB_TOKEN"), os.Getenv("GITHUB_WEBHOOK_SECRET"), agentcli.System(22, 80, 443)
	data, err1 := filepath.Abs("data")
	registry, err2 := projectfile.Load("projects.yaml")
	store, err3 := sqlite.Open(ctx, sqlite.Options{Path: data + "/signalbox.db"})
	leases, err4 := filelease.New(data+"/leases", nil)
	git, err5 := gitcli.New(ctx, gitcli.Options{
		Root: data + "/git", Tokens: gitcli.FixedTokens(map[string]string{"https://github.com/": token}),
		Shim: []string{"/proc/self/exe", "check"}, Jail: jail,
	})
	agents, err6 := agentcli.New(agentcli.Options{
		LogDir: data + "/logs", StateDir: data + "/running", HomeDir: data + "/homes",
		Shim: []string{"/proc/self/exe", "agent"}, Jail: jail,
	})
	host, err7 := github.New(github.Options{Token: token, Secrets: signature.Of(key)})
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		log.Fatal(err)
	}
	board, err := labelboard.New(labelboard.Options{Issues: host.Issues(), Secrets: signature.Of(key)})
	if err != nil {
		log.Fatal(err)
	}
	s, err := service.New(service.Options{
		Store: store, Projects: registry.Projects, Tracker: board, Identify: map[string]func(context.Context) error{"": board.Identify},
		Host: host, Workspaces: git, Agents: agents, Leases: leases, Commands: git, Hooks: git, Logs: agents,
		Redactor: secret.NewRedactor(token, key), Log: slog.Default(), Listen: cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"),
		Web: web.Options{Sources: []web.Source{{Name: "issues", Tracker: board}, {Name: "github", Host: host}}},
	})
	if err == nil {
		err = s.Serve(ctx)
	}
	if err = errors.Join(err, store.Close()); err != nil {
		log.Fatal(err)
	}
}
