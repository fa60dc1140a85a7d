package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

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

// hooksOf are the hooks of an attempt. The caller closes them.
func (e *Engine) hooksOf(c queue.Claim, p task.Project, t task.Task, l stage.Launch, s work.Workspace) *hooks {
	h := &hooks{e: e, t: t, space: s, name: HookLog(t.ID, l.Run, c.Job.Attempt), env: map[string]string{
		"SIGNALBOX_ROLE": string(l.Role), "SIGNALBOX_STAGE": string(l.Stage), "SIGNALBOX_PHASE": string(l.Phase),
		"SIGNALBOX_REPO": p.Repo, "SIGNALBOX_BRANCH": t.Branch, "SIGNALBOX_SHA": t.State.Head,
		"SIGNALBOX_WORK_ITEM": t.WorkItemID, "SIGNALBOX_DOCS": p.Docs(t.WorkItemID),
	}}
	if e.Hooks != nil {
		h.set = p.Hooks
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
