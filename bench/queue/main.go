// Command queue measures the queue beside others on this machine, now: River on
// the same private PostgreSQL with durable settings, River's SQLite driver and
// goqite on files. What is compared runs in turns, in short rounds, and the table
// shows medians and ratios: on a shared machine nothing else means much.
//
// It is a module of its own, so that what it compares with is no dependency of
// anything else.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/postgres/pgtest"
)

func main() {
	quick := flag.Bool("quick", false, "fewer and shorter rounds: about two minutes")
	only := flag.String("only", "", "parts to run, separated by commas: claims, blocked, start, stages, acks, sqlite")
	riverSQLite := flag.String("riversqlite", "", "program that measures River's SQLite driver")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := bench(ctx, sizes(*quick), *only, *riverSQLite)
	stop()
	os.Exit(code)
}

// size is how much is measured.
type size struct {
	rounds  int
	seconds float64 // that a round should take, about
	blocked []int
	starts  int // of jobs whose start is timed, in each round
}

func sizes(quick bool) size {
	if quick {
		return size{rounds: 3, seconds: 0.8, blocked: []int{0, 100_000}, starts: 40}
	}
	return size{rounds: 5, seconds: 1.2, blocked: []int{0, 100_000, 1_000_000}, starts: 60}
}

// part is one part of the table.
type part struct {
	name string
	run  func(context.Context, *lab) error
}

var parts = []part{
	{"claims", claims}, {"start", starts}, {"stages", stages}, {"acks", acks}, {"blocked", blocked}, {"sqlite", sqlites},
}

// lab is what the parts share.
type lab struct {
	size

	server      *pgtest.Server
	url         string // of its database
	riverSQLite string
	dir         string
	table       table
	rowed       int
}

func bench(ctx context.Context, s size, only, riverSQLite string) (code int) {
	t := &bencher{}
	defer t.cleanup()
	dir, err := os.MkdirTemp("", "bench-queue")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	if t.failed {
		return 1
	}
	l := &lab{size: s, server: server, url: server.URL("postgres"), riverSQLite: riverSQLite, dir: dir}
	begun, before := time.Now(), load()
	for _, p := range parts {
		if only != "" && !strings.Contains(","+only+",", ","+p.name+",") {
			continue
		}
		fmt.Fprintln(os.Stderr, time.Since(begun).Round(time.Second), p.name)
		if err := p.run(ctx, l); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
			code = 1
		}
	}
	_, _ = fmt.Fprintf(os.Stdout, "%s\n%s; %d cores; load %s before, %s after; %s; medians of %d rounds (SQLite beside others 3, blocked jobs %d), in turns; fsync on.\n",
		l.table.String(), time.Now().UTC().Format("2006-01-02 15:04"), runtime.NumCPU(), before, load(), runtime.Version(), s.rounds, 2*s.rounds+1)
	return code
}

func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:1], "")
}

// bencher is a pgtest.TB outside of a test.
type bencher struct {
	failed   bool
	cleanups []func()
}

func (b *bencher) Helper()          {}
func (b *bencher) Cleanup(f func()) { b.cleanups = append(b.cleanups, f) }
func (b *bencher) Failed() bool     { return b.failed }
func (b *bencher) Log(args ...any)  { fmt.Fprintln(os.Stderr, args...) }
func (b *bencher) Fatal(args ...any) {
	b.failed = true
	b.Log(args...)
}

func (b *bencher) cleanup() {
	for len(b.cleanups) > 0 {
		last := len(b.cleanups) - 1
		f := b.cleanups[last]
		b.cleanups = b.cleanups[:last]
		f()
	}
}
