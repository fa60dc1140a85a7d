// Package command is the program of signalbox, its server and its commands, for mains: that of examples/server, and those that
// add programs of their own as hosts, boards or chats; entries of projects.yaml name their kinds.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
)

// cli is the command line.
type cli struct {
	Init     initCmd       `cmd:"" help:"Set a repository up: write projects.yaml and signalbox.env, examine it, rehearse it."`
	Serve    serveCmd      `cmd:"" help:"Take webhooks and work."`
	Config   configCmd     `cmd:"" help:"Show every setting with value, default and origin; secrets are masked."`
	Pipeline pipelineCmd   `cmd:"" help:"Print the stages in force as pipeline.yaml, which stands beside the registry to change them."`
	Validate validateCmd   `cmd:"" help:"Check the settings, the project registry and the pipeline."`
	Doctor   doctorCmd     `cmd:"" help:"Examine a deployment: git, tokens, board columns, agents, disk."`
	Tasks    tasksCmd      `cmd:"" help:"List tasks: those that have not ended."`
	Card     cardCmd       `cmd:"" help:"Keep cards of the server's own board: list, show, add, edit, move, comment, answer."`
	Show     showCmd       `cmd:"" help:"Show a task: where it stands, its runs, its story."`
	Review   reviewCmd     `cmd:"" help:"Show what waits for a person's word and what it is decided by, and say the word."`
	Queue    queueCmd      `cmd:"" help:"Show what is under way, and what everything else waits for."`
	Costs    costsCmd      `cmd:"" help:"Show what agents have cost: by repository, day, role, agent or model."`
	Report   reportCmd     `cmd:"" help:"Tell what was shipped lately, how long it took and what it has cost."`
	Logs     logsCmd       `cmd:"" help:"Print what an agent does or has done, step by step."`
	Approve  wordCmd       `cmd:"" help:"Approve what a task waits for: requirements, or changes of protected paths."`
	Reject   wordCmd       `cmd:"" help:"Reject what a task waits for, with a reason."`
	Confirm  wordCmd       `cmd:"" help:"Confirm the deployment of a task."`
	Note     noteCmd       `cmd:"" help:"Write something for the next run of a task; it moves nothing."`
	Pause    pauseCmd      `cmd:"" help:"Let no agent start, in a repository or anywhere; those at work go on."`
	Unpause  unpauseCmd    `cmd:"" help:"End a pause."`
	Drain    drainCmd      `cmd:"" help:"Pause, and wait until no agent is at work."`
	Stop     orderCmd      `cmd:"" help:"Cancel a task and end its agent."`
	Retry    orderCmd      `cmd:"" help:"Try again what a task has failed at."`
	Undo     orderCmd      `cmd:"" help:"Take back what a done task has landed, by a task of the same card that a person approves."`
	Why      whyCmd        `cmd:"" help:"Say why a task stands where it stands."`
	Deps     depsCmd       `cmd:"" help:"List, add or remove the tasks that a task waits for."`
	Unfreeze unfreezeCmd   `cmd:"" help:"Let the tasks of a frozen repository begin again."`
	Resume   resumeCmd     `cmd:"" help:"Use an agent again that is paused because it could not work."`
	Reload   reloadCmd     `cmd:"" help:"Have the running server read its settings file and the project registry again."`
	Backup   backupCmd     `cmd:"" help:"Copy what a server keeps of tasks and tracks, while it runs."`
	Restore  restoreCmd    `cmd:"" help:"Put a backup in the place of what a server keeps; no server may run."`
	Copy     copyCmd       `cmd:"" help:"Fill an empty PostgreSQL with what the SQLite file keeps; no server may run."`
	Token    tokenCmd      `cmd:"" help:"Keep the tokens of people and programs: add, list, revoke."`
	Session  sessionCmd    `cmd:"" help:"Show who has signed in, and end sessions: list, revoke."`
	Tracks   tracksCmd     `cmd:"" help:"Keep the track layer: hide, unhide, remove, readmit, export; list what is hidden and removed."`
	Audit    auditCmd      `cmd:"" help:"Prove that the journal is as it was written, or export it: verify, export."`
	Receipt  receiptCmd    `cmd:"" help:"Print the signed receipt of what a task has merged: from where, by whom, how judged."`
	Verify   verifyCmd     `cmd:"" help:"Verify the receipt of a commit, without any server."`
	Replay   replayCmd     `cmd:"" help:"Decide every task's journal again, and say where the decision is another one now."`
	Backtest backtestCmd   `cmd:"" help:"Tell what other settings, another registry or pipeline would have made of the cards of a while."`
	Complete completeCmd   `cmd:"" passthrough:"" hidden:""`
	Script   completionCmd `cmd:"" name:"completion" help:"Print what makes a shell complete command lines."`
	Man      manCmd        `cmd:"" help:"Print the manual page (signalbox man | man -l -)."`
	Shim     shimCmd       `cmd:"" name:"agent-shim" hidden:""`
	Checks   shimCmd       `cmd:"" name:"check-shim" hidden:""`
	Attack   attackCmd     `cmd:"" name:"security-attack" hidden:""`
	Rehearse shimCmd       `cmd:"" name:"rehearse-agent" hidden:""`
	Release  versionCmd    `cmd:"" name:"version" help:"Print the version, its commit and the Go release."`
	Version  kong.VersionFlag
}

