//go:build linux

package agentcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Exit codes of the shim for failures of its own.
const (
	exitNoOrder = 125
	exitNoStart = 127
)

// leftoverGrace bounds the time of processes that outlive their agent.
const leftoverGrace = 2 * time.Second

// RunShim is the main function of the shim; it returns the exit code. It reads
// its order from standard input and takes the end of that for the order to stop.
// The agent has a session of its own, an environment of allow-listed names, and its
// output in files whose size is bounded. When it ends, is stopped, or the service dies,
// the shim ends every process that it has started: TERM, a grace, KILL, and again until none is left.
func RunShim() int { return jail.RunShim("agent-shim", exitNoOrder, runShim) }

// runShim runs the agent and everything around it.
func runShim(in io.Reader, order shimOrder) (int, error) {
	// Whatever the agent's processes do, orphans come back to this one.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return exitNoStart, err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // its memory is nobody else's
		return exitNoStart, err
	}
	rec, err := claimRecord(order.Record)
	if err != nil {
		return exitNoStart, err
	}
	out, err := output(order.Out)
	if err != nil {
		return exitNoStart, err
	}
	defer out.Close()
	errs, err := output(order.Err)
	if err != nil {
		return exitNoStart, err
	}
	defer errs.Close()
	code := exitNoStart
	if pid, err := start(order, out, errs); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			rec.Missing = err.Error()
		}
		fmt.Fprintln(errs, "the agent cannot be started:", err)
	} else {
		keeper := run.New(context.Background(), nil)
		keeper.Go("keeper", func(ctx context.Context) { keep(ctx, &rec, order, out, errs) })
		code = watch(in, pid, time.Duration(order.GraceMS)*time.Millisecond)
		keeper.Stop()
	}
	if err := order.Clear(context.Background()); err != nil {
		return exitNoStart, err // the service tries again
	}
	rec.Exit = &code
	return code, errors.Join(rec.write(order.Record), shrink(order.Out, order.Max), shrink(order.Err, order.Max))
}

// claimRecord puts the shim into the run's record, before there is an agent.
func claimRecord(name string) (record, error) {
	rec, err := readRecord(name)
	if err != nil {
		return rec, err
	}
	self, ok := lookup(os.Getpid())
	if !ok {
		return rec, errors.New("/proc does not show this process")
	}
	rec.Shim = self.ident
	return rec, rec.write(name)
}

func output(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
}

// start starts the agent in a process group of its own, and in its jail.
func start(o shimOrder, out, errs *os.File) (int, error) {
	stdin, err := os.Open(o.Stdin)
	if err != nil {
		return 0, err
	}
	defer stdin.Close()
	path := o.Argv[0]
	if o.Jail == nil || o.Jail.Box.Kind != work.BoxContainer || strings.ContainsRune(path, '/') {
		if path, err = lookPath(path, o.Dir); err != nil {
			return 0, err
		}
	}
	attr := &os.ProcAttr{Dir: o.Dir, Env: os.Environ(), Files: []*os.File{stdin, out, errs}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	p, err := o.Start(path, o.Stdin, attr)
	if err != nil {
		return 0, err
	}
	return p.Pid, nil // it is waited for by pid, with everybody else's orphans
}

// keep bounds the logs, and notes every second which processes below the shim
// have dropped the mark, so that they are known should the shim be killed.
func keep(ctx context.Context, rec *record, o shimOrder, logs ...*os.File) {
	tick := time.NewTicker(time.Second / 4)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n%4 == 0 && note(rec) {
			_ = rec.write(o.Record) // the next look tries again
		}
		for _, log := range logs {
			trim(log, o.Max)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// note adds new strays to the record and reports whether there are any.
func note(rec *record) bool {
	before := len(rec.Strays)
	rec.Strays = slices.DeleteFunc(rec.Strays, func(p ident) bool { return alive(p) == nil })
	changed := len(rec.Strays) != before
	marked := func(p process) (yes, sure bool) { return isMarked(p, rec.Token) }
	for _, p := range children() {
		if e, sure := readProc(p.PID, marked); sure && !e.ours && !e.dead && e.ident == p && !slices.Contains(rec.Strays, p) {
			rec.Strays, changed = append(rec.Strays, p), true
		}
	}
	return changed
}

// trim gives the middle of a long log back to the file system. Where that cannot
// make holes, a log that is much too long begins anew behind its head.
func trim(log *os.File, limit int64) {
	info, err := log.Stat()
	if err != nil || info.Size() <= 2*limit {
		return
	}
	keep := half(limit)
	err = unix.Fallocate(int(log.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, keep, info.Size()-2*limit)
	if err != nil && info.Size() > 8*limit && log.Truncate(keep) == nil {
		fmt.Fprintln(log, "\n[output was cut out here]")
	}
}

// watch waits for the agent, ends what outlives it, and reaps every process
// that comes back to the shim. The order to stop is the end of in, or TERM.
func watch(in io.Reader, pid int, grace time.Duration) int {
	stop := make(chan os.Signal, 4)
	ossignal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	g := run.New(context.Background(), nil) // ends with the process
	g.Go("stop", func(context.Context) {
		_, _ = io.Copy(io.Discard, in)
		stop <- syscall.SIGTERM
	})
	leftovers := run.New(context.Background(), nil)
	defer leftovers.Stop() // it has found processes that the reaper has seen the last of: others are not to be ended
	var stopping atomic.Bool
	code := exitNoStart // read when the reaper has ended
	reaped := make(chan struct{})
	// A look that finds nobody may have missed somebody: only the reaper is sure.
	below := func() ([]ident, bool) {
		select {
		case <-reaped:
			return nil, true
		default:
			return children(), false
		}
	}
	g.Go("reaper", func(context.Context) {
		defer close(reaped)
		code = reap(pid, func() {
			if !stopping.Load() {
				leftovers.Go("leftovers", func(ctx context.Context) { endAll(ctx, below, leftoverGrace) })
			}
		})
	})
	select {
	case <-reaped:
	case <-stop:
		stopping.Store(true)
		endAll(context.Background(), below, grace)
	}
	return code
}

// endAll brings down what is below until the reaper has seen the last of them.
func endAll(ctx context.Context, below func() ([]ident, bool), grace time.Duration) {
	for ctx.Err() == nil {
		if _, all := below(); all {
			return
		}
		_ = end(ctx, below, grace) // what cannot be ended now is tried again
		grace = 0
	}
}

// reap waits for every child until there is none and returns the agent's exit
// code. Gone is called when the agent has ended.
func reap(pid int, gone func()) int {
	code := exitNoStart
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no child is left
			return code
		case got == pid:
			if code = ws.ExitStatus(); ws.Signaled() {
				code = 128 + int(ws.Signal())
			}
			gone()
		}
	}
}

// lookPath finds an executable as a shell would, relative to the directory.
func lookPath(name, dir string) (string, error) {
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	for _, p := range filepath.SplitList(os.Getenv("PATH")) {
		full := filepath.Join(p, name)
		if info, err := os.Stat(full); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 && filepath.IsAbs(full) {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: %w", name, exec.ErrNotFound)
}
