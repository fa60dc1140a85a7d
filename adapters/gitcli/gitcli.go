// Package gitcli keeps the workspaces of tasks with the git command line tool.
//
//	<root>/mirrors/<owner>--<name>.git       bare; only this package writes it
//	<root>/repos/<owner>--<name>/<item>.git  the task's own repository, which borrows the mirror's objects
//	<root>/repos/<owner>--<name>/<item>.json how it stands to the mirror
//	<root>/repos/<owner>--<name>/<item>.index  what its checkout was made of, with the times of its files
//	<root>/work/<owner>--<name>/<item>/      the checkout that agents work in
//
// For each attempt of an agent the repository is made anew, and the checkout is brought to
// what it would be if it were (see sweep), so nothing that one was killed in, or has planted, is
// in the next one's way. What it had not committed is kept in the mirror as
// refs/signalbox/left/<item>/<n>, and what came out when a commit of the task was
// rebased as refs/signalbox/left/<item>/onto/<commit>.
//
// No git runs in a task's repository: its refs are read as files, its objects are copied
// into a directory made for that, measured (Limits), and fetched into the mirror from
// there, and its checkout is made from the mirror. Commits are pushed from the mirror,
// on condition of where the remote branch was last seen, through one function that
// refuses protected branches.
//
// Services that share their tasks (Options.Shared) have directories of their own
// and hand commits over through the remote, as refs/signalbox/<item>/<commit>,
// and what came out of a rebase of one as refs/signalbox/<item>/onto/<commit>;
// those are removed when the task is done.
//
// Every call is made without a shell, with a fixed configuration, without
// prompts and hooks, and in an environment of its own; what it writes is bounded. A
// token goes to calls that reach the remote, in an open file.
package gitcli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Options of a Git. Root is required.
type Options struct {
	Root      string        // directory of mirrors and checkouts
	Git       string        `envDefault:"git"`       // the git executable
	Name      string        `envDefault:"signalbox"` // author of our own commits
	Email     string        `envDefault:"signalbox@localhost"`
	Tokens    Tokens        // sent as HTTP basic authentication; nil: none
	Protected []string      // branches that are never pushed, beside each project's main
	Timeout   time.Duration `envDefault:"5m"` // of one git call
	Limits    Limits        // of what is taken of an attempt
	Shared    bool          // several services share the tasks: commits are handed over through the remote
	Shim      []string      // argv that ends in RunCheckShim, e.g. /proc/self/exe check-shim; without it no check is run
	Jail      *work.Jail    // what every check may touch, beside its checkouts; nil = all that this user may
	Connect   Connect       // opens the network to each check and hook of a repository; nil = they have what Jail leaves
	Log       *slog.Logger  // nil discards
}

// Tokens gives the tokens for a call to a remote, by the beginning of the URLs that they are
// for, such as https://git.example.org/. It may have to fetch them.
type Tokens func(ctx context.Context, remote string) (map[string]string, error)

// FixedTokens are always the same.
func FixedTokens(byPrefix map[string]string) Tokens {
	return func(context.Context, string) (map[string]string, error) { return byPrefix, nil }
}

// Git implements work.Workspaces, work.Mirror, work.Rebaser, work.Adopter, work.Disk, work.Mirrors and
// gates.Commands. It is safe for concurrent use within one process.
type Git struct {
	opt   Options
	env   []string
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

// New checks that git can be run and makes the directories.
func New(ctx context.Context, o Options) (*Git, error) {
	if o.Root == "" {
		return nil, errors.New("gitcli: Options.Root is missing: the directory of mirrors and checkouts")
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("gitcli: %w", err)
	}
	o.Root = root
	defaults.Fill(&o)
	defaults.Fill(&o.Limits)
	if o.Git, err = exec.LookPath(o.Git); err != nil {
		return nil, fmt.Errorf("gitcli: git is not installed: %w", err)
	}
	for _, dir := range []string{"mirrors", "repos", "work", "home"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			return nil, fmt.Errorf("gitcli: %w", err)
		}
	}
	g := &Git{opt: o, locks: map[string]*sync.Mutex{}}
	g.env = environment(o)
	_, err = g.Version(ctx)
	return g, err
}

// environment returns the variables of git: nothing of ours but PATH.
func environment(o Options) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(o.Root, "home"), "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "SSH_ASKPASS=/bin/false",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_AUTHOR_NAME=" + o.Name, "GIT_AUTHOR_EMAIL=" + o.Email, "GIT_COMMITTER_NAME=" + o.Name, "GIT_COMMITTER_EMAIL=" + o.Email,
	}
}

// Version is git's own.
func (g *Git) Version(ctx context.Context) (string, error) {
	out, err := g.git(ctx, filepath.Join(g.opt.Root, "mirrors"), "version")
	return strings.TrimPrefix(strings.TrimSpace(out), "git version "), err
}

// checkout is where a space's things are.
type checkout struct {
	work.Workspace
	mirror string // bare repository
	repo   string // the task's own
	mark   string // file, see mark
	index  string // file of git's, which no agent writes: see sweep
	dir    string // the checkout
	aside  string // where caches are while the checkout is made anew
	lost   string // a repository that commits could not be read from
}

// log tells of a checkout.
func (g *Git) log(p checkout) *slog.Logger {
	return g.opt.Log.With("work_item", p.WorkItem, "repo", p.Repo)
}

// locate checks the names of a space and finds its directories.
func (g *Git) locate(s work.Workspace) (checkout, error) {
	p := checkout{Workspace: s}
	for _, name := range []string{s.Branch, s.Main} {
		if err := checkBranch(name); err != nil {
			return p, err
		}
	}
	if !plain(s.WorkItem) || strings.Contains(s.WorkItem, "/") {
		return p, fmt.Errorf("%w: work item %q", work.ErrBadName, s.WorkItem)
	}
	owner, name, ok := strings.Cut(s.Repo, "/")
	if !ok || !plain(owner) || !plain(name) || strings.Contains(name, "/") {
		return p, fmt.Errorf("%w: repository %q", work.ErrBadName, s.Repo)
	}
	if s.CloneURL == "" || strings.HasPrefix(s.CloneURL, "-") || strings.Contains(s.CloneURL, "::") {
		return p, fmt.Errorf("%w: clone URL", work.ErrBadName)
	}
	if s.Branch == s.Main || slices.Contains(g.opt.Protected, s.Branch) {
		return p, fmt.Errorf("%w: %s", work.ErrProtected, s.Branch)
	}
	if err := s.CheckPaths(); err != nil {
		return p, err
	}
	p.lie(g.opt.Root, strings.ToLower(owner+"--"+name))
	return p, nil
}

// lie sets the paths of a work item of a repository.
func (p *checkout) lie(root, flat string) {
	p.mirror = filepath.Join(root, "mirrors", flat+".git")
	own := filepath.Join(root, "repos", flat, p.WorkItem)
	p.repo, p.mark, p.index, p.aside, p.lost = own+".git", own+".json", own+".index", own+".aside", own+".lost"
	p.dir = filepath.Join(root, "work", flat, p.WorkItem)
}

// lock waits for the other calls under a name.
func (g *Git) lock(name string) (unlock func()) {
	g.mu.Lock()
	l := g.locks[name]
	if l == nil {
		l = &sync.Mutex{}
		g.locks[name] = l
	}
	g.mu.Unlock()
	l.Lock()
	return l.Unlock
}
