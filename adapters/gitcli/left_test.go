//go:build linux

package gitcli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// tree lists a commit of the mirror: mode and content by name.
func (k *kit) tree(sha string) map[string]string {
	k.Helper()
	out := map[string]string{}
	for line := range strings.SplitSeq(run(k, k.mirror(), "ls-tree", "-r", "-z", sha), "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok {
			out[name] = meta[:6] + " " + run(k, k.mirror(), "cat-file", "blob", strings.Fields(meta)[2])
		}
	}
	return out
}

// All that an attempt has changed and not committed is kept as it is: whatever it is
// called, and whatever attributes say how to change it on the way.
func TestLeftFiles(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	write(t, dir, ".gitignore", "*.log\n/build/\n")
	write(t, dir, "tool", "#!/bin/sh\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "tool"), 0o644))
	write(t, dir, "gone.txt", "gone")
	write(t, dir, "was/file", "x")
	write(t, dir, "becomes", "x")
	require.NoError(t, os.Symlink("README.md", filepath.Join(dir, "link")))
	head := commit(t, dir, "same.txt", "same")

	proof := filepath.Join(t.TempDir(), "proof")
	run(t, dir, "config", "filter.evil.clean", "touch "+proof+"; cat")
	run(t, dir, "config", "filter.evil.smudge", "touch "+proof+"; cat")
	run(t, dir, "config", "core.fsmonitor", "touch "+proof+"; true")
	write(t, dir, ".gitattributes", "* text eol=crlf\n*.txt filter=evil ident\n")
	write(t, dir, "README.md", "changed\n")
	require.NoError(t, os.Chmod(filepath.Join(dir, "tool"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(dir, "gone.txt")))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "was")))
	write(t, dir, "was", "a file now")
	require.NoError(t, os.Remove(filepath.Join(dir, "becomes")))
	write(t, dir, "becomes/a directory", "now")
	require.NoError(t, os.Remove(filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	write(t, dir, "new.txt", "$Id$ CR\r\nLF")
	odd := "a \"b\"\n\\ü\xff.txt"
	write(t, dir, odd, "odd")
	write(t, dir, "noise.log", "ignored")
	write(t, dir, "build/out", "ignored")
	write(t, dir, "empty", "")

	left := k.reopen().Left
	require.NoFileExists(t, proof)
	require.Equal(t, "refs/signalbox/left/APP-1/1", left.Ref)
	require.Equal(t, map[string]string{
		".gitignore": "100755 *.log\n/build/", "tool": "100755 #!/bin/sh", "was": "100755 a file now", "becomes/a directory": "100755 now",
		"link": "120000 /etc/passwd", "same.txt": "100755 same", ".gitattributes": "100755 * text eol=crlf\n*.txt filter=evil ident",
		"README.md": "100755 changed", "new.txt": "100755 $Id$ CR\r\nLF", odd: "100755 odd", "empty": "100755 ",
		"docs/work/APP-1/request.md": "100644 # APP-1",
	}, k.tree(left.SHA))
	require.Equal(t, head, run(t, k.mirror(), "rev-parse", left.SHA+"^"), "on top of what was committed")
	require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"))
	require.NoFileExists(t, filepath.Join(dir, "noise.log"))
	require.NoFileExists(t, filepath.Join(dir, "build"))
	run(t, k.mirror(), "fsck", "--strict", "--no-dangling")

	require.Equal(t, head, k.take().SHA)
	k.push(head, "")
	require.NotContains(t, run(t, k.bare, "for-each-ref"), "left", "it is for people here")
}

// Commits that are on no branch that counts are kept too: of a rebase that was not
// finished, of another branch, and in a stash.
func TestLeftCommits(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	head := commit(t, dir, "a.go", "package a\n")
	write(t, dir, "README.md", "stashed\n")
	run(t, dir, "stash")
	stash := run(t, dir, "rev-parse", "stash")
	run(t, dir, "checkout", "--quiet", "-b", "else", "HEAD~1")
	other := commit(t, dir, "b.go", "package b\n")
	left := k.reopen().Left
	require.Equal(t, other+" "+stash, run(t, k.mirror(), "show", "--no-patch", "--format=%P", left.SHA))
	require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"), "what is on the branch is gone on from")
	require.Empty(t, k.reopen().Left)
}

// What is kept is bounded: in number for each work item, and in bytes.
func TestLeftIsBounded(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	for n := range 7 {
		write(t, dir, "n.txt", fmt.Sprint(n))
		k.open()
	}
	refs := run(t, k.mirror(), "for-each-ref", "--format=%(refname)", "refs/signalbox/left")
	require.Equal(t, []string{"3", "4", "5", "6", "7"}, strings.Fields(strings.ReplaceAll(refs, "refs/signalbox/left/APP-1/", "")))

	write(t, dir, "small.txt", "small")
	write(t, dir, "big.bin", "")
	require.NoError(t, os.Truncate(filepath.Join(dir, "big.bin"), 1<<40))
	left := k.reopen().Left
	require.Equal(t, "small", run(t, k.mirror(), "show", left.SHA+":small.txt"))
	require.NotContains(t, k.tree(left.SHA), "big.bin")
	require.Contains(t, run(t, k.mirror(), "show", "--no-patch", "--format=%B", left.SHA), "cannot be read: 1")
}

// An attempt begins also when nothing can be kept.
func TestLeftThatCannotBeKept(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	write(t, dir, "draft.txt", "x")
	write(t, k.mirror(), "refs/signalbox/left", "where a directory should be")
	require.Empty(t, k.reopen().Left)
	require.NoFileExists(t, filepath.Join(dir, "draft.txt"))
}

// A repository that commits cannot be read from is set aside until the task is done.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*kit, string){
		"a damaged commit": func(k *kit, head string) {
			object := filepath.Join(k.repo(), "objects", head[:2], head[2:])
			require.NoError(k, os.Remove(object))
			write(k, "/", object, "")
		},
		"a damaged branch": func(k *kit, _ string) { write(k, k.repo(), "refs/heads/"+k.space.Branch, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			dir := k.open()
			taken := commit(t, dir, "a.go", "package a\n")
			k.take()
			head := commit(t, dir, "b.go", "package b\n")
			write(t, dir, "draft.txt", "half a thought")
			spoil(k, head)
			at := k.reopen()
			require.Equal(t, taken, k.fresh(at))
			require.Equal(t, "half a thought", run(t, k.mirror(), "show", at.Left.SHA+":draft.txt"))
			require.Equal(t, "package b", run(t, k.mirror(), "show", at.Left.SHA+":b.go"), "the file was there")
			lost := strings.TrimSuffix(k.repo(), "git") + "lost"
			require.DirExists(t, filepath.Join(lost, "objects", head[:2]))
			require.Empty(t, k.reopen().Left)
			k.close()
			require.NoDirExists(t, lost)
		})
	}
}

