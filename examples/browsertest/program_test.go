// Package browsertest starts the servers whose pages the browser tests look at,
// each on a free port, and prints their addresses as one line of JSON. It ends
// when its standard input does.
package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	work "github.com/signalbox-dev/signalbox/internal/run"
)

// TestMain is the program where an environment says so: it is built as a test, for nothing of it is shipped.
func TestMain(m *testing.M) {
	if os.Getenv("BROWSERTEST_MAIN") != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	m.Run()
}

func run(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) == 3 && args[0] == cardsServer {
		fmt.Fprintln(errs, "browsertest:", serveCards(context.Background(), args[1], args[2]))
		return 1
	}
	flags := flag.NewFlagSet("browsertest", flag.ContinueOnError)
	flags.SetOutput(errs)
	demo := flags.String("demo", "", "program of examples/demo; without one its site is left out")
	dash := flags.Bool("dashboard", false, "serve the dashboard over pipelines that strangers write into")
	own := flags.Bool("cards", false, "serve the dashboard over a board of our own, by a server that can be killed")
	modules := flags.String("modules", "", "node_modules, of which a map page takes MapLibre 5; without it they are left out")
	if flags.Parse(args) != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	sites := map[string]string{}
	g := work.New(ctx, slog.New(slog.NewTextHandler(errs, nil)))
	defer g.Stop()
	if *modules != "" {
		if err := startMaps(ctx, *modules, sites); err != nil {
			fmt.Fprintln(errs, "browsertest:", err)
			return 1
		}
	}
	if *dash {
		err := errors.Join(
			startStrangers(ctx, g, "strangers", sites, "/", "/some/where/"),
			startStrangers(ctx, g, "acts", sites, "/tools/"),
			startStrangers(ctx, g, "follow", sites, "/"),
		)
		if err != nil {
			fmt.Fprintln(errs, "browsertest:", err)
			return 1
		}
	}
	if *own {
		end, err := startCards(ctx, sites)
		if err != nil {
			fmt.Fprintln(errs, "browsertest:", err)
			return 1
		}
		defer end()
	}
	if *demo != "" {
		end, err := startDemo(ctx, *demo, sites, errs)
		if err != nil {
			fmt.Fprintln(errs, "browsertest:", err)
			return 1
		}
		defer end()
	}
	if err := json.NewEncoder(out).Encode(sites); err != nil {
		fmt.Fprintln(errs, "browsertest:", err)
		return 1
	}
	_, _ = io.Copy(io.Discard, in) // an end is an end
	return 0
}

// startDemo runs the demo, with the reference server as a process of its own, and
// adds the sites demo (the tour), board, messenger, dashboard and queue as the demo
// names them.
func startDemo(ctx context.Context, program string, sites map[string]string, errs io.Writer) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "-speed", "4")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	said := &announced{named: make(chan map[string]string, 1)}
	cmd.Stdout, cmd.Stderr = said, errs
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	end = func() {
		cancel()
		_ = cmd.Wait() // it was ended here
	}
	select {
	case named := <-said.named:
		maps.Copy(sites, named)
		return end, nil
	case <-time.After(30 * time.Second):
		end()
		return nil, errors.New("the demo did not name its addresses")
	}
}

// announced reads the addresses that the demo prints first, as "name: address"
// lines up to the one that names its data; the rest is for people.
type announced struct {
	named chan map[string]string
	done  bool
	rest  []byte
}

func (a *announced) Write(p []byte) (int, error) {
	if a.done {
		return len(p), nil
	}
	a.rest = append(a.rest, p...)
	sites := map[string]string{}
	for line := range bytes.Lines(a.rest) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		value = strings.TrimSpace(value)
		switch {
		case name == "data" && bytes.HasSuffix(line, []byte("\n")):
			a.done = true
			a.named <- sites
			return len(p), nil
		case strings.HasPrefix(name, "open this"):
			sites["demo"] = value
		case strings.HasPrefix(value, "http"):
			sites[name] = value
		}
	}
	return len(p), nil
}
