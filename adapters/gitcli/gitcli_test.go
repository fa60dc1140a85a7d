package gitcli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

var run = gittest.Run

// write makes a file. No process starts meanwhile: one that inherited the open file would
// keep a program from being run ("text file busy").
func write(t testing.TB, dir, name, body string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(body), 0o755))
}

// commit commits a file in a checkout and returns the new head.
func commit(t testing.TB, dir, name, body string) string {
	t.Helper()
	write(t, dir, name, body)
	run(t, dir, "add", "--all")
	run(t, dir, "commit", "--quiet", "-m", "change "+name)
	return run(t, dir, "rev-parse", "HEAD")
}

// remote makes a bare repository with one commit on main.
func remote(t testing.TB) string {
	t.Helper()
	bare, seed := filepath.Join(t.TempDir(), "remote.git"), filepath.Join(t.TempDir(), "seed")
	run(t, t.TempDir(), "init", "--quiet", "--initial-branch=main", seed)
	commit(t, seed, "README.md", "hello\n")
	run(t, seed, "clone", "--quiet", "--bare", ".", bare)
	return bare
}

type kit struct {
	testing.TB
	g     *gitcli.Git
	root  string
	bare  string
	space work.Workspace
}

func setup(t testing.TB) *kit {
	t.Helper()
	k := &kit{TB: t, root: t.TempDir(), bare: remote(t)}
	k.restart()
	k.space = work.Workspace{
		Repo: "acme/app", CloneURL: k.bare, Main: "main", Branch: "feature/APP-1-cache", WorkItem: "APP-1", Task: 1, Identity: "1.1000", Docs: "docs/work/APP-1",
	}
	return k
}

// restart is a new process over the same directory.
func (k *kit) restart() {
	k.Helper()
	g := openGit(k, gitcli.Options{Root: k.root})
	k.g = g
}

func (k *kit) first() []work.File {
	return []work.File{{Path: "docs/work/APP-1/request.md", Body: []byte("# APP-1\n")}}
}

func (k *kit) open() string {
	k.Helper()
	return k.reopen().Dir
}

// reopen is the next attempt.
func (k *kit) reopen() work.Checkout {
	k.Helper()
	at, err := k.g.Open(k.Context(), k.space, k.first())
	require.NoError(k, err)
	return at
}

func (k *kit) mirror() string { return filepath.Join(k.root, "mirrors", "acme--app.git") }

func (k *kit) take() work.Tip {
	k.Helper()
	tip, err := k.g.Take(k.Context(), k.space)
	require.NoError(k, err)
	return tip
}

func (k *kit) push(sha, at string) {
	k.Helper()
	require.NoError(k, k.g.Push(k.Context(), k.space, sha, at))
}

func (k *kit) close() {
	k.Helper()
	require.NoError(k, k.g.Close(k.Context(), k.space))
}

func (k *kit) remoteHead() string {
	k.Helper()
	return run(k, k.bare, "rev-parse", k.space.Branch)
}

func TestJourney(t *testing.T) {
	t.Parallel()
	k := setup(t)
	tip, err := k.g.Tip(t.Context(), k.space)
	require.NoError(t, err)
	require.Empty(t, tip.SHA, "there is no branch yet")

	dir := k.open()
	require.FileExists(t, filepath.Join(dir, "README.md"))
	require.FileExists(t, filepath.Join(dir, "docs/work/APP-1/request.md"))
	require.Equal(t, k.space.Branch, run(t, dir, "branch", "--show-current"))

	begin := k.take()
	require.False(t, begin.Changed)
	k.push(begin.SHA, "")
	require.Equal(t, begin.SHA, k.remoteHead())
	k.push(begin.SHA, "") // pushing again is a success

	head := commit(t, dir, "tiles.go", "package tiles\n")
	write(t, dir, "uncommitted.txt", "x")
	tip = k.take()
	require.Equal(t, head, tip.SHA)
	require.True(t, tip.Changed)
	require.NotEmpty(t, tip.Base)
	k.push(head, begin.SHA)
	require.Equal(t, head, k.remoteHead())

	files, err := k.g.Files(t.Context(), k.space, head)
	require.NoError(t, err)
	_, err = fs.Stat(files, "uncommitted.txt")
	require.ErrorIs(t, err, fs.ErrNotExist)

	k.close()
	require.NoDirExists(t, dir)
	k.close() // closing again is a success
	dir = k.open()
	require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"), "the mirror keeps the commits")
}

