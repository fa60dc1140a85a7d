//go:build linux

package gitcli_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func (k *kit) repo() string { return filepath.Join(k.root, "repos", "acme--app", "APP-1.git") }

// fresh asserts that the place is as if made anew at the branch, and fit to work in.
func (k *kit) fresh(at work.Checkout) (head string) {
	k.Helper()
	head = run(k, at.Dir, "rev-parse", "HEAD")
	require.Equal(k, k.space.Branch, run(k, at.Dir, "branch", "--show-current"))
	require.Empty(k, run(k, at.Dir, "status", "--porcelain", "--ignored"))
	run(k, at.Dir, "fsck", "--full", "--strict", "--no-dangling")
	require.Equal(k, "refs/heads/"+k.space.Branch+"\nrefs/remotes/origin/main", run(k, at.Dir, "for-each-ref", "--format=%(refname)"))
	entries, err := os.ReadDir(k.repo())
	require.NoError(k, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "branches" }) // older gits make it
	require.Equal(k, []string{"HEAD", "config", "index", "objects", "refs"}, names)
	require.Equal(k, "kim-was-not-here", configured(k, at.Dir, "user.kim", "kim-was-not-here"))
	require.NoError(k, filepath.WalkDir(at.Dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
			err = fmt.Errorf("%s is no file", name)
		}
		return err
	}))
	return head
}

// configured reads a setting of a checkout, or gives what it is otherwise.
func configured(t testing.TB, dir, key, otherwise string) string {
	t.Helper()
	return run(t, dir, "config", "--default", otherwise, "--get", key)
}

// killed are the operations in which an agent's git is killed. Each begins on a
// branch of three commits; main has one that conflicts with the third.
func killed() map[string][][]string {
	return map[string][][]string{
		"rebase":      {{"rebase", "origin/main"}},
		"rebase -i":   {{"-c", "sequence.editor=sed -i -e s/^pick/reword/", "-c", "core.editor=true", "rebase", "--autostash", "-i", "HEAD~3"}},
		"merge":       {{"merge", "--no-edit", "origin/main"}},
		"cherry-pick": {{"checkout", "--quiet", "-b", "other", "origin/main"}, {"cherry-pick", "feature/APP-1-cache~3..feature/APP-1-cache"}},
		"revert":      {{"revert", "--no-edit", "HEAD~2..HEAD"}},
		"am":          {{"format-patch", "--quiet", "-o", "../patches", "HEAD~3"}, {"reset", "--quiet", "--hard", "origin/main"}, {"am", "--3way", "../patches/0001-change-a.go.patch", "../patches/0002-change-b.go.patch"}},
		"gc":          {{"gc", "--quiet", "--prune=now"}},
		"commit":      {{"add", "--all"}, {"commit", "--quiet", "-m", "more"}},
		"stash":       {{"stash", "--include-untracked"}},
		"bisect":      {{"bisect", "start", "HEAD", "HEAD~3"}, {"bisect", "good"}},
	}
}

// branchOfThree is a task whose agent has made three commits, two of them taken, and
// left something uncommitted.
func branchOfThree(t *testing.T) (k *kit, dir, taken, head string) {
	t.Helper()
	k = setup(t)
	dir = k.open()
	commit(t, dir, "a.go", "package a\n")
	taken = commit(t, dir, "b.go", "package b\n")
	require.Equal(t, taken, k.take().SHA)
	k.pushMain("README.md", "theirs\n")
	k.open()
	head = commit(t, dir, "README.md", "ours\n")
	write(t, dir, "draft.txt", "half a thought\n")
	return k, dir, taken, head
}

