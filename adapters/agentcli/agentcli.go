// Package agentcli runs coding agents that are command line tools: Claude Code,
// Codex, Gemini CLI, OpenCode, or any command.
//
// An agent runs under a shim, a small process of this program (RunShim): in a
// session of its own, with an environment of allow-listed names, its output in
// capped files. When the agent ends, is stopped, or the service dies, the shim
// ends every process that the agent has started (TERM, a grace, KILL, and again
// until none is left). Quiesce does the same for what a dead service and a dead
// shim have left, by a mark in the processes' environment.
//
// Usage is normalised: tokens are disjoint, whatever a tool's own convention.
package agentcli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Options of a Runner. LogDir, StateDir and Shim are required.
type Options struct {
	Default   string            // preset or command line for commands that name none; default "claude"
	Presets   map[string]Preset // added to the built-in ones
	LogDir    string            // one directory for each task
	LogMax    int64             // bytes kept of each output; default 32 MiB: the first and the last half
	StateDir  string            // what is running
	HomeDir   string            // HOME of agents, one below it for each task; empty = the service's own HOME
	TermGrace time.Duration     // between TERM and KILL; default 20 s
	EnvAllow  []string          // names of our environment that agents see, "X_*" for a prefix; nil = DefaultEnv
	Shim      []string          // argv that ends in RunShim, e.g. /proc/self/exe agent-shim
	Prices    map[string]Price  // of models, for tools that report no cost
	Log       *slog.Logger      // nil discards
	Now       func() time.Time
}

// Price is what tokens cost, in millionths of a dollar for a million tokens.
type Price struct{ Input, Output, CacheRead, CacheCreate int64 }

// DefaultEnv lists the names that agents see when Options.EnvAllow is nil.
func DefaultEnv() []string {
	return []string{
		"PATH", "LANG", "LC_*", "TZ", "TERM", "TMPDIR", "SHELL", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY",
		"NO_PROXY", "ANTHROPIC_*", "CLAUDE_*", "OPENAI_*", "CODEX_*", "GEMINI_*", "GOOGLE_*", "OPENCODE_*", "GO*", "NODE_*", "NPM_CONFIG_*",
	}
}

// Runner implements work.Agents.
type Runner struct{ opt Options }

// New checks the options.
func New(o Options) (*Runner, error) {
	switch {
	case o.LogDir == "":
		return nil, errors.New("agentcli: Options.LogDir is missing")
	case o.StateDir == "":
		return nil, errors.New("agentcli: Options.StateDir is missing")
	case len(o.Shim) == 0:
		return nil, errors.New("agentcli: Options.Shim is missing: the command that ends in RunShim")
	}
	if o.Default == "" {
		o.Default = "claude"
	}
	if o.LogMax <= 0 {
		o.LogMax = 32 << 20
	}
	if o.TermGrace <= 0 {
		o.TermGrace = 20 * time.Second
	}
	if o.EnvAllow == nil {
		o.EnvAllow = DefaultEnv()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	for _, dir := range []*string{&o.LogDir, &o.StateDir, &o.HomeDir} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return nil, fmt.Errorf("agentcli: %w", err)
		}
		*dir = abs
		if err := os.MkdirAll(abs, 0o700); err != nil {
			return nil, fmt.Errorf("agentcli: %w", err)
		}
	}
	r := &Runner{opt: o}
	_, err := r.preset(o.Default)
	return r, err
}

// Check reports whether a preset or command can be run here.
func (r *Runner) Check(agent string) error {
	p, err := r.preset(agent)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(p.Argv[0]); err != nil {
		return fmt.Errorf("agentcli: %w", err)
	}
	return nil
}

// execution is one run and its files.
type execution struct {
	work.Command
	preset Preset
	token  string // the mark of every process
	record string // file in StateDir
	log    string // stdout; stderr is beside it
	prompt string // file
}