func TestSameCode(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	begin := k.take().SHA
	code := commit(t, dir, "a.go", "package a\n")
	report := commit(t, dir, "docs/work/APP-1/test-report.md", "r")
	require.Equal(t, []string{commit(t, dir, "docs/work/APP-1/ünïcode \" name.md", "r")}, k.take().SameCode[:1])
	third := commit(t, dir, "docs/work/APP-1/review.md", "r")
	run(t, dir, "reset", "--quiet", "--hard", report)
	require.Equal(t, []string{report, code}, k.take().SameCode)
	require.Equal(t, []string{commit(t, dir, "docs/work/APP-10/review.md", "another task's directory is not ours")}, k.take().SameCode)
	run(t, dir, "reset", "--quiet", "--hard", begin)
	require.Equal(t, begin, k.take().SameCode[0])
	require.NotEmpty(t, third)
}

// Whatever a crash or an agent left behind, Open makes it fit to work in.
func TestOpenRepairs(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(k *kit, dir, repo string){
		"nothing": func(*kit, string, string) {},
		"locks of a killed git": func(k *kit, _, repo string) {
			for _, name := range []string{"index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/" + k.space.Branch + ".lock", "refs/remotes/origin/main.lock"} {
				write(k, repo, name, "")
			}
		},
		"the checkout is gone": func(k *kit, dir, _ string) { require.NoError(k, os.RemoveAll(dir)) },
		"the link is gone":     func(k *kit, dir, _ string) { require.NoError(k, os.Remove(filepath.Join(dir, ".git"))) },
		"the link is a repository": func(k *kit, dir, _ string) {
			require.NoError(k, os.Remove(filepath.Join(dir, ".git")))
			run(k, dir, "init", "--quiet")
		},
		"half made":              func(k *kit, _, repo string) { require.NoError(k, os.Remove(strings.TrimSuffix(repo, "git")+"json")) },
		"the repository is gone": func(k *kit, _, repo string) { require.NoError(k, os.RemoveAll(repo)) },
		"a detached head":        func(k *kit, dir, _ string) { run(k, dir, "checkout", "--quiet", "--detach") },
		"another branch":         func(k *kit, dir, _ string) { run(k, dir, "checkout", "--quiet", "-b", "else") },
		"the branch was deleted": func(k *kit, dir, _ string) {
			run(k, dir, "checkout", "--quiet", "--detach")
			run(k, dir, "branch", "--quiet", "-D", k.space.Branch)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			dir := k.open()
			head := commit(t, dir, "a.go", "package a\n")
			k.take()
			spoil(k, dir, filepath.Join(k.root, "repos", "acme--app", "APP-1.git"))
			k.restart()
			require.Equal(t, dir, k.open())
			require.Equal(t, head, run(t, dir, "rev-parse", k.space.Branch))
			require.Equal(t, k.space.Branch, run(t, dir, "branch", "--show-current"))
			require.FileExists(t, filepath.Join(dir, "a.go"))
			require.Equal(t, commit(t, dir, "b.go", "package b\n"), k.take().SHA)
		})
	}
}

func TestMainMovesOn(t *testing.T) {
	t.Parallel()
	k := setup(t)
	file, tip := filepath.Join(t.TempDir(), "commit"), run(t, k.bare, "rev-parse", "main") // of long ago, as git takes it no more
	write(t, filepath.Dir(file), "commit", "tree "+run(t, k.bare, "rev-parse", "main^{tree}")+"\nparent "+tip+"\nauthor a <a@x> 1313584730 +051800\ncommitter a <a@x> 1313584730 +051800\n\nold\n")
	run(t, k.bare, "update-ref", "refs/heads/main", run(t, k.bare, "hash-object", "-t", "commit", "-w", "--literally", file))
	dir := k.open()
	clone := filepath.Join(t.TempDir(), "c")
	run(t, t.TempDir(), "clone", "--quiet", k.bare, clone)
	moved := commit(t, clone, "other.txt", "x")
	run(t, clone, "push", "--quiet", "origin", "HEAD:main")
	k.open()
	require.Equal(t, moved, run(t, dir, "rev-parse", "origin/main"), "agents compare with the fresh main")
}

// pushByHand puts a person's commit onto the remote branch.
func (k *kit) pushByHand() string {
	k.Helper()
	clone := filepath.Join(k.TempDir(), "c")
	run(k, k.TempDir(), "clone", "--quiet", "--branch", k.space.Branch, k.bare, clone)
	human := commit(k, clone, "human.txt", "x")
	run(k, clone, "push", "--quiet", "origin", k.space.Branch)
	return human
}

