package gitcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// hardening is the configuration of every call; it outweighs the repository's.
func hardening() []string {
	return []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.quotePath=false",
		"core.pager=cat", "core.sshCommand=ssh -oBatchMode=yes", "credential.helper=", "protocol.ext.allow=never", "protocol.file.allow=always",
		"gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "push.gpgSign=false", "push.recurseSubmodules=no", "fetch.recurseSubmodules=no",
		"submodule.recurse=false", "init.templateDir=", "init.defaultBranch=main", "safe.directory=*", "transfer.fsckObjects=true", "advice.detachedHead=false",
		"fetch.writeCommitGraph=false",
	}
}

// Failed is the error of a git call.
type Failed struct {
	Verb   string // the subcommand
	Exit   int    // -1 when it did not run or was stopped
	Stderr string // its last lines
	Err    error
	final  bool
}

// Error names the subcommand and what it said. It has no URL that was given.
func (f *Failed) Error() string {
	if f.Stderr == "" {
		return fmt.Sprintf("git %s: %v", f.Verb, f.Err)
	}
	return fmt.Sprintf("git %s: %v: %s", f.Verb, f.Err, f.Stderr)
}

// Unwrap gives the cause.
func (f *Failed) Unwrap() error { return f.Err }

// Retryable implements the contract of package fault.
func (f *Failed) Retryable() bool { return !f.final }

// call is one run of git.
type call struct {
	repo  string // --git-dir; empty = none
	tree  string // --work-tree; empty = none
	dir   string // working directory when there is no tree; empty = the root
	stdin string
	env   []string
	args  []string
	most  int // bytes of what it writes that count; 0 = all
}

// git runs a subcommand on a repository and returns what it wrote.
func (g *Git) git(ctx context.Context, repo string, args ...string) (string, error) {
	return g.run(ctx, call{repo: repo, args: args})
}

func (g *Git) run(ctx context.Context, c call) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opt.Timeout)
	defer cancel()
	var argv []string
	for _, setting := range hardening() {
		argv = append(argv, "-c", setting)
	}
	if c.repo != "" {
		argv = append(argv, "--git-dir="+c.repo)
	}
	if c.tree != "" {
		argv = append(argv, "--work-tree="+c.tree)
	}
	cmd := exec.CommandContext(ctx, g.opt.Git, append(argv, c.args...)...)
	cmd.Env = append(append([]string(nil), g.env...), c.env...)
	cmd.Dir = g.opt.Root
	if c.dir != "" {
		cmd.Dir = c.dir
	}
	if c.tree != "" {
		cmd.Dir = c.tree
	}
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var errs bytes.Buffer
	out := &capped{left: c.most}
	if c.most == 0 {
		out.left = math.MaxInt
	}
	cmd.Stdout, cmd.Stderr = out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), failed(ctx, verb(c.args), errs.String(), err)
	}
	return out.String(), nil
}

// verb is the subcommand among arguments that may begin with settings.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

func failed(ctx context.Context, verb, stderr string, err error) error {
	f := &Failed{Verb: verb, Exit: -1, Stderr: tail(stderr), Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		f.Exit = exit.ExitCode()
	}
	if ctx.Err() != nil {
		f.Err = ctx.Err()
	} else {
		f.final = f.Exit > 0 && final(stderr)
	}
	return f
}

// tail is the end of what git said, without anything that looks like a URL
// with credentials.
func tail(s string) string {
	s = strings.TrimSpace(s)
	s = s[max(0, len(s)-600):]
	words := strings.Fields(s)
	for i, w := range words {
		if scheme, rest, ok := strings.Cut(w, "://"); ok {
			if _, host, ok := strings.Cut(rest, "@"); ok {
				words[i] = scheme + "://***@" + host
			}
		}
	}
	return strings.ToValidUTF8(strings.Join(words, " "), "?")
}

// exitCode is the exit code of a git call that failed; -1 for other errors.
func exitCode(err error) int {
	var f *Failed
	if errors.As(err, &f) {
		return f.Exit
	}
	return -1
}

// ref reads a ref; empty when it does not exist.
func (g *Git) ref(ctx context.Context, repo, name string) (string, error) {
	out, err := g.git(ctx, repo, "rev-parse", "--quiet", "--verify", "--end-of-options", name+"^{commit}")
	if err != nil && exitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

// ancestor reports whether a is b or one of b's ancestors.
func (g *Git) ancestor(ctx context.Context, repo, a, b string) (bool, error) {
	_, err := g.git(ctx, repo, "merge-base", "--is-ancestor", a, b)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}
