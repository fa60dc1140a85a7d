// Package agentcli runs coding agents that are command line tools: Claude Code,
// Codex, Gemini CLI, OpenCode, Antigravity, or any command, which may tell what it does in the
// lines that package agentout describes.
//
// A [Runner] is the port work.Agents. A run puts its report into its outbox, a directory that
// is made for it and that the presets let their tools write. It runs under a shim ([RunShim]), a
// small process of this program that ends whatever the agent has started, in a jail when
// Options.Jail has one; what an execution is given for itself (its checkout, outbox, HOME and
// TMPDIR) is added to that. A [Link] stands between it and the network.
//
// A run is followed while it lives: its steps can be read as its output can (work.StreamSteps),
// and it is ended when it has cost its limit or printed nothing for long. A failure that every
// run of the agent would meet has a work.Trouble. An attempt that did not finish hands its
// tool's session to the next one of the same run, role and preset, where the tool can go on
// with it (Claude Code). Usage is normalised: tokens are disjoint, whatever a tool's own convention.
//
// Agents run on Linux only; elsewhere [New] returns an error.
package agentcli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Options of a Runner. LogDir, StateDir and Shim are required.
type Options struct {
	Default   string            `envDefault:"claude"` // preset or command line for commands that name none
	Presets   map[string]Preset // added to the built-in ones
	LogDir    string            // one directory for each task
	LogMax    int64             `envDefault:"8388608"`     // bytes kept of each output: the first and the last half
	RoomMax   int64             `envDefault:"34359738368"` // bytes by which the directories of a run may grow before it is stopped
	StateDir  string            // what is running
	HomeDir   string            // HOME and TMPDIR of agents are made below it, anew for each execution; empty = the service's own
	HomeFiles []string          // of the service's HOME, copied into each agent's, beside those of the preset
	Jail      *work.Jail        // what every agent may touch, beside what its command gives it; nil = all that this user may. Needs HomeDir
	TermGrace time.Duration     `envDefault:"20s"` // between TERM and KILL
	Stall     time.Duration     `envDefault:"30m"` // of commands that name none: an agent that has printed nothing for so long is stopped
	EnvAllow  []string          // names of our environment that agents see, "X_*" for a prefix; nil = DefaultEnv
	Shim      []string          // argv that ends in RunShim, e.g. /proc/self/exe agent-shim
	Prices    map[string]Price  // of models, or of agents by name, for tools that report no cost
	Hidden    *secret.Redactor  // replaces secrets in what agents print and report; nil = credentials of our environment
	Links     []Link            // opened for each execution, in this order; they need HomeDir
	Log       *slog.Logger      // nil discards
	Now       func() time.Time  // of the times in results; nil = time.Now
}

// Price holds what tokens cost, in millionths of a dollar for a million tokens.
type Price struct{ Input, Output, CacheRead, CacheCreate int64 }

// Cost is the price of a usage in millionths of a dollar. It is computed in
// floating point because the products of large counts leave 64 bits.
func (p Price) Cost(u work.Usage) int64 {
	part := func(tokens, price int64) float64 { return float64(tokens) * float64(price) }
	sum := part(u.Input, p.Input) + part(u.Output, p.Output) + part(u.CacheRead, p.CacheRead) + part(u.CacheCreate, p.CacheCreate)
	return agentout.MicroUSD(sum / 1e12)
}

// PriceOf finds the price of a model, or else that of the agent, by its name.
func PriceOf(prices map[string]Price, model, agent string) (p Price, known bool) {
	if p, known = prices[model]; !known || model == "" {
		p, known = prices[agent]
	}
	return p, known
}

// Runner implements work.Agents. It is safe for concurrent use.
type Runner struct{ opt Options }