// nextAfterKill asserts that the next attempt begins well after a killed git.
func (k *kit) nextAfterKill(taken, head string) {
	k.Helper()
	at := k.reopen()
	now := k.fresh(at)
	if now != head { // the git was quick: it has moved the branch
		run(k, k.mirror(), "merge-base", "--is-ancestor", "refs/remotes/origin/main~1", now)
		require.NotEqual(k, taken, now, "no commit is lost")
	}
	draft := at.Left.SHA
	if draft == "" { // it was committed
		draft = now
	}
	all := run(k, k.mirror(), "rev-list", "--objects", "--ignore-missing", draft)
	require.Contains(k, all, " draft.txt", "it is in the tree, or in a stash")
	next := commit(k, at.Dir, "next.go", "package next\n")
	require.Equal(k, next, k.take().SHA)
	require.Empty(k, k.reopen().Left, "nothing was left this time")
}

// An agent whose git is killed at any moment does not harm the next attempt.
func TestKilledGit(t *testing.T) {
	t.Parallel()
	points := 4
	if testing.Short() {
		points = 1
	}
	for name, commands := range killed() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			took := time.Duration(0)
			for n := range points + 1 { // the first is not killed, so that it is known how long it takes
				k, dir, taken, head := branchOfThree(t)
				for _, args := range commands[:len(commands)-1] {
					run(t, dir, args...)
				}
				begun := time.Now()
				cmd := agentsGit(t, dir, "git", commands[len(commands)-1]...)
				require.NoError(t, cmd.Start())
				if n > 0 {
					time.Sleep(took * time.Duration(n) / time.Duration(points+1))
					_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
				}
				_ = cmd.Wait() // it was killed, or has met the conflict
				took = max(took, time.Since(begun))
				k.nextAfterKill(taken, head)
			}
		})
	}
}

// The same at every change of the file system that git makes.
func TestKilledGitAtEachCall(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil || os.Getenv("SOAK") == "" {
		t.Skip("it needs strace, and minutes: make soak")
	}
	for name, commands := range killed() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killed := 0
			for n := 1; n <= 60; n += 1 + n/6 { // of each process
				k, dir, taken, head := branchOfThree(t)
				for _, args := range commands[:len(commands)-1] {
					run(t, dir, args...)
				}
				const calls = "rename,link,unlink,mkdir,rmdir,symlink"
				args := append([]string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + calls, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", calls, n), "git"}, commands[len(commands)-1]...)
				cmd := agentsGit(t, dir, strace, args...)
				_ = cmd.Run() // it was killed, or has met the conflict
				k.nextAfterKill(taken, head)
				if !cmd.ProcessState.Success() {
					killed++
				}
			}
			require.Positive(t, killed)
		})
	}
}