func TestPushRefuses(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	begin := k.take().SHA
	ctx := t.Context()
	k.push(begin, "")
	human := k.pushByHand()
	head := commit(t, dir, "agent.txt", "x")
	k.take()
	require.ErrorIs(t, k.g.Push(ctx, k.space, head, begin), work.ErrMoved, "a person's commit is not overwritten")
	require.Equal(t, human, k.remoteHead())

	run(t, k.bare, "update-ref", "-d", "refs/heads/"+k.space.Branch)
	require.ErrorIs(t, k.g.Push(ctx, k.space, head, begin), work.ErrMoved, "a removed branch does not come back")
	k.push(head, "")
	run(t, k.bare, "update-ref", "refs/heads/"+k.space.Branch, begin)
	require.NoError(t, k.g.Push(ctx, k.space, head, ""), "what we have already may be built upon")

	for _, branch := range []string{"main", "refs/heads/main", "-f", "+main", "a..b", "a b", "x.lock", "HEAD", "a/.b", "", "a:b", "a\nb", "@{-1}", "~", "ends."} {
		s := k.space
		s.Branch = branch
		err := k.g.Push(ctx, s, head, "")
		require.Error(t, err, branch)
		if branch == "main" {
			require.ErrorIs(t, err, work.ErrProtected)
		} else {
			require.ErrorIs(t, err, work.ErrBadName, branch)
		}
	}
	for _, sha := range []string{"", "HEAD", "--delete", head[:12], head + "^"} {
		require.ErrorIs(t, k.g.Push(ctx, k.space, sha, ""), work.ErrBadName, sha)
	}
}

func TestProtectedBranches(t *testing.T) {
	t.Parallel()
	k := setup(t)
	g := openGit(t, gitcli.Options{Root: k.root, Protected: []string{"release"}})
	s := k.space
	s.Branch = "release"
	_, err := g.Open(t.Context(), s, nil)
	require.ErrorIs(t, err, work.ErrProtected)
}

func TestBadSpaces(t *testing.T) {
	t.Parallel()
	k := setup(t)
	for name, change := range map[string]func(*work.Workspace){
		"repo":      func(s *work.Workspace) { s.Repo = "../../etc" },
		"repo flat": func(s *work.Workspace) { s.Repo = "app" },
		"item":      func(s *work.Workspace) { s.WorkItem = "../x" },
		"option":    func(s *work.Workspace) { s.CloneURL = "--upload-pack=touch /tmp/x" },
		"ext":       func(s *work.Workspace) { s.CloneURL = "ext::sh -c id" },
		"no url":    func(s *work.Workspace) { s.CloneURL = "" },
		"main":      func(s *work.Workspace) { s.Main = "--all" },
	} {
		s := k.space
		change(&s)
		_, err := k.g.Open(t.Context(), s, nil)
		require.ErrorIs(t, err, work.ErrBadName, name)
	}
	for _, file := range []string{"../x", "/x", "a/../../x", "a,b", "a\nb"} {
		_, err := k.g.Open(t.Context(), k.space, []work.File{{Path: file}})
		require.ErrorIs(t, err, work.ErrBadName, file)
	}
}

// A branch that was made in an earlier life is taken over, whatever else was brought into it; another's is not.
func TestAdopt(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	other := run(t, dir, "commit-tree", "HEAD^^{tree}", "-p", "HEAD^", "-m", "APP-0: begin\n\nSignalbox-Task: 9.9")
	run(t, dir, "rebase", "--quiet", other)
	begin := k.take().SHA
	k.push(begin, "")
	k.open()
	require.Equal(t, begin, k.take().SHA)
	k.root = t.TempDir() // the disk was lost
	k.restart()
	k.open()
	require.Equal(t, begin, k.take().SHA)

	k.root = t.TempDir()
	k.restart()
	run(t, k.bare, "update-ref", "refs/heads/"+k.space.Branch, "refs/heads/main")
	_, err := k.g.Open(t.Context(), k.space, k.first())
	require.ErrorIs(t, err, work.ErrTaken)
}

func TestUnreachableRemote(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.space.CloneURL = filepath.Join(t.TempDir(), "nothing.git")
	_, err := k.g.Open(t.Context(), k.space, nil)
	require.ErrorContains(t, err, "acme/app")
	require.False(t, fault.Retryable(err), "it has answered")
	k.space.CloneURL = "http://127.0.0.1:1/nothing.git"
	_, err = k.g.Open(t.Context(), k.space, nil)
	require.ErrorContains(t, err, "acme/app")
	require.True(t, fault.Retryable(err))
}

func TestEmptyRemote(t *testing.T) {
	t.Parallel()
	k := setup(t)
	run(t, k.bare, "update-ref", "-d", "refs/heads/main")
	_, err := k.g.Open(t.Context(), k.space, nil)
	require.ErrorContains(t, err, "main")
}

func openGit(t testing.TB, o gitcli.Options) *gitcli.Git {
	t.Helper()
	g, err := gitcli.New(t.Context(), o)
	require.NoError(t, err)
	return g
}
