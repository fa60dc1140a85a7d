//go:build linux

package gitcli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// TestMain lets the test's own program be the shim of checks.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "check-shim" {
		os.Exit(gitcli.RunCheckShim())
	}
	os.Exit(m.Run())
}

// checking is a kit whose main has programs, and whose branch has other ones of the
// same names.
func checking(t *testing.T, main, branch map[string]string) (*kit, gates.Facts) {
	t.Helper()
	k := setup(t)
	for name, body := range main {
		k.pushMain(name, body)
	}
	k.g = openGit(t, gitcli.Options{Root: k.root, Shim: []string{"/proc/self/exe", "check-shim"}})
	dir := k.open()
	for name, body := range branch {
		write(t, dir, name, body)
	}
	head := commit(t, dir, "judged.txt", "of the branch\n")
	k.take()
	return k, gates.Facts{SHA: head, Stage: "development", Task: gates.Task{Repo: "acme/app", Main: "main", Branch: k.space.Branch, WorkItem: "APP-1"}}
}

func TestRunCheck(t *testing.T) {
	t.Parallel()
	k, s := checking(t, map[string]string{
		"bin/ok":  "#!/bin/sh\ntest -f README.md && test -f judged.txt && test -w . && test -z \"$(ls -A $HOME)\" && test \"$SIGNALBOX_BRANCH\" = feature/APP-1-cache\n",
		"bin/bad": "#!/bin/sh\necho 'licence missing' >&2\nexit 2\n", "bin/odd": "#!/bin/sh\nexit 9\n", "bin/killed": "#!/bin/sh\nkill -9 $$\n",
		"bin/groups": "#!/bin/sh\ncut -d' ' -f5 /proc/$$/stat /proc/$PPID/stat\n",
	}, nil)
	for program, want := range map[string]int{"./bin/ok": 0, "./bin/bad": 2, "./bin/odd": 9, "./bin/killed": 137, "bin/odd": 9} {
		exit, stderr, err := k.g.RunCheck(t.Context(), []string{program}, s)
		require.NoError(t, err, program)
		require.Equal(t, want, exit, "%s: %s", program, stderr)
	}
	_, stderr, err := k.g.RunCheck(t.Context(), []string{"./bin/groups"}, s)
	require.NoError(t, err)
	groups := append(strings.Fields(stderr), strconv.Itoa(syscall.Getpgrp()))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(groups))), 3, "kill 0 in a check ends neither the shim nor us, and an interrupt of ours not the shim")
	_, stderr, err = k.g.RunCheck(t.Context(), []string{"./bin/bad"}, s)
	require.NoError(t, err)
	require.Equal(t, "licence missing\n", stderr)
	for _, program := range []string{"./none", "no-such-program", "../x", "./bin"} {
		_, _, err = k.g.RunCheck(t.Context(), []string{program}, s)
		require.Error(t, err, program)
	}
	left, err := filepath.Glob(filepath.Join(k.root, "check-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What a program reads by itself is as main has it, where the facts say so: changed, removed and new files alike.
func TestRunCheckWithFilesOfMain(t *testing.T) {
	t.Parallel()
	k, s := checking(t, map[string]string{"Makefile": "of main\n", "sub/tests.mk": "of main\n", "src.txt": "old\n"},
		map[string]string{"Makefile": "of the branch\n", "sub/GNUmakefile": "new\n", "src.txt": "new\n"})
	tip, err := k.g.Tip(t.Context(), k.space)
	require.NoError(t, err)
	s.Base = tip.Base
	seen := func() string {
		_, said, err := k.g.RunCheck(t.Context(), []string{"sh", "-c", "cat Makefile src.txt >&2; ls sub >&2"}, s)
		require.NoError(t, err)
		return said
	}
	require.Equal(t, "of the branch\nnew\nGNUmakefile\ntests.mk\n", seen())
	s.FromMain = []string{"**/Makefile", "**/GNUmakefile", "**/*.mk"}
	require.Equal(t, "of main\nnew\ntests.mk\n", seen())
}

// A branch that changes the check is judged by the one of main.
func TestBranchesDoNotJudgeThemselves(t *testing.T) {
	t.Parallel()
	red := "#!/bin/sh\n[ \"$1\" = --strict ] && . \"$(dirname \"$0\")/rules\"\n"
	k, s := checking(t, map[string]string{"bin/check-licences": red, "bin/rules": "grep -q licence judged.txt && exit 0; echo no licence >&2; exit 2\n", "check.txt": "of main\n"},
		map[string]string{"bin/check-licences": "#!/bin/sh\nexit 0\n", "bin/rules": "exit 0\n", "bin/new": "#!/bin/sh\nexit 0\n", "check.txt": "of the branch\n"})
	for _, argv := range [][]string{{"./bin/check-licences", "--strict"}, {"sh", "bin/check-licences", "--strict"}, {"sh", "./bin/../bin/check-licences", "--strict"}} {
		exit, stderr, err := k.g.RunCheck(t.Context(), argv, s)
		require.NoError(t, err)
		require.Equal(t, 2, exit, argv)
		require.Equal(t, "no licence\n", stderr)
	}
	_, _, err := k.g.RunCheck(t.Context(), []string{"./bin/new"}, s)
	require.ErrorContains(t, err, "has no file bin/new on main")
	exit, _, err := k.g.RunCheck(t.Context(), []string{"grep", "-q", "of the branch", "judged.txt"}, s)
	require.NoError(t, err)
	require.Zero(t, exit, "what main does not have is the branch's")
}

// Nothing that a check has started outlives it (TestHookIsEnded ends one), and it sees no setting of ours.
func TestChecksLeaveNothing(t *testing.T) {
	t.Setenv("ORCH_GITHUB_TOKEN", "canary-of-a-token")
	daemon := "#!/bin/sh\n(cd /; setsid env -i sh -c 'exec sleep 4243' >/dev/null 2>&1 &) \nsetsid sh -c 'sleep 4243 & sleep 4243' >/dev/null 2>&1 &\nsleep .2\n" +
		"cat /proc/self/environ /proc/$PPID/environ >environ\ngrep -q ORCH_ environ && exit 2\n"
	k, s := checking(t, map[string]string{"bin/daemon": daemon + "exit 0\n"}, nil)
	exit, stderr, err := k.g.RunCheck(t.Context(), []string{"./bin/daemon"}, s)
	require.NoError(t, err)
	require.Zero(t, exit, stderr)
	require.Empty(t, running(t, "sleep\x004243\x00"))

	// Each has another in its place and has ended before a table of processes can be read.
	exit, stderr, err = k.g.RunCheck(t.Context(), []string{"perl", "-e", "for (1 .. 1e6) { fork and exit }"}, s)
	require.NoError(t, err)
	require.Zero(t, exit, stderr)
}

// running are the processes with a command line, by their numbers.
func running(t *testing.T, cmdline string) (out []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, name := range names {
		if body, err := os.ReadFile(name); err == nil && string(body) == cmdline {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(name, "/proc/"), "/cmdline"))
		}
	}
	return out
}

