package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
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
		by, changed, err := judgedBy(ctx, argv, s)
		if err != nil {
			return nil, err
		}
		r, err := e.runCommand(ctx, e.opt.VerifyTimeout, argv, s.Log, "", e.check(by))
		files := stage.ListPaths(changed[:min(len(changed), filesNamed)], max(0, len(changed)-filesNamed))
		switch r.Judge = s.SHA; {
		case err != nil || len(changed) == 0:
		case len(by.FromMain) > 0:
			r.Judge, r.Note = s.Base, "by main's "+files
			if r.Exit == 0 || s.Stage != stage.Development {
				break
			}
			// The work may need what it has changed there. A person has to let that pass before it leaves this stage.
			note := fmt.Sprintf("by the branch's own %s; by main's it is exit code %d", files, r.Exit)
			r, err = e.runCommand(ctx, e.opt.VerifyTimeout, argv, s.Log, " # by the branch's own "+files, e.check(s))
			r.Judge, r.Note = s.SHA, note
		case len(s.Policy.Protected) == 0:
			r.Note = fmt.Sprintf("by the branch's own %s, which the project's entry does not protect", files)
		default:
			r.Note = fmt.Sprintf("by the branch's own %s, let pass %s", files, stage.Provenance(s.Vouched).By())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Command, err)
		}
		r.Issuer, r.Proof, r.SHA, r.At = stage.IssuerService, stage.ProofExit, s.SHA, e.Now()
		e.Log.Info("a command of the registry was run", "task", s.Task.ID, "repo", s.Task.Repo,
			"sha", r.SHA, "command", r.Command, "exit", r.Exit, "took", e.Now().Sub(begun))
		if out = append(out, r); r.Exit != 0 {
			break
		}
	}
	return out, nil
}

// filesNamed is how many of the files that judge a result names.
const filesNamed = 3

