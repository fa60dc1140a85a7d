package gitcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// hardening is the configuration of every call; it outweighs the mirror's.
func hardening() []string {
	return []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null",
		"core.excludesFile=/dev/null", "core.quotePath=false",
		"core.trustctime=true", "core.checkStat=default", // see sweep
		"core.bigFileThreshold=16m", "core.pager=cat", "core.sshCommand=ssh -oBatchMode=yes", "credential.helper=",
		"gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "push.gpgSign=false",
		"push.recurseSubmodules=no", "fetch.recurseSubmodules=no", "submodule.recurse=false",
		"init.templateDir=", "init.defaultBranch=main",
		"safe.directory=*", "transfer.fsckObjects=true", "advice.detachedHead=false",
		"fetch.writeCommitGraph=false",
	}
}

// callError is the error of a git call.
type callError struct {
	Verb   string // the subcommand
	Exit   int    // -1 when it did not run or was stopped
	Stderr string // its last lines
	Err    error
	final  bool

	rejected bool // by the remote's own rules, for good
}

// Error names the subcommand and what it said. It has no URL that was given.
func (f *callError) Error() string {
	if f.Stderr == "" {
		return fmt.Sprintf("git %s: %v", f.Verb, f.Err)
	}
	return fmt.Sprintf("git %s: %v: %s", f.Verb, f.Err, f.Stderr)
}

// Unwrap gives the cause.
func (f *callError) Unwrap() error { return f.Err }

// Is reports a push that the remote's own rules refuse as work.ErrRefused.
func (f *callError) Is(target error) bool { return f.rejected && target == work.ErrRefused }

// Retryable implements the contract of package fault.
func (f *callError) Retryable() bool { return !f.final }

// Bounds of what a call may write, in bytes, unless it says another, and of what is
// kept of its messages.
const (
	outMax  = 16 << 20
	errsMax = 64 << 10
)

// call is one run of git. Repo, the --git-dir, is always one that only we write; an
// agent's is read as files.
type call struct {
	repo    string
	tree    string // --work-tree; empty = none
	network string // URL of the remote, for a call that may reach it; empty = none
	stdin   string
	in      *os.File  // instead of stdin
	out     io.Writer // where what it writes goes; nil = it is returned
	env     []string
	args    []string
	most    int  // bytes that it may write; 0 = outMax
	cut     bool // what is more is dropped; else that is an error
}

// git runs a subcommand on a repository and returns what it wrote.
func (g *Git) git(ctx context.Context, repo string, args ...string) (string, error) {
	return g.run(ctx, call{repo: repo, args: args})
}

// remotely runs a subcommand that may reach the remote of a space, with its token.
func (g *Git) remotely(ctx context.Context, p checkout, args ...string) (string, error) {
	return g.run(ctx, call{repo: p.mirror, network: p.CloneURL, args: args})
}

func (g *Git) run(ctx context.Context, c call) (string, error) {
	if !g.owns(c.repo) {
		return "", fmt.Errorf("%w: git is not run in %q, which others write", work.ErrBadName, c.repo)
	}
	ctx, cancel := context.WithTimeout(ctx, g.opt.Timeout)
	defer cancel()
	cmd, err := g.command(ctx, c)
	if err != nil {
		return "", err
	}
	defer closeAll(cmd.ExtraFiles)
	var collected strings.Builder
	out := &bounded{to: c.out, left: cmp.Or(c.most, outMax), cut: c.cut}
	if c.out == nil {
		out.to = &collected
	}
	errs := &ending{most: errsMax}
	cmd.Stdout, cmd.Stderr = out, errs
	err = cmd.Run()
	if out.err != nil { // git ended because nobody read on
		return "", &callError{Verb: verb(c.args), Exit: -1, Err: out.err, final: true}
	}
	if err != nil {
		return collected.String(), failed(ctx, verb(c.args), string(errs.last), err)
	}
	return collected.String(), nil
}

// owns reports whether a repository is one that only we write.
func (g *Git) owns(repo string) bool {
	rel, err := filepath.Rel(g.opt.Root, repo)
	top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return err == nil && (top == "mirrors" || strings.HasPrefix(top, quarantined))
}