// program is the name in help and errors, whatever the file is called.
const program = "signalbox"

// streams holds what commands write to, what a server does before anything else, and kinds beside those of the program.
type streams struct {
	out, err io.Writer
	hide     func() error
	kinds    []Kind
}

// A Kind is a git host, a board or a chat beside those that this module knows; an Entry of the registry is opened as one of the
// others.
type (
	Kind      = app.Kind
	Entry     = app.Entry
	GitHost   = app.GitHost
	BoardHost = app.BoardHost
	Chat      = app.Chat
)

// Main runs a command and returns what the program is to exit with. It may put the program into its own place anew. An agent's
// shim and the like are commands too: a program calls Main first, with all its arguments.
func Main(args []string, kinds ...Kind) int {
	return run(args, os.Stdout, os.Stderr, hideSecrets, kinds)
}

// Run is Main in a process that goes on: it writes to out and errs, and does not hide its secrets.
func Run(args []string, out, errs io.Writer, kinds ...Kind) int {
	return run(args, out, errs, func() error { return nil }, kinds)
}

func run(args []string, out, errs io.Writer, hide func() error, kinds []Kind) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c,
		kong.Name(program), kong.Description("Move a board card to a merged and deployed commit."), kong.UsageOnError(),
		kong.Vars{"version": build()}, kong.Writers(out, errs), kong.Exit(func(code int) { exit = code }))
	if err != nil {
		fmt.Fprintln(errs, program+":", err)
		return 1
	}
	ctx, err := parser.Parse(doubleDashes(args))
	if exit >= 0 { // help or version was shown
		return exit
	}
	if err != nil {
		fmt.Fprintln(errs, program+":", err)
		return exitUsage
	}
	if node := ctx.Selected(); node == nil || !node.Hidden { // not of those who run in checkouts
		err = app.UseEnvFile()
	}
	if err == nil {
		err = ctx.Run(&streams{out, errs, hide, kinds})
	}
	var ended endedError
	switch {
	case errors.As(err, &ended):
		return int(ended)
	case err != nil:
		fmt.Fprintln(steady{errs}, program+":", err)
		return exitCode(err)
	}
	return 0
}

// endedError is the code of a command that has said what there was to say.
type endedError int