func TestChecksNeedAShim(t *testing.T) {
	t.Parallel()
	k := setup(t)
	_, _, err := k.g.RunCheck(t.Context(), []string{"true"}, gates.Facts{SHA: strings.Repeat("a", 40), Task: gates.Task{Repo: "acme/app", Main: "main", Branch: "b", WorkItem: "APP-1"}})
	require.ErrorContains(t, err, "Options.Shim")
}

// A check in the jail has its checkout of the branch, and reads main's; of the directories
// of the service it has nothing else.
func TestCheckInTheJail(t *testing.T) {
	t.Parallel()
	k, s := checking(t, map[string]string{
		"bin/check": "#!/bin/sh\ntest -f judged.txt && echo x >new && echo x >$HOME/x && echo x >$TMPDIR/x || exit 3\n" +
			"cat $0 >/dev/null || exit 4\necho x >>$0 && exit 5\nls ../../mirrors && exit 6\nls .. && exit 7\nkill -0 $PPID && exit 8\nexit 0\n",
	}, nil)
	j := jail.System()
	var err error
	k.g = openGit(t, gitcli.Options{Root: k.root, Shim: []string{"/proc/self/exe", "check-shim"}, Jail: &j})
	exit, stderr, err := k.g.RunCheck(t.Context(), []string{"./bin/check"}, s)
	require.NoError(t, err)
	require.Zero(t, exit, stderr)
	j.Write = append(j.Write, "/no/such/directory")
	exit, stderr, err = k.g.RunCheck(t.Context(), []string{"./bin/check"}, s)
	require.NoError(t, err)
	require.Equal(t, jail.ExitRefused, exit, "it is not run without one")
	require.Contains(t, stderr, "/no/such/directory")
}

// What a check runs in is removed although its shim was killed.
func TestKilledShimOfACheck(t *testing.T) {
	t.Parallel()
	k, s := checking(t, map[string]string{"bin/engine": "#!/bin/sh\necho $1 >>$CALLS\ntest $1 = rm || kill -9 $PPID\n"}, nil)
	calls := filepath.Join(t.TempDir(), "calls")
	box := work.Box{Kind: work.BoxContainer, Program: filepath.Join(k.open(), "bin/engine"), Env: []string{"CALLS=" + calls}}
	k.g = openGit(t, gitcli.Options{Root: k.root, Shim: []string{"/proc/self/exe", "check-shim"}, Jail: &work.Jail{Box: box}})
	_, _, err := k.g.RunCheck(t.Context(), []string{"true"}, s)
	require.ErrorContains(t, err, "killed")
	said, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, "run\nrm\n", string(said))
}

// What a check prints goes to its log as well, all of it.
func TestCheckLog(t *testing.T) {
	t.Parallel()
	k, s := checking(t, map[string]string{"check": "#!/bin/sh\necho out; echo err >&2; head -c 9000 /dev/zero | tr '\\0' x\n"}, nil)
	var log bytes.Buffer
	s.Log = &log
	exit, said, err := k.g.RunCheck(t.Context(), []string{"./check"}, s)
	require.NoError(t, err)
	require.Zero(t, exit)
	require.Len(t, said, 4<<10, "the end")
	require.Equal(t, 9000+len("out\nerr\n"), log.Len())
}
