package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	work "github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
)

// play runs the demonstration until ctx ends or, with -exit, every card is done.
func play(ctx context.Context, o options, out io.Writer) (s summary, err error) {
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "signalbox-demo-"); err != nil {
			return s, err
		}
	} else if dir, err = filepath.Abs(dir); err != nil {
		return s, err
	} else if err = os.MkdirAll(dir, 0o700); err != nil {
		return s, err
	}
	w, err := newWorld(ctx, o, dir)
	defer w.close()
	if err != nil {
		return s, err
	}
	if s, err = w.play(ctx, out); err != nil && !errors.Is(err, context.Canceled) {
		return s, fmt.Errorf("%w\nthe server's log is %s", err, w.log())
	}
	if o.dir == "" {
		err = errors.Join(err, os.RemoveAll(dir), w.dropSchema(context.WithoutCancel(ctx)))
	}
	return s, err
}

// dropSchema removes what the demonstration has put into PostgreSQL.
func (w *world) dropSchema(ctx context.Context) error {
	if w.o.database == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, w.o.database)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is lost with it
	_, err = conn.Exec(ctx, "drop schema if exists "+pgx.Identifier{w.schema}.Sanitize()+" cascade")
	return err
}

func (w *world) log() string { return filepath.Join(w.dir, "server.log") }

func (w *world) play(ctx context.Context, out io.Writer) (summary, error) {
	outer := ctx
	g := work.New(ctx, slog.New(slog.NewTextHandler(out, nil)))
	defer g.Stop()
	k := &keeper{w: w, rand: rand.New(rand.NewPCG(w.o.seed, 3)), dead: map[int]bool{}}
	srv := &http.Server{Handler: w.handler(k), ReadHeaderTimeout: 5 * time.Second}
	g.Go("page", func(context.Context) { _ = srv.Serve(w.page) }) // ends with Close below
	defer srv.Close()
	w.announce(out)
	if w.balancer != nil {
		g.Go("balancer", func(context.Context) { _ = srv.Serve(w.balancer) })
	}
	for _, r := range w.replicas {
		g.Go("server", func(ctx context.Context) { k.run(ctx, r) })
	}
	if err := w.ready(g.Context()); err != nil {
		return summary{}, err
	}
	if err := w.deal(g.Context()); err != nil {
		return summary{}, err
	}
	g.Go("teller", func(ctx context.Context) { w.printEvents(ctx, out) })
	g.Go("rogue", w.killStuck)
	if !w.o.manual {
		g.Go("people", w.people)
		g.Go("colleague", w.colleague)
	}
	g.Go("killer", k.kill)
	g.Go("strikes", k.watch)
	g.Go("pauser", k.pause)
	if !w.o.exit {
		<-ctx.Done()
		_ = srv.Close() // what serves the page waits for it
		g.Stop()
		return summary{}, outer.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.limit)
	defer cancel()
	err := w.finished(ctx, k)
	s, sum := w.sum(context.WithoutCancel(ctx))
	s.Restarts = k.restarts()
	fmt.Fprintln(out, "\nThe messenger shows:")
	for _, m := range w.chat.Messages() {
		fmt.Fprintf(out, "\n  %s\n", strings.ReplaceAll(strings.TrimSpace(telegramtest.Plain(m.Text)), "\n", "\n  "))
	}
	return s, errors.Join(err, sum, s.broken())
}

// ready waits until the server answers.
func (w *world) ready(ctx context.Context) error {
	var said any
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline) && pause(ctx, 50*time.Millisecond); {
		if w.api(ctx, "/readyz", &said) == nil {
			return nil
		}
	}
	return cmp.Or(ctx.Err(), errors.New("the server does not get ready"))
}

// countComments counts the comments of the service that have some words.
func (w *world) countComments(item, words string) (n int) {
	for _, c := range w.board.Comments(item) {
		if strings.Contains(c.HTML, words) {
			n++
		}
	}
	return n
}

// pause waits for the next turn; false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// agentOf finds the process of the agent that works on an item. Its own number is not known
// to itself: in a jail of namespaces it is another one.
func agentOf(item string) (pid int, ok bool) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, name := range names {
		dir := filepath.Dir(name)
		argv, _ := os.ReadFile(name) // it may have ended
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		isAgent := strings.HasSuffix(string(argv), "\x00agent\x00")
		if isAgent && strings.Contains("\x00"+string(env), "\x00SIGNALBOX_WORK_ITEM="+item+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(dir))
			return pid, err == nil
		}
	}
	return 0, false
}

// killStuck kills the agent that hangs.
func (w *world) killStuck(ctx context.Context) {
	for pause(ctx, 50*time.Millisecond) {
		marks, _ := filepath.Glob(filepath.Join(w.outer(), "stuck-*-*[0-9]"))
		for _, mark := range marks {
			if !pause(ctx, w.scaled(time.Second)) {
				return
			}
			pid, ok := agentOf(strings.TrimPrefix(filepath.Base(mark), "stuck-"))
			if !ok {
				continue
			}
			if err := os.WriteFile(mark+".killed", nil, 0o600); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
				_ = os.Remove(mark)
			}
		}
	}
}
