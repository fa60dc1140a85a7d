package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Commands of the registry are run as CI of a repository that has none, to verify what a tester
// calls good, as gates, and as hooks around an agent. Each of them has a time limit, ends when
// nobody waits for it any more, and has left no process when it returns.

// tailMax is how much is kept of what a command has written, in bytes.
const tailMax = 2000

// execution runs a command; see gates.Commands and work.Hooks.
type execution func(ctx context.Context, argv []string) (exit int, said string, err error)

// check runs commands in checkouts of a commit.
func (e *Engine) check(s gates.Facts) execution {
	return func(ctx context.Context, argv []string) (int, string, error) {
		if e.Commands == nil {
			return -1, "", errors.New("no command can be run here")
		}
		return e.Commands.RunCheck(ctx, argv, s)
	}
}

// runCommand runs a command, no longer than a limit. It is an error when it could not be run. The log
// may be nil; as says what for it is run there.
func (e *Engine) runCommand(
	ctx context.Context, limit time.Duration, argv []string, log io.Writer, as string, by execution,
) (r stage.Verified, err error) {
	r.Command = strings.Join(argv, " ")
	if log != nil {
		_, _ = fmt.Fprintf(log, "$ %s%s\n", r.Command, as) // a log that cannot be written changes no result
	}
	within, cancel := e.Scheduler.WithTimeout(ctx, limit)
	defer cancel()
	exit, said, err := by(within, argv)
	said = strings.TrimSpace(said)
	r.Exit, r.Tail = exit, strings.ToValidUTF8(said[max(0, len(said)-tailMax):], "")
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		r.Exit, r.Expired, err = -1, limit.String(), nil
	}
	return r, err
}

// runCommands runs commands on a commit, up to the first that fails: the rest would change nothing.
func (e *Engine) runCommands(ctx context.Context, commands [][]string, s gates.Facts) (out []stage.Verified, err error) {
	for _, argv := range commands {
		begun := e.Now()
		r, err := e.runCommand(ctx, e.opt.VerifyTimeout, argv, s.Log, "", e.check(s))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Command, err)
		}
		r.SHA = s.SHA
		e.Log.Info("a command of the registry was run", "task", s.Task.ID, "repo", s.Task.Repo,
			"sha", r.SHA, "command", r.Command, "exit", r.Exit, "took", e.Now().Sub(begun))
		if out = append(out, r); r.Exit != 0 {
			break
		}
	}
	return out, nil
}

// until is a context that ends with a cause once a task, which another process may change too, is
// such that what is run for it serves nobody.
func (e *Engine) until(ctx context.Context, taskID int64, cause error, over func(task.Task) bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	g := run.NewOn(e.Scheduler, ctx, e.Log)
	g.Go("overtaken", func(ctx context.Context) {
		for e.Wait(ctx, e.opt.Poll) == nil {
			if now, err := e.Store.Task(ctx, taskID); err == nil && over(now) {
				cancel(cause)
				return
			}
		}
	})
	return ctx, g.Stop
}

// verified runs the commands of a project on what its tester calls good, in the job of the run: it
// may take long, a STOP ends it, and no event waits for it.
func (e *Engine) verified(
	ctx context.Context, p task.Project, t task.Task, l stage.Launch, ev stage.Event,
) (out []stage.Verified, err error) {
	if l.Stage != stage.Testing || len(p.Verify) == 0 || ev.Agent.Questions != "" || ev.Agent.Filed.Verdict != checks.Passed {
		return nil, nil
	}
	s, err := e.subject(ctx, p, t, ev)
	if err != nil {
		return nil, err
	}
	if out, err = e.runCommands(ctx, p.Verify, s); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return out, nil
}

// limited runs the commands of gates under their time limit. One that is not done by then
// is tried again, up to looks times in all.
type limited struct {
	e       *Engine
	attempt int
}

// RunCheck implements gates.Commands.
func (l limited) RunCheck(ctx context.Context, argv []string, s gates.Facts) (int, string, error) {
	limit := l.e.opt.GateTimeout
	r, err := l.e.runCommand(ctx, limit, argv, nil, "", l.e.check(s))
	if r.Expired != "" {
		text := fmt.Sprintf("%s did not end within %s and was ended", r.Command, stage.Span(limit))
		return -1, "", &fault.Error{Text: text, Again: l.attempt < looks}
	}
	return r.Exit, r.Tail, err
}