// agentsGit is a git of an agent, in a process group of its own.
func agentsGit(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=kim", "GIT_AUTHOR_EMAIL=kim@example.org", "GIT_COMMITTER_NAME=kim", "GIT_COMMITTER_EMAIL=kim@example.org")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// Whatever an agent leaves, by accident or not, the next attempt begins as if made
// anew, with what was committed; what was not is kept.
func TestWhateverIsLeft(t *testing.T) {
	t.Parallel()
	lock := func(name string) func(*kit, string) {
		return func(k *kit, _ string) { write(k, k.repo(), name, "") }
	}
	instead := func(name string, put func(k *kit, name string)) func(*kit, string) {
		return func(k *kit, dir string) {
			full := filepath.Join(k.repo(), name)
			if under, ok := strings.CutPrefix(name, "tree/"); ok {
				full = filepath.Join(dir, under)
			}
			require.NoError(k, os.RemoveAll(full))
			require.NoError(k, os.MkdirAll(filepath.Dir(full), 0o755))
			put(k, full)
		}
	}
	pipe := func(k *kit, name string) { require.NoError(k, syscall.Mkfifo(name, 0o600)) }
	garbage := func(k *kit, name string) { write(k, "/", name, "\x00\xffgarbage\n") }
	empty := func(k *kit, name string) { write(k, "/", name, "") }
	outside := func(k *kit, name string) { require.NoError(k, os.Symlink(k.TempDir(), name)) }
	mode := func(perm os.FileMode) func(k *kit, name string) {
		return func(k *kit, name string) {
			write(k, name, "deep/file", "x")
			require.NoError(k, os.Chmod(filepath.Join(name, "deep"), perm))
			require.NoError(k, os.Chmod(name, perm))
		}
	}
	for name, spoil := range map[string]func(*kit, string){
		"index.lock": lock("index.lock"), "HEAD.lock": lock("HEAD.lock"), "a branch's lock": lock("refs/heads/feature/APP-1-cache.lock"),
		"half a rebase": lock("rebase-merge/done"), "half an am": lock("rebase-apply/next"), "half a sequence": lock("sequencer/todo"),
		"MERGE_HEAD": lock("MERGE_HEAD"), "CHERRY_PICK_HEAD": lock("CHERRY_PICK_HEAD"), "REVERT_HEAD": lock("REVERT_HEAD"),
		"BISECT_LOG": lock("BISECT_LOG"), "AUTO_MERGE": lock("AUTO_MERGE"), "shallow": lock("shallow"), "a hook": lock("hooks/post-checkout"),
		"excludes": lock("info/exclude"), "attributes": lock("info/attributes"), "config.worktree": lock("config.worktree"),
		"a pipe in the tree": instead("tree/pipe", pipe), "a pipe as a tracked file": instead("tree/README.md", pipe),
		"a pipe as HEAD": instead("HEAD", pipe), "a pipe as config": instead("config", pipe), "a pipe as index": instead("index", pipe),
		"a pipe as packed-refs": instead("packed-refs", pipe), "a pipe as .git": instead("tree/.git", pipe),
		"a damaged index": instead("index", garbage), "a damaged HEAD": instead("HEAD", garbage), "a damaged config": instead("config", garbage),
		"an empty HEAD": instead("HEAD", empty), "damaged packed-refs": instead("packed-refs", garbage),
		"a link as the tree": instead("tree/.", outside), "a link as a directory": instead("tree/docs", outside),
		"a link as HEAD": instead("HEAD", outside), "a link as the index": instead("index", outside), "a link as hooks": instead("hooks", outside),
		"a tree of 0555": instead("tree/locked", mode(0o555)), "a tree of 0000": instead("tree/locked", mode(0)),
		"a directory of 0555 in the repository": instead("rebase-merge", mode(0o555)), "one of 0000": instead("rebase-merge", mode(0)),
		"a repository in the tree": func(k *kit, dir string) {
			run(k, dir, "init", "--quiet", "inner")
			commit(k, filepath.Join(dir, "inner"), "x", "x")
		},
		"other refs": func(k *kit, dir string) {
			run(k, dir, "tag", "v1")
			run(k, dir, "update-ref", "refs/replace/"+run(k, dir, "rev-parse", "HEAD"), "HEAD~1")
		},
		"settings": func(k *kit, dir string) { run(k, dir, "config", "user.kim", "was here") },
		"a socket": func(k *kit, dir string) {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			require.NoError(k, err)
			defer func() { _ = syscall.Close(fd) }()
			at, err := os.Open(dir)
			require.NoError(k, err)
			defer at.Close()
			require.NoError(k, syscall.Bind(fd, &syscall.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/socket", at.Fd())}), "names of sockets are short")
		},
		"a device": func(k *kit, dir string) {
			if err := syscall.Mknod(filepath.Join(dir, "device"), syscall.S_IFCHR|0o600, 1<<8|3); err != nil {
				k.Skip("only root makes devices: ", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			dir := k.open()
			taken := commit(t, dir, "a.go", "package a\n")
			k.take()
			head := commit(t, dir, "b.go", "package b\n")
			write(t, dir, "draft.txt", "half a thought\n")
			spoil(k, dir)
			var at work.Checkout
			var err error
			asAnybody(t, func() { at, err = k.g.Open(t.Context(), k.space, k.first()) })
			require.NoError(t, err)
			require.Equal(t, head, k.fresh(at))
			if name != "a link as the tree" { // nothing of what was there is left then
				require.Equal(t, "half a thought", run(t, k.mirror(), "show", at.Left.SHA+":draft.txt"))
			}
			next := commit(t, at.Dir, "c.go", "package c\n")
			require.Equal(t, next, k.take().SHA)
			require.NotEqual(t, taken, next)
		})
	}
}
