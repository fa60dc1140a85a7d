package filelease_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/filelease"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/queue/lease/leasetest"
)

func open(t *testing.T, dir string, now func() time.Time) *filelease.Locker {
	t.Helper()
	l, err := filelease.New(dir, now)
	require.NoError(t, err)
	return l
}

func TestConformance(t *testing.T) {
	leasetest.Run(t, func(t *testing.T, now func() time.Time) lease.Locker { return open(t, t.TempDir(), now) })
}

func leaseFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.lease"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

func TestTornFileIsHeldUntilItIsOld(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", `{"name":"x","hol`, "garbage", `{}`, "\x00\x00"} {
		dir := t.TempDir()
		l := open(t, dir, nil)
		first, err := l.Acquire(t.Context(), "x", "a", time.Minute)
		require.NoError(t, err)
		file := leaseFile(t, dir)
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		_, err = l.Acquire(t.Context(), "x", "b", time.Minute)
		require.ErrorIs(t, err, lease.ErrHeld, "%q", content)
		old := time.Now().Add(-2 * time.Minute)
		require.NoError(t, os.Chtimes(file, old, old))
		got, err := l.Acquire(t.Context(), "x", "b", time.Minute)
		require.NoError(t, err, "%q", content)
		require.Greater(t, got.Epoch, first.Epoch, "the guard remembers the epoch")
	}
}

func TestRemovedFileKeepsTheEpoch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, nil)
	first, err := l.Acquire(t.Context(), "x", "a", time.Minute)
	require.NoError(t, err)
	require.NoError(t, os.Remove(leaseFile(t, dir)))
	second, err := l.Acquire(t.Context(), "x", "b", time.Minute)
	require.NoError(t, err)
	require.Greater(t, second.Epoch, first.Epoch)
}

// A container that replaces another has its data and another name: of the same machine it is the same holder's as before, and
// what nobody holds is anybody's.
func TestLeaseOfAnotherMachineIsRefused(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	require.NoError(t, err)
	container := strings.NewReplacer(strconv.Quote(host), `"elsewhere"`)
	machine := strings.NewReplacer(strconv.Quote(host), `"elsewhere"`, strings.TrimSpace(string(boot)), "another")
	for _, c := range []struct {
		by   *strings.Replacer
		free bool
		want error
	}{{machine, false, filelease.ErrForeign}, {machine, true, nil}, {container, false, nil}} {
		dir := t.TempDir()
		l := open(t, dir, nil)
		got, err := l.Acquire(t.Context(), "x", "a", time.Minute)
		require.NoError(t, err)
		if c.free {
			require.NoError(t, l.Release(t.Context(), got))
		}
		file := leaseFile(t, dir)
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(c.by.Replace(string(body))), 0o600))
		_, err = l.Acquire(t.Context(), "x", "a", time.Minute)
		require.ErrorIs(t, err, c.want)
	}
}

func TestSpoiltGuardIsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, nil)
	_, err := l.Acquire(t.Context(), "x", "a", time.Minute)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(leaseFile(t, dir)+".guard", []byte("what"), 0o600))
	_, err = l.Acquire(t.Context(), "x", "a", time.Minute)
	require.ErrorContains(t, err, "remove it together with its lease")
}

func TestBadDirectory(t *testing.T) {
	t.Parallel()
	_, err := filelease.New("", nil)
	require.ErrorContains(t, err, "dir is missing")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = filelease.New(filepath.Join(file, "sub"), nil)
	require.Error(t, err)
}

func TestWaitingForTheGuardEndsWithTheContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := child(t, dir, "hold-guard")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = open(t, dir, nil).Acquire(ctx, "x", "a", time.Minute)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// Several processes fight for a lease of which one is killed again and again:
// no epoch is granted twice.
func TestProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	granted := make(chan string, 4096)
	var done []func() error
	for range 4 {
		cmd := child(t, dir, "fight")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		done = append(done, func() error {
			for lines.Scan() {
				granted <- lines.Text()
			}
			return cmd.Wait()
		})
	}
	for _, wait := range done {
		require.NoError(t, wait())
	}
	close(granted)
	seen := map[string]bool{}
	for epoch := range granted {
		require.False(t, seen[epoch], "epoch %s was granted twice", epoch)
		seen[epoch] = true
	}
	require.Greater(t, len(seen), 40)
}

func child(t *testing.T, dir, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestChild$")
	cmd.Env = append(os.Environ(), "FILELEASE_CHILD="+what, "FILELEASE_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestChild is the other processes' main; it does nothing in a normal run.
func TestChild(t *testing.T) {
	what := os.Getenv("FILELEASE_CHILD")
	if what == "" {
		return
	}
	l := open(t, os.Getenv("FILELEASE_DIR"), nil)
	if what == "hold-guard" {
		holdGuard(t, os.Getenv("FILELEASE_DIR"), l)
		return
	}
	for range 40 {
		got, err := l.Acquire(t.Context(), "x", fmt.Sprint(os.Getpid()), time.Minute)
		if errors.Is(err, lease.ErrHeld) {
			time.Sleep(time.Millisecond)
			continue
		}
		require.NoError(t, err)
		fmt.Println("epoch", got.Epoch)
		require.NoError(t, l.Release(t.Context(), got))
	}
	os.Exit(0) // without the test framework's own output
}