// Error names the code.
func (e endedError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// doubleDashes lets long flags have one dash too, as those of other Go programs do; help is --help.
func doubleDashes(args []string) []string {
	out := slices.Clone(args)
	if len(out) > 0 && out[0] == "help" {
		out = append(out[1:], "--help")
	}
	for i, a := range out {
		if a == "--" {
			break
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' {
			out[i] = "-" + a
		}
	}
	return out
}

type versionCmd struct{ output }

func (c versionCmd) Run(s *streams) error {
	v := map[string]string{"version": app.Version(), "commit": app.Commit(), "go": runtime.Version()}
	return c.say(s.out, v, "%s\n", build())
}

// build names the program, its version and what it was made of.
func build() string {
	commit := cmp.Or(app.Commit(), "unknown")
	return fmt.Sprintf("%s %s (commit %s, %s)", program, app.Version(), commit, runtime.Version())
}

type serveCmd struct{}

// Run serves until INT or TERM. At HUP it reads settings and registry again.
func (serveCmd) Run(s *streams) error {
	if err := s.hide(); err != nil {
		return fmt.Errorf("the secrets of the service cannot be hidden from its agents: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	defer signal.Stop(reloads)
	settings, err := load(s.kinds...)
	if err != nil {
		return err
	}
	held, err := settings.Occupy()
	if err != nil {
		return err
	}
	defer held.Close()
	v, err := app.Open(ctx, settings, itself(), settings.Logger(s.err))
	if err != nil {
		return err
	}
	defer v.Close()
	v.Reloads = reloads
	first, err := v.Access.FirstToken(ctx)
	if err != nil {
		return err
	}
	if first != "" {
		fmt.Fprint(s.err, "The first token of this server, of an administrator. It is shown this once:\n\n"+
			"\t"+first+"\n\nSign in at "+signInLink(settings, first)+"\nsignalbox token makes others.\n")
	}
	l, err := service.Listen(ctx, settings.Listen)
	if err != nil {
		return fmt.Errorf("ORCH_LISTEN: %w", err)
	}
	var hooks net.Listener
	if settings.HooksListen != "" {
		if hooks, err = service.Listen(ctx, settings.HooksListen); err != nil {
			return fmt.Errorf("ORCH_HOOKS_LISTEN: %w", err)
		}
	}
	return v.Run(ctx, l, hooks)
}

// signInLink is the address at which a browser finds the token typed. The token stands in the fragment: no server and
// no log sees it.
func signInLink(s app.Settings, token string) string {
	return cmp.Or(strings.TrimSuffix(s.PublicURL, "/"), "http://"+s.Listen) + "/dashboard/session#" + token
}

// readSettings reads the settings of a program that works with further kinds.
func readSettings(kinds []Kind) (app.Settings, error) {
	settings, err := app.Load(os.Environ())
	if err != nil {
		return settings, err
	}
	return settings.With(kinds...)
}

// load is readSettings, and makes the directory of the server's data.
func load(kinds ...Kind) (app.Settings, error) {
	settings, err := readSettings(kinds)
	if err != nil {
		return settings, err
	}
	return settings, settings.Prepare()
}

// itself is how this program runs itself, as the shim of agents and of checks.
func itself() []string { return []string{"/proc/self/exe"} }

type shimCmd struct{}

// Run is the shim of agents or of checks, or the rehearsal agent.
func (shimCmd) Run(k *kong.Context) error {
	return endedError(map[string]func() int{
		"agent-shim": agentcli.RunShim, "check-shim": gitcli.RunCheckShim,
		"rehearse-agent": func() int { return rehearse.Main(os.Stdout, os.Stderr) },
	}[k.Selected().Name]())
}

type configCmd struct{ output }

// Run lists the settings.
func (c configCmd) Run(s *streams) error {
	err := printList(c.output, s, "settings", app.List(os.Environ()), nil, func(v app.Setting) app.Setting {
		return v
	}, "SETTING\tVALUE\tDEFAULT\tORIGIN\tMEANING", func(v app.Setting) []any {
		return []any{v.Name, v.Value, v.Default, v.Origin, v.Doc}
	})
	if err != nil {
		return err
	}
	_, err = app.Load(os.Environ())
	return err
}

type validateCmd struct {
	Table bool `help:"Print the transition table."`
	output
}

// Run checks what can be checked without the network.
func (c validateCmd) Run(s *streams) error {
	settings, err := readSettings(s.kinds)
	if err != nil {
		return err
	}
	registry, _, err := settings.ReadRegistry()
	if registry.Projects == nil {
		return err
	}
	p := registry.Pipeline
	out := validated{
		Registry: settings.Projects, Projects: len(registry.Projects.All()), Transitions: len(p.Edges), Secrets: map[string]string{},
	}
	for _, one := range app.List(os.Environ()) {
		if one.Secret && one.Value != "" {
			out.Secrets[one.Name] = one.Origin
		}
	}
	out.Missing = settings.MissingAgents(registry)
	if out.Valid = err == nil; !out.Valid {
		out.Wrong = err.Error()
	}
	return errors.Join(err, c.print(s.out, out, func(w io.Writer) error {
		if c.Table {
			if err := p.Print(w); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "%s: %d projects; %d transitions\n", out.Registry, out.Projects, out.Transitions)
		for _, agent := range out.Missing {
			fmt.Fprintf(w, "warning: the program of the agent %s is not installed for this user: tasks that need it will wait\n", agent)
		}
		for _, name := range slices.Sorted(maps.Keys(out.Secrets)) {
			fmt.Fprintf(w, "%s: from %s\n", name, out.Secrets[name])
		}
		return nil
	}))
}

// validated holds what validate prints as JSON.
type validated struct {
	Valid       bool              `json:"valid"`
	Wrong       string            `json:"wrong,omitempty"`
	Registry    string            `json:"registry"`
	Projects    int               `json:"projects"`
	Transitions int               `json:"transitions"`
	Missing     []string          `json:"missing_agents,omitempty"`
	Secrets     map[string]string `json:"secrets"` // where each is from
}

type doctorCmd struct {
	Deployment deploymentCmd `cmd:"" default:"withargs" help:"Examine a deployment (the default)."`
	Security   securityCmd   `cmd:"" help:"Make the attacks of a hostile agent, run as agents are here, and say what each wall refused."`
}

type deploymentCmd struct {
	output
	Fix   bool `help:"Make board columns and webhooks that are missing."`
	Probe bool `help:"Let each agent run once and do nothing, which may cost a little, and make a card on each board and take it away."`
}

// Run examines the deployment.
func (c deploymentCmd) Run(s *streams) error {
	settings, err := load(s.kinds...)
	if err != nil {
		return err
	}
	e := app.Examination{Fix: c.Fix, Probe: c.Probe, Card: c.Probe}
	if !c.JSON {
		return examine(context.Background(), settings, e, app.ReportTo(s.out))
	}
	found := []app.Finding{}
	err = examine(context.Background(), settings, e, func(f app.Finding) { found = append(found, f) })
	return errors.Join(err, c.print(s.out, map[string]any{"findings": found}, nil))
}