// New checks the options and makes the directories.
func New(o Options) (*Runner, error) {
	switch {
	case !supported:
		return nil, errors.New("agentcli: agents run on Linux only: run the service there")
	case o.LogDir == "":
		return nil, errors.New("agentcli: Options.LogDir is missing")
	case o.StateDir == "":
		return nil, errors.New("agentcli: Options.StateDir is missing")
	case o.Jail != nil && o.HomeDir == "":
		return nil, errors.New("agentcli: Options.HomeDir is missing: in a jail an agent needs a HOME of its own")
	case len(o.Links) > 0 && o.HomeDir == "":
		return nil, errors.New("agentcli: Options.HomeDir is missing: a link gives an agent files of a HOME of its own")
	case len(o.Shim) == 0:
		return nil, errors.New("agentcli: Options.Shim is missing: the command that ends in RunShim")
	}
	o.fill()
	for field, dir := range map[string]*string{"LogDir": &o.LogDir, "StateDir": &o.StateDir, "HomeDir": &o.HomeDir} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err == nil {
			err = os.MkdirAll(abs, 0o700)
		}
		if err != nil {
			return nil, fmt.Errorf("agentcli: Options.%s: %w", field, err)
		}
		*dir = abs
	}
	r := &Runner{opt: o}
	if _, _, err := r.preset(o.Default); err != nil {
		return nil, fmt.Errorf("agentcli: Options.Default: %w", err)
	}
	return r, nil
}

func (o *Options) fill() {
	defaults.Fill(o)
	if o.EnvAllow == nil {
		o.EnvAllow = DefaultEnv()
	}
	if o.Hidden == nil {
		o.Hidden = secret.NewRedactor(secret.Credentials(os.Environ())...)
	}
	o.Presets = maps.Clone(o.Presets)
}

// Check reports whether a preset or command can be run here.
func (r *Runner) Check(agent string) error {
	p, _, err := r.preset(agent)
	if err != nil {
		return fmt.Errorf("agentcli: %w", err)
	}
	if r.inContainer() {
		return nil // its image has it, or the first run says that it has not
	}
	if _, err := exec.LookPath(p.Argv[0]); err != nil {
		return fmt.Errorf("agentcli: %w", err)
	}
	return nil
}

// inContainer reports whether agents have another system than this one.
func (r *Runner) inContainer() bool {
	return r.opt.Jail != nil && r.opt.Jail.Box.Kind == work.BoxContainer
}

// execution is one run and its files.
type execution struct {
	work.Command
	preset Preset
	name   string // of the preset; empty: a command
	env    map[string]string
	record string // file in StateDir
	log    string // standard output; standard error is beside it
	prompt string // file
	outbox string // directory
	home   string // directory of HOME and TMPDIR; empty when they are the service's own
	jailed bool   // it is confined
	cell   string // name of its cgroup and its container

	session string // directory in which the tool's session is kept; empty: it is not
	resume  string // id of the session that it goes on with

	opened []Opened          // by its links
	files  map[string]string // of its HOME, in the place of the preset's; nil: the preset's
}

// Run implements work.Agents.
func (r *Runner) Run(ctx context.Context, c work.Command) work.Result {
	started := r.opt.Now()
	res := r.run(ctx, c)
	if res.Kind == work.ResultFailed && res.Trouble.Kind == "" && (isFull(r.opt.LogDir) || isFull(c.Dir)) {
		res.Trouble.Kind = work.TroubleRoom
	}
	res.StartedAt, res.FinishedAt = started, r.opt.Now()
	res.Agent = cmp.Or(c.Agent.Use, r.opt.Default)
	return res
}

// broken is the result of an agent that could not be run.
func (r *Runner) broken(err error) work.Result {
	res := work.Result{Kind: work.ResultFailed, ExitCode: -1, Reason: r.opt.Hidden.Error(err).Error()}
	if fault.IsShortage(err) {
		res.Trouble.Kind = work.TroubleRoom
	}
	return res
}