// command prepares a call. The caller closes its ExtraFiles.
func (g *Git) command(ctx context.Context, c call) (*exec.Cmd, error) {
	env := append(slices.Clone(g.env), c.env...)
	argv := []string{"--git-dir=" + c.repo}
	for _, setting := range hardening() {
		argv = append(argv, "-c", setting)
	}
	var secret *os.File
	if c.network == "" {
		env = append(env, "GIT_ALLOW_PROTOCOL=file")
	} else {
		env = append(env,
			"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
			"GIT_SSH_COMMAND=ssh -oBatchMode=yes",
			"SSH_AUTH_SOCK="+os.Getenv("SSH_AUTH_SOCK"),
		)
		var err error
		if secret, err = g.credentials(ctx, c.network); err != nil {
			return nil, err
		}
	}
	if secret != nil {
		argv = append(argv, "-c", "include.path=/proc/self/fd/3") // the first of ExtraFiles
	}
	if c.tree != "" {
		argv = append(argv, "--work-tree="+c.tree)
	}
	cmd := exec.CommandContext(ctx, g.opt.Git, append(argv, c.args...)...)
	if secret != nil {
		cmd.ExtraFiles = []*os.File{secret}
	}
	cmd.Env, cmd.Dir = env, cmp.Or(c.tree, g.opt.Root)
	cmd.Stdin = strings.NewReader(c.stdin)
	if c.in != nil {
		cmd.Stdin = c.in
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // git has read it, or has not begun
	}
}

// verb is the subcommand among arguments that may begin with settings.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

func failed(ctx context.Context, verb, stderr string, err error) error {
	f := &callError{Verb: verb, Exit: -1, Stderr: tail(stderr), Err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		f.Exit = exit.ExitCode()
	}
	if ctx.Err() != nil {
		f.Err = ctx.Err()
	} else {
		f.final = f.Exit > 0 && final(stderr)
		if shortage.MatchString(stderr) {
			f.Err = fmt.Errorf("%w (%w)", err, syscall.ENOSPC)
		}
		f.rejected = f.final && rejected.MatchString(stderr)
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
	var f *callError
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
func (g *Git) ancestor(ctx context.Context, p checkout, a, b string) (bool, error) {
	_, err := g.git(ctx, p.mirror, "merge-base", "--is-ancestor", a, b)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// checkBranch applies the rules of git-check-ref-format(1) for branches, and
// refuses what could be read as an option or an expression.
func checkBranch(name string) error {
	bad := fmt.Errorf("%w: branch %q", work.ErrBadName, name)
	if name == "" || len(name) > 240 || name == "HEAD" || name[0] == '-' || name[0] == '+' || strings.HasPrefix(name, "refs/") {
		return bad
	}
	if strings.Contains(name, "..") || strings.Contains(name, "@{") || name == "@" || strings.HasSuffix(name, ".") {
		return bad
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) {
			return bad
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return bad
		}
	}
	return nil
}

// plain reports whether a name can be one directory without surprises.
func plain(name string) bool {
	if name == "" || len(name) > 120 || name[0] == '.' || name[0] == '-' {
		return false
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return false
		}
	}
	return true
}

// checkIDs returns an error unless all are full object names.
func checkIDs(list ...string) error {
	for _, sha := range list {
		if !commitID(sha) {
			return fmt.Errorf("%w: commit %q", work.ErrBadName, sha)
		}
	}
	return nil
}

// commitID reports whether a text is a full object name.
func commitID(sha string) bool {
	return len(sha) == 40 && strings.Trim(sha, "0123456789abcdef") == ""
}

// remove deletes something below the root, and nothing else: a symbolic link on
// the way is not followed out of it. Directories that may not be written (module
// caches, or an agent that resists) are made so first.
func (g *Git) remove(name string) error {
	rel, err := filepath.Rel(g.opt.Root, name)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return fmt.Errorf("%w: %s is not below %s", work.ErrBadName, name, g.opt.Root)
	}
	root, err := os.OpenRoot(g.opt.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	err = root.RemoveAll(rel)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err := unlock(root, rel); err != nil {
		return err
	}
	return root.RemoveAll(rel)
}

// unlock makes every directory of a tree one that its owner may empty.
func unlock(root *os.Root, rel string) error {
	return fs.WalkDir(root.FS(), filepath.ToSlash(rel), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return root.Chmod(filepath.FromSlash(name), 0o700) // before it is read
		default:
			return nil
		}
	})
}
