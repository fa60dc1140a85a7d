//go:build linux

package agentcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// supervise runs the shim until it has ended everything of the run.
func (r *Runner) supervise(ctx context.Context, e execution) (ending, error) {
	none := ending{exit: -1}
	order, err := json.Marshal(shimOrder{
		Order: jail.Order{Argv: e.preset.argv(e), Jail: r.jail(e), Name: e.cell},
		Dir:   e.Dir, Stdin: e.preset.stdin(e.prompt), Out: e.log, Err: errLog(e.log),
		Record: e.record, Max: r.opt.LogMax, GraceMS: r.opt.TermGrace.Milliseconds(),
	})
	if err != nil {
		return none, err
	}
	cmd, line, err := r.startShim(e)
	if err != nil {
		return none, err
	}
	// The end of the line is the order to stop, and it comes by itself when this
	// process dies.
	defer line.Close()
	if _, err := line.Write(append(order, '\n')); err != nil {
		r.opt.Log.Warn("the shim took no order", "task", e.TaskID, "err", err)
	}
	f, err := r.follow(e)
	if err != nil {
		return none, err
	}
	var stopped atomic.Pointer[ending]
	stop := func(kind, why string) {
		stopped.CompareAndSwap(nil, &ending{stopped: kind, why: why})
		line.Close()
	}
	limit := time.AfterFunc(e.Agent.Timeout, func() { stop(work.ResultTimeout, fmt.Sprintf("stopped after %s", e.Agent.Timeout)) })
	cancel := context.AfterFunc(ctx, func() { stop(work.ResultCancelled, "stopped") })
	following := run.New(context.Background(), r.opt.Log) // also what it prints while it is stopped
	following.Go("follow", func(ctx context.Context) { f.watch(ctx, stop) })
	following.Go("room", func(ctx context.Context) { r.bound(ctx, e, stop) })
	err = cmd.Wait()
	limit.Stop()
	cancel()
	following.Stop()
	var out ending
	if why := stopped.Load(); why != nil {
		out = *why
	}
	out.exit = -1 // the shim did not live to write it
	if rec, err := readRecord(e.record); err == nil && rec.Exit != nil {
		out.exit, out.missing = *rec.Exit, rec.Missing
	}
	out = f.end(out)
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		return none, err
	}
	if code := cmd.ProcessState.ExitCode(); out.exit < 0 && code > 0 {
		return none, fmt.Errorf("the shim failed with exit code %d: %s", code, tail(errLog(e.log), reasonMax))
	}
	return out, nil
}

// lookOutput is how often the output of an execution is read.
const lookOutput = 250 * time.Millisecond

// watch looks until ctx ends.
func (f *follower) watch(ctx context.Context, stop func(kind, why string)) {
	tick := time.NewTicker(lookOutput)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if kind, why := f.look(); kind != "" {
				stop(kind, why)
			}
		}
	}
}

// startShim starts the shim in a session of its own, and returns the writing end
// of its standard input.
func (r *Runner) startShim(e execution) (*exec.Cmd, *os.File, error) {
	in, line, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	errs, err := output(errLog(e.log)) // the shim's own words come here as well
	if err != nil {
		line.Close()
		return nil, nil, err
	}
	defer errs.Close()
	cmd := exec.Command(r.opt.Shim[0], r.opt.Shim[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stderr, cmd.Env = e.Dir, in, errs, pairs(e.env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		line.Close()
		return nil, nil, fmt.Errorf("the shim cannot be started: %w", err)
	}
	return cmd, line, nil
}