// Ignored directories that the registry names survive for the same role, and no
// other; what else is ignored does not.
func TestKeep(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.space.Keep = []string{"node_modules", "web/.cache", "tracked", "seen", "linked", "none"}
	k.space.Role = "developer"
	dir := k.open()
	write(t, dir, ".gitignore", "node_modules\n.cache/\nlinked\n*.log\n")
	write(t, dir, "web/page.html", "x")
	write(t, dir, "tracked/file", "x")
	head := commit(t, dir, "a.go", "package a\n")
	k.take()
	outside := t.TempDir()
	fill := func() {
		write(t, dir, "node_modules/left-pad/index.js", "pad")
		write(t, dir, "web/.cache/x", "x")
		write(t, dir, "web/other.log", "x")
		write(t, dir, "seen/file", "not ignored")
		write(t, dir, "tracked/more.log", "x")
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "linked")))
		require.NoError(t, os.Chmod(filepath.Join(dir, "node_modules"), 0o555))
	}
	fill()
	for range 2 {
		asAnybody(t, func() {
			at, err := k.g.Open(t.Context(), k.space, nil)
			if err != nil || at.Dir != dir {
				t.Error(at, err)
			}
		})
		require.FileExists(t, filepath.Join(dir, "node_modules/left-pad/index.js"))
		require.FileExists(t, filepath.Join(dir, "web/.cache/x"))
		require.FileExists(t, filepath.Join(dir, "tracked/file"))
		for _, gone := range []string{"web/other.log", "seen", "tracked/more.log", "linked"} {
			_, err := os.Lstat(filepath.Join(dir, gone))
			require.ErrorIs(t, err, os.ErrNotExist, gone)
		}
		require.Empty(t, run(t, dir, "status", "--porcelain"))
		require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"))
		left, err := filepath.Glob(filepath.Join(k.root, "repos", "acme--app", "*.aside"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	k.space.Role = "reviewer"
	k.open()
	require.NoDirExists(t, filepath.Join(dir, "node_modules"))
	require.NoDirExists(t, filepath.Join(dir, "web/.cache"))
	fill()
	k.space.Keep = nil
	k.open()
	require.NoDirExists(t, filepath.Join(dir, "node_modules"), "the registry does not name it any more")
}

// A cache is not moved through a link that the branch has: to where it points is not
// this task's.
func TestKeepBehindALink(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.space.Keep = []string{"web/node_modules"}
	dir := k.open()
	write(t, dir, ".gitignore", "node_modules\n")
	commit(t, dir, "web/page.html", "x")
	k.take()
	write(t, dir, "web/node_modules/x", "x")
	k.open()
	require.FileExists(t, filepath.Join(dir, "web/node_modules/x"))
	outside := filepath.Join(k.root, "work", "acme--app")
	run(t, dir, "rm", "--quiet", "--cached", "web/page.html")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.WriteFile(link, []byte(".."), 0o600))
	blob := run(t, dir, "hash-object", "-w", link)
	run(t, dir, "update-index", "--add", "--cacheinfo", "120000,"+blob+",web")
	run(t, dir, "commit", "--quiet", "-m", "web is a link")
	k.open()
	require.NoDirExists(t, filepath.Join(outside, "node_modules"))
	require.Empty(t, run(t, dir, "status", "--porcelain", "--ignored"))
}

// While git hangs on what an agent has planted, other tasks of the repository work.
func TestTakeHoldsUpNobody(t *testing.T) {
	t.Parallel()
	k := setup(t)
	commit(t, k.open(), "a.go", "package a\n")
	began, slow := filepath.Join(t.TempDir(), "began"), filepath.Join(t.TempDir(), "git")
	write(t, filepath.Dir(slow), "git", "#!/bin/sh\ncase \" $* \" in *' rev-list --objects '*) touch "+began+"; exec sleep 600;; esac\nexec git \"$@\"\n")
	var err error
	k.g = openGit(t, gitcli.Options{Root: k.root, Git: slow})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hung := make(chan error, 1)
	go func() {
		_, err := k.g.Take(ctx, k.space)
		hung <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(began); return err == nil }, time.Minute, time.Millisecond, "it reads")

	other := k.space
	other.WorkItem, other.Branch, other.Docs = "APP-2", "feature/APP-2-x", "docs/work/APP-2"
	at, err := k.g.Open(t.Context(), other, k.first())
	require.NoError(t, err)
	tip, err := k.g.Take(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, run(t, at.Dir, "rev-parse", "HEAD"), tip.SHA)
	if testing.Short() {
		cancel()
		require.ErrorIs(t, <-hung, context.Canceled)
		return
	}
	require.ErrorIs(t, <-hung, context.DeadlineExceeded, "it has a limit of its own, far below that of other calls")
}

