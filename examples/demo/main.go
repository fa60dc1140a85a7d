// Command demo shows the pipeline on one machine with nothing to set up: a board,
// a git host and a chat that speak the real protocols, real git repositories,
// scripted agents that are real processes, and the reference service as a process
// of its own.
//
//	go run ./examples/demo                    watch it; the board is a web page
//	go run ./examples/demo -manual            drag the cards yourself
//	go run ./examples/demo -speed 20 -exit    end when all cards are done
//	go run ./examples/demo -lose 0.7 -exit    with most webhooks lost
//	go run ./examples/demo -kills 25 -exit    with a server that is killed (kill -9) again and again
//	go run ./examples/demo -database-url postgres://… -replicas 3 -kills 5 -pauses 3 -exit
//
// With -exit the last line of output is a summary in JSON, and the exit code is
// not zero when an invariant broke.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/internal/app"
)

// options are the flags.
type options struct {
	manual bool
	speed  float64
	exit   bool
	seed   uint64
	port   int
	kills  int
	lose   float64

	database string
	replicas int
	pauses   int

	dir   string
	limit time.Duration
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with everything passed in. The demo starts itself again as the
// server, as an agent and as the agents' shim.
func run(args []string, out, errs io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case "server":
			return serve(errs)
		case "agent":
			return agent(out, errs)
		case "agent-shim":
			return agentcli.RunShim()
		case "check-shim":
			return gitcli.RunCheckShim()
		}
	}
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.BoolVar(&o.manual, "manual", false, "nobody approves for you: drag the cards on the page")
	flags.Float64Var(&o.speed, "speed", 1, "how many times faster agents, CI and people are")
	flags.BoolVar(&o.exit, "exit", false, "end when every card is done, with a summary in JSON as the last line")
	flags.Uint64Var(&o.seed, "seed", 1, "of everything that looks like chance")
	flags.IntVar(&o.port, "port", 0, "of the page; 0 = any free one")
	flags.IntVar(&o.kills, "kills", 0, "how often the server is killed (kill -9) on the way")
	flags.Float64Var(&o.lose, "lose", 0, "share of webhooks that never arrive, from 0 to 1")
	flags.StringVar(&o.database, "database-url", "",
		"postgres://… = keep the service's data there, in a schema that is made and dropped; default: an SQLite file")
	flags.IntVar(&o.replicas, "replicas", 1, "processes of the service that share the database")
	flags.IntVar(&o.pauses, "pauses", 0, "how often a replica is paused (SIGSTOP) for longer than its claims live")
	flags.StringVar(&o.dir, "dir", "", "where repositories and data go, and stay; default: a temporary directory that is removed")
	flags.DurationVar(&o.limit, "limit", 5*time.Minute, "with -exit: give up after this long")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if o.speed <= 0 || o.lose < 0 || o.lose > 1 || flags.NArg() > 0 {
		fmt.Fprintln(errs, "demo: -speed must be above 0 and -lose between 0 and 1, and there are no arguments but flags")
		return 2
	}
	if o.replicas < 1 || o.replicas > 1 && o.database == "" {
		fmt.Fprintln(errs, "demo: -replicas must be at least 1, and more than one share a PostgreSQL: "+
			"name it with -database-url postgres://user@host/name")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	summary, err := play(ctx, o, out)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(errs, "demo:", err)
	}
	if o.exit {
		line, encode := json.Marshal(summary)
		err = errors.Join(err, encode)
		fmt.Fprintf(out, "%s\n", line)
	}
	if err != nil && (o.exit || !errors.Is(err, context.Canceled)) {
		return 1
	}
	return 0
}

// serve is the server's process: the reference service, set up by the
// environment that the demo gives it.
func serve(errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serveWith(ctx, errs); err != nil {
		fmt.Fprintln(errs, "server:", err)
		return 1
	}
	return 0
}

func serveWith(ctx context.Context, errs io.Writer) error {
	settings, err := app.Load(os.Environ())
	if err != nil {
		return err
	}
	service, err := app.Open(ctx, settings, []string{"/proc/self/exe"}, settings.Logger(errs))
	if err != nil {
		return err
	}
	defer service.Close()
	l, err := listen(ctx, settings.Listen)
	if err != nil {
		return err
	}
	return service.Run(ctx, l, nil)
}