// Run implements work.Agents.
func (r *Runner) Run(ctx context.Context, c work.Command) work.Result {
	started := r.opt.Now()
	res := r.run(ctx, c)
	res.StartedAt, res.FinishedAt = started, r.opt.Now()
	if cost := r.opt.Prices[res.Usage.Model]; res.Usage.MicroUSD == 0 {
		u := res.Usage
		res.Usage.MicroUSD = (u.Input*cost.Input + u.Output*cost.Output + u.CacheRead*cost.CacheRead + u.CacheCreate*cost.CacheCreate + 500_000) / 1_000_000
	}
	return res
}

func broken(err error) work.Result {
	return work.Result{Kind: work.ResultFailed, ExitCode: -1, Reason: err.Error()}
}

func (r *Runner) run(ctx context.Context, c work.Command) work.Result {
	e, err := r.prepare(c)
	if err != nil {
		return broken(err)
	}
	exit, why, err := r.supervise(ctx, e)
	if sweep := r.Quiesce(context.WithoutCancel(ctx), c.TaskID); sweep != nil {
		err = errors.Join(err, sweep)
	}
	if err != nil {
		return broken(err)
	}
	return r.judge(e, exit, why)
}

// prepare makes the files of a run: the record first, so that from here on
// Quiesce knows of it.
func (r *Runner) prepare(c work.Command) (execution, error) {
	e := execution{Command: c, token: rand.Text()}
	agent := c.Agent
	if agent == "" {
		agent = r.opt.Default
	}
	var err error
	if e.preset, err = r.preset(agent); err != nil {
		return e, err
	}
	dir := filepath.Join(r.opt.LogDir, fmt.Sprintf("task-%d", c.TaskID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return e, err
	}
	base := filepath.Join(dir, fmt.Sprintf("%03d-%s-%d", c.Run, c.Role, c.Attempt))
	e.log, e.prompt = base+".out", base+".prompt"
	if err := os.WriteFile(e.prompt, []byte(c.Prompt), 0o600); err != nil {
		return e, err
	}
	e.record = filepath.Join(r.opt.StateDir, fmt.Sprintf("%d.%d.%d.json", c.TaskID, c.Run, c.Attempt))
	body, err := json.Marshal(record{TaskID: c.TaskID, Token: e.token, Dir: c.Dir})
	if err == nil {
		err = os.WriteFile(e.record, body, 0o600)
	}
	return e, err
}

// Why a run was stopped by us.
const (
	notStopped = ""
	timedOut   = "timeout"
	cancelled  = "cancelled"
)

// supervise runs the shim until nothing of the run is left.
func (r *Runner) supervise(ctx context.Context, e execution) (exit int, why string, err error) {
	order, err := json.Marshal(shimOrder{
		Argv: e.preset.argv(e.Prompt, e.prompt), Dir: e.Dir, Stdin: e.preset.stdin(e.prompt), Out: e.log, Err: errLog(e.log),
		Max: r.opt.LogMax, GraceMS: r.opt.TermGrace.Milliseconds(),
	})
	if err != nil {
		return -1, "", err
	}
	// The shim reads its order from a pipe whose other end only we hold: when
	// this process dies, it sees the end of the pipe.
	in, out, err := os.Pipe()
	if err != nil {
		return -1, "", err
	}
	defer out.Close()
	cmd := exec.Command(r.opt.Shim[0], r.opt.Shim[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Env = e.Dir, in, r.environment(e)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	in.Close()
	if err != nil {
		return -1, "", fmt.Errorf("agentcli: the shim cannot be started: %w", err)
	}
	if _, err := out.Write(append(order, '\n')); err != nil {
		r.opt.Log.Warn("the shim took no order", "task", e.TaskID, "err", err)
	}
	limit := e.Timeout
	if limit <= 0 {
		limit = time.Hour
	}
	timer := time.AfterFunc(limit, func() { out.Close() }) // the end of the pipe is the order to stop
	stop := context.AfterFunc(ctx, func() { out.Close() })
	err = cmd.Wait()
	inTime := timer.Stop()
	stop()
	switch {
	case ctx.Err() != nil:
		why = cancelled
	case !inTime:
		why = timedOut
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return -1, why, err
	}
	return cmd.ProcessState.ExitCode(), why, nil
}

func errLog(log string) string { return strings.TrimSuffix(log, ".out") + ".err" }

// environment is what the agent sees: allow-listed names, the command's own,
// and the run's facts.
func (r *Runner) environment(e execution) []string {
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if allowed(r.opt.EnvAllow, name) {
			env[name] = value
		}
	}
	delete(env, "CLAUDECODE") // the mark of a nested session
	env["HOME"] = os.Getenv("HOME")
	if r.opt.HomeDir != "" {
		home := filepath.Join(r.opt.HomeDir, fmt.Sprintf("task-%d", e.TaskID))
		if err := os.MkdirAll(home, 0o700); err == nil {
			env["HOME"] = home
		}
	}
	for name, value := range e.Env {
		if strings.HasPrefix(name, "SIGNALBOX_") && !strings.ContainsRune(value, 0) {
			env[name] = value
		}
	}
	for name, value := range map[string]string{
		"TASK_ID": strconv.FormatInt(e.TaskID, 10), "WORK_ITEM": e.WorkItem, "REPO": e.Repo, "ROLE": string(e.Role), "STAGE": string(e.Stage),
		"RUN": strconv.FormatInt(e.Command.Run, 10), "ATTEMPT": strconv.Itoa(e.Attempt), "PROMPT_FILE": e.prompt, "RUN_TOKEN": e.token,
	} {
		env["SIGNALBOX_"+name] = value
	}
	env["GIT_TERMINAL_PROMPT"] = "0"
	var out []string
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	return out
}

// allowed reports whether a name is on the list. Names of the service's own
// settings never are.
func allowed(list []string, name string) bool {
	if strings.HasPrefix(name, "ORCH_") {
		return false
	}
	for _, a := range list {
		if prefix, isPrefix := strings.CutSuffix(a, "*"); isPrefix && strings.HasPrefix(name, prefix) || a == name {
			return true
		}
	}
	return false
}

// judge makes the result of what the agent left behind.
func (r *Runner) judge(e execution, exit int, why string) work.Result {
	res := work.Result{Kind: work.ResultOK, ExitCode: exit, LogPath: e.log}
	body, err := os.ReadFile(e.log)
	if err != nil {
		return broken(err)
	}
	said, found := parseFormat(e.preset.Format, body)
	said.usage.Model = first(said.usage.Model, e.preset.Model)
	res.Usage, res.SessionID, res.Summary = said.usage, said.session, clip(said.summary, summaryMax)
	switch {
	case why == cancelled:
		res.Kind, res.Reason = work.ResultCancelled, "stopped"
	case why == timedOut:
		res.Kind, res.Reason = work.ResultTimeout, fmt.Sprintf("stopped after %s", e.Timeout)
	case found && said.failed:
		res.Kind, res.Reason = work.ResultFailed, clip(first(said.reason, "the agent reported an error"), reasonMax)
	case exit != 0:
		res.Kind, res.Reason = work.ResultFailed, fmt.Sprintf("exit code %d: %s", exit, clip(tailOf(errLog(e.log)), reasonMax))
	case !found:
		res.Kind, res.Reason = work.ResultUnusable, "the agent ended without a result that can be read"
	}
	return res
}

// Bounds of what is taken over from an agent's output, in bytes.
const (
	summaryMax = 4000
	reasonMax  = 1000
)

func clip(s string, n int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(strings.TrimSpace(s), "\x00", ""), "?")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// tailOf reads the end of a file.
func tailOf(name string) string {
	body, err := os.ReadFile(name)
	if err != nil {
		return "no error output"
	}
	return strings.TrimSpace(string(body[max(0, len(body)-reasonMax):]))
}