// A Take that is interrupted takes what is there the next time; so does an Open, which
// removes nothing before.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	head := commit(t, dir, "a.go", "package a\n")
	write(t, dir, "draft.txt", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := k.g.Open(ctx, k.space, nil)
	require.ErrorIs(t, err, context.Canceled)
	slow := openGit(t, gitcli.Options{Root: k.root, Git: dying(t, "fetch")})
	_, err = slow.Take(t.Context(), k.space)
	require.Error(t, err)
	at := k.reopen()
	require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"))
	require.Equal(t, "x", run(t, k.mirror(), "show", at.Left.SHA+":draft.txt"))
}

// An Open that dies at any of its git calls is made good by the next one, and what
// was committed is not lost.
func TestOpenDies(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"read-tree", "ls-files", "rev-list --max-count=1", "fast-import --quiet", "read-tree --reset", "check-ignore"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			k.space.Keep = []string{"cache"}
			dir := k.open()
			write(t, dir, ".gitignore", "cache\n")
			head := commit(t, dir, "a.go", "package a\n")
			write(t, dir, "cache/x", "x")
			write(t, dir, "draft.txt", "x")
			g := openGit(t, gitcli.Options{Root: k.root, Git: dying(t, at)})
			_, err := g.Open(t.Context(), k.space, nil)
			var failed *gitcli.Failed
			require.True(t, err == nil || errors.As(err, &failed), "%v", err)
			dir = k.open()
			require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"))
			require.Empty(t, run(t, dir, "status", "--porcelain"))
			require.Equal(t, head, k.take().SHA)
		})
	}
}

// dying is a git that kills itself when it is called with certain arguments.
func dying(t *testing.T, at string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "git", "#!/bin/sh\ncase \" $* \" in *' "+at+" '*) kill -9 $$;; esac\nexec git \"$@\"\n")
	return filepath.Join(dir, "git")
}

var _ work.Workspaces = (*gitcli.Git)(nil)