// judgedBy returns the facts with which a command is run: where the branch has changed files that its programs read by
// themselves (changed), and no person has let that pass, they are main's.
func judgedBy(ctx context.Context, argv []string, s gates.Facts) (by gates.Facts, changed []string, err error) {
	read := checks.ReadBy(argv)
	if len(read) == 0 || s.Changes == nil || s.SHA == "" {
		return s, nil, nil
	}
	if changed, err = s.Changes.Changed(ctx, "", read); err != nil || len(changed) == 0 || len(s.Policy.Protected) == 0 {
		return s, changed, err
	}
	accepted, err := checks.Accepted(ctx, s, read)
	if err == nil && !accepted {
		s.FromMain = read
	}
	return s, changed, err
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
func (a *attempt) verified(ctx context.Context, ev stage.Event) (out []stage.Verified, err error) {
	tests := slices.Contains(gatesAt(a.machine, a.project, a.task.State, ev), checks.TestsPassed)
	if !tests || len(a.project.Verify) == 0 || !slices.Contains(a.machine.Info(a.launch.Stage).Good, ev.Agent.Filed.Verdict) {
		return nil, nil
	}
	s, err := a.subject(ctx, a.project, a.task, ev)
	if err != nil {
		return nil, err
	}
	if out, err = a.runCommands(ctx, a.project.Verify, s); err != nil {
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

func (l limited) RunCheck(ctx context.Context, argv []string, s gates.Facts) (int, string, error) {
	limit := l.e.opt.GateTimeout
	s, _, err := judgedBy(ctx, argv, s)
	if err != nil {
		return -1, "", err
	}
	r, err := l.e.runCommand(ctx, limit, argv, nil, "", l.e.check(s))
	if r.Expired != "" {
		text := fmt.Sprintf("%s did not end within %s and was ended", r.Command, stage.Span(limit))
		return -1, "", &fault.Error{Text: text, Again: l.attempt < looks}
	}
	return r.Exit, r.Tail, err
}

// HookLog names the log of the hooks of an attempt.
func HookLog(taskID, run int64, attempt int) work.LogName {
	return work.LogName{TaskID: taskID, Role: "hooks", Run: run, Attempt: attempt}
}

// hooks run the project's commands around one attempt of an agent.
type hooks struct {
	e     *Engine
	set   task.Hooks // empty where no command can be run
	t     task.Task
	space work.Workspace
	name  work.LogName
	env   map[string]string
	log   io.WriteCloser // nil until one prints
}

// hooks are those of the attempt. The caller closes them.
func (a *attempt) hooks(s work.Workspace) *hooks {
	h := &hooks{e: a.Engine, t: a.task, space: s, name: HookLog(a.task.ID, a.launch.Run, a.claim.Job.Attempt), env: map[string]string{
		"SIGNALBOX_ROLE": string(a.launch.Role), "SIGNALBOX_STAGE": string(a.launch.Stage), "SIGNALBOX_PHASE": string(a.launch.Phase),
		"SIGNALBOX_REPO": a.project.Repo, "SIGNALBOX_BRANCH": a.task.Branch, "SIGNALBOX_SHA": a.task.State.Head,
		"SIGNALBOX_WORK_ITEM": a.task.WorkItemID, "SIGNALBOX_DOCS": a.project.Docs(a.task.WorkItemID),
	}}
	if a.Hooks != nil {
		h.set = a.project.Hooks
	}
	return h
}

// before runs what comes before the agent. nil = it may begin; else the result of the attempt
// that has failed.
func (h *hooks) before(ctx context.Context, at work.Checkout) *work.Result {
	began := h.e.Now()
	exit, err := 0, error(nil)
	if !at.Created && len(h.set.AfterCreate) > 0 {
		if exit, err = h.run(ctx, "after_create", h.set.AfterCreate); err == nil {
			err = h.e.Hooks.Created(ctx, h.space)
		}
	}
	if err == nil {
		exit, err = h.run(ctx, "before_run", h.set.BeforeRun)
	}
	if err == nil {
		return nil
	}
	return &work.Result{Kind: work.ResultFailed, ExitCode: exit, Reason: err.Error(), StartedAt: began, FinishedAt: h.e.Now()}
}

// after runs what comes after the agent, unless the job was interrupted: a STOP leaves
// nothing to begin. What fails is in the task's story, and changes nothing.
func (h *hooks) after(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if _, err := h.run(ctx, "after_run", h.set.AfterRun); err != nil && ctx.Err() == nil {
		h.e.Log.Warn("a hook has failed", "task", h.t.ID, "repo", h.t.Repo, "err", err)
		h.e.journal(ctx, h.t, task.KindHook, task.Note{Result: err.Error()})
	}
}

// run runs the commands of a hook, up to the first that fails. The error has its exit code and
// its words for people.
func (h *hooks) run(ctx context.Context, name string, commands [][]string) (exit int, err error) {
	if len(commands) == 0 {
		return 0, nil
	}
	log, err := h.open(ctx)
	if err != nil {
		return -1, err
	}
	limit := cmp.Or(h.set.Timeout, task.DefaultHookTime)
	until := h.e.Now().Add(limit)
	for _, argv := range commands {
		by := func(ctx context.Context, argv []string) (int, string, error) {
			return h.e.Hooks.RunHook(ctx, h.space, work.Hook{Argv: argv, Env: h.env, Log: log})
		}
		r, err := h.e.runCommand(ctx, until.Sub(h.e.Now()), argv, log, " # "+name, by)
		why, said := fmt.Sprintf("the hook %s has failed: %s: ", name, r.Command), cmp.Or(r.Tail, "it printed nothing")
		switch {
		case r.Expired != "":
			return -1, fmt.Errorf("%sit did not end within %s: %s", why, stage.Span(limit), said)
		case err != nil:
			return r.Exit, fmt.Errorf("%s%s", why, fault.Words(err.Error()))
		case r.Exit != 0:
			return r.Exit, fmt.Errorf("%sexit code %d: %s", why, r.Exit, said)
		}
	}
	return 0, nil
}

// open is the log that all hooks of the attempt print to.
func (h *hooks) open(ctx context.Context) (io.Writer, error) {
	if h.e.Logs == nil {
		return io.Discard, nil
	}
	if h.log == nil {
		log, err := h.e.Logs.KeepLog(ctx, h.name)
		if err != nil {
			return nil, fmt.Errorf("the log of the hooks: %w", err)
		}
		h.log = log
	}
	return h.log, nil
}

// close ends the log.
func (h *hooks) close() {
	if h.log != nil {
		_ = h.log.Close() // what was written is there
	}
}
