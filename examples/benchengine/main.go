// Command benchengine measures whole lives of tasks through the engine on real
// stores: a card is moved to To Analyse, its webhook comes, and it is analysed,
// approved, developed, reviewed, tested, staged, merged and deployed. Board, git
// host, git and agents are doubles that answer at once, so that what is measured
// is the engine and its store. Beside the lives, the store has other live tasks.
//
// Only ratios of one run mean anything: of one size to another, of one change of
// the program to another in turns. Each measurement is a process of its own.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Sets of features.
const (
	featuresNone    = "none"
	featuresDefault = "default" // what internal/app switches on by itself
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "benchengine:", err)
		os.Exit(1)
	}
}

// plan is the command line, decoded.
type plan struct {
	extent

	cells []cell
	json  bool
}

// read reads a command line. An error names the flag and what it should be.
func read(args []string) (p plan, err error) {
	f := flag.NewFlagSet("benchengine", flag.ContinueOnError)
	quick := f.Bool("quick", false, "only -live 0,1000 and short: a few minutes")
	stores := f.String("stores", storeSQLite+","+storePostgres, "stores, separated by commas")
	features := f.String("features", featuresNone+","+featuresDefault,
		"sets of features, separated by commas: default is what the reference server switches on")
	live := f.String("live", "0,1000,10000,100000", "how many other live tasks there are, separated by commas")
	f.IntVar(&p.lives, "lives", 200, "lives that are led")
	f.IntVar(&p.inflight, "inflight", 8, "lives at the same time")
	f.DurationVar(&p.span, "span", 30*time.Second, "no life begins after this long")
	f.DurationVar(&p.limit, "limit", 5*time.Minute, "no life may take longer, and no page")
	f.DurationVar(&p.idle, "idle", time.Minute, "how long the engine is watched without work: in a minute each of its loops comes round")
	f.StringVar(&p.dir, "dir", "", "where SQLite's file is made (default: the directory of temporary files)")
	f.StringVar(&p.profile, "profile", "",
		"a directory for the lives' processor profile (cpu.pprof) and their statements (statements.txt); of one measurement")
	f.BoolVar(&p.json, "json", false, "print JSON in place of a table")
	if err := f.Parse(args); err != nil {
		return p, err
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *quick {
		for name, short := range map[string]string{"live": "0,1000", "lives": "60", "span": "10s", "idle": "5s"} {
			if !given[name] {
				if err := f.Set(name, short); err != nil {
					return p, err
				}
			}
		}
	}
	if f.NArg() > 0 {
		return p, fmt.Errorf("%q is no flag: -h lists them", f.Arg(0))
	}
	for name, n := range map[string]int{"lives": p.lives, "inflight": p.inflight} {
		if n < 1 {
			return p, fmt.Errorf("-%s is %d, want at least 1", name, n)
		}
	}
	for name, d := range map[string]time.Duration{"span": p.span, "limit": p.limit, "idle": p.idle} {
		if d <= 0 {
			return p, fmt.Errorf("-%s is %s, want more than 0", name, d)
		}
	}
	if err := p.choose(*stores, *features, *live); err != nil {
		return p, err
	}
	if p.profile != "" && len(p.cells) > 1 {
		return p, fmt.Errorf("-profile is of one measurement, not of %d: name one of -stores, -features and -live", len(p.cells))
	}
	return p, nil
}

// choose makes the cells of three lists.
func (p *plan) choose(stores, features, live string) error {
	for name, list := range map[string]struct {
		given string
		known []string
	}{"stores": {stores, []string{storeSQLite, storePostgres}}, "features": {features, []string{featuresNone, featuresDefault}}} {
		for part := range strings.SplitSeq(list.given, ",") {
			if !slices.Contains(list.known, part) {
				return fmt.Errorf("-%s has %q, want %s", name, part, strings.Join(list.known, " or "))
			}
		}
	}
	for store := range strings.SplitSeq(stores, ",") {
		for set := range strings.SplitSeq(features, ",") {
			for part := range strings.SplitSeq(live, ",") {
				n, err := strconv.Atoi(part)
				if err != nil || n < 0 {
					return fmt.Errorf("-live has %q, want numbers from 0, separated by commas", part)
				}
				p.cells = append(p.cells, cell{store, set, n})
			}
		}
	}
	return nil
}

// bench measures the plan of a command line and prints the result.
func bench(ctx context.Context, args []string, out io.Writer) error {
	p, err := read(args)
	if err != nil {
		return err
	}
	load := loads()
	var results []result
	if len(p.cells) == 1 {
		log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
		r, err := measure(ctx, p.cells[0], p.extent, log)
		if err != nil {
			return err
		}
		results = append(results, r)
	} else {
		for _, c := range p.cells {
			fmt.Fprintf(os.Stderr, "%s %s, features %s, %d other live tasks\n", time.Now().Format("15:04:05"), c.Store, c.Features, c.Live)
			r, err := apart(ctx, c, p.extent)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				r = result{cell: c, Error: err.Error()}
			}
			results = append(results, r)
		}
	}
	if p.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	fmt.Fprint(out, table(results))
	_, err = fmt.Fprintf(out, "\n%s; %d cores; load %s before, %s after; %s; %d lives at a time; fsync on.\n",
		time.Now().UTC().Format("2006-01-02 15:04"), runtime.NumCPU(), load, loads(), runtime.Version(), p.inflight)
	return err
}

// apart measures a cell in a process of its own, so that memory and processor
// time are its alone.
func apart(ctx context.Context, c cell, x extent) (result, error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	cmd := exec.CommandContext(ctx, self, "-json", "-dir", x.dir,
		"-stores", c.Store, "-features", c.Features, "-live", strconv.Itoa(c.Live),
		"-lives", strconv.Itoa(x.lives), "-inflight", strconv.Itoa(x.inflight),
		"-span", x.span.String(), "-limit", x.limit.String(), "-idle", x.idle.String())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it clears away behind itself
	cmd.WaitDelay = time.Minute
	var body bytes.Buffer
	cmd.Stdout, cmd.Stderr = &body, os.Stderr
	if err := cmd.Run(); err != nil {
		return result{}, err
	}
	var list []result
	if err := json.Unmarshal(body.Bytes(), &list); err != nil || len(list) != 1 {
		return result{}, errors.Join(fmt.Errorf("the measurement printed %d results", len(list)), err)
	}
	return list[0], nil
}

func loads() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