func (r *Runner) run(ctx context.Context, c work.Command) work.Result {
	if ctx.Err() != nil {
		return work.Result{Kind: work.ResultCancelled, ExitCode: -1, Reason: "stopped before it began"}
	}
	e, err := r.prepare(c)
	if err != nil {
		return r.broken(err)
	}
	end := ending{exit: -1}
	if err = r.link(ctx, &e); err == nil {
		err = r.giveHome(e)
	}
	if err == nil {
		r.giveSession(&e)
		end, err = r.supervise(ctx, e)
	}
	// Nothing may outlive the run, whatever became of the shim.
	err = errors.Join(err, r.sweep(context.WithoutCancel(ctx), e.record))
	seen := e.unlink()
	if err != nil {
		return r.broken(fmt.Errorf("agentcli: %w", err))
	}
	res := r.toResult(e, end, seen)
	if !goesOn(res) {
		r.dropSession(e.session)
	}
	if e.resume != "" && res.Kind == work.ResultFailed && strings.HasPrefix(res.Reason, noSession) {
		return r.run(ctx, c) // anew
	}
	return res
}

// noSession begins the message of Claude Code for a session that it does not have.
const noSession = "No conversation found"

// prepare makes the files of a run: the record last, so that from here on
// Quiesce finds it.
func (r *Runner) prepare(c work.Command) (execution, error) {
	e := execution{Command: c, jailed: r.opt.Jail != nil}
	var err error
	e.Agent.Use = cmp.Or(c.Agent.Use, r.opt.Default)
	if e.preset, e.name, err = r.preset(e.Agent.Use); err != nil {
		return e, fmt.Errorf("agentcli: %w", err)
	}
	if e.Dir, err = workingDir(c.Dir); err != nil {
		return e, err
	}
	if e.Agent.Timeout <= 0 {
		e.Agent.Timeout = time.Hour
	}
	if e.Agent.Stall <= 0 {
		e.Agent.Stall = r.opt.Stall
	}
	dir := filepath.Join(r.opt.LogDir, taskDir(c.TaskID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return e, err
	}
	if err := e.giveOutbox(dir); err != nil {
		return e, fmt.Errorf("agentcli: %w", err)
	}
	base := filepath.Join(dir, baseName(c))
	e.log, e.prompt = base+".out", base+".prompt"
	for name, body := range map[string]string{e.prompt: e.Prompt, e.log: ""} {
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			return e, err
		}
	}
	token := rand.Text()
	e.record = filepath.Join(r.opt.StateDir, fmt.Sprintf("%d.%d.%d.json", c.TaskID, c.Run, c.Attempt))
	e.home = r.homeOf(e.record)
	e.env = r.environment(e, token)
	rec := record{TaskID: c.TaskID, Token: token, Dir: e.Dir, Boot: bootID(), Log: e.log}
	if e.home != "" && len(e.preset.Sessions) > 0 {
		e.session = filepath.Join(r.sessionsOf(c.TaskID), fmt.Sprintf("%d-%s-%s", c.Run, safe(string(c.Role)), safe(e.name)))
		rec.Session, rec.Sessions = e.session, e.preset.Sessions
	}
	if r.opt.Jail != nil {
		rec.Jail = work.Jail{Box: r.opt.Jail.Box, Cgroup: r.opt.Jail.Cgroup}
	}
	e.cell = rec.name()
	return e, rec.write(e.record)
}

// workingDir checks a command's directory and gives its real name, which is what
// the process table shows. The root is refused: every process works below it.
func workingDir(dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("agentcli: Command.Dir: %w", err)
	}
	if !filepath.IsAbs(resolved) || filepath.Dir(resolved) == resolved {
		return "", fmt.Errorf("agentcli: Command.Dir %q cannot be a working directory: give an absolute path below the root", dir)
	}
	return resolved, nil
}

// safe makes a role a part of a file name.
func safe(role string) string {
	out := []byte(role)
	for i, c := range out {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			out[i] = '_'
		}
	}
	return string(out)
}
