package agentcli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// aDay is how long processes of a test sleep: about a day, and with a fraction
// that distinguishes them from those of every other test that runs on this machine.
func aDay(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("86400.%d%09d", os.Getpid(), rand.Int32())
}

// spin starts a process that is another one before it can be ended.
func spin(mark, pause string) string {
	return `cat >spin <<'END'
trap '' TERM HUP
` + pause + `
setsid sh "$0" "$1" &
exit 0
END
(setsid sh spin ` + mark + ` &)
`
}

// hostile does everything to outlive its master: it double-forks, makes
// sessions, ignores TERM, clears its environment, keeps stdout open and spins.
func hostile(mark string) string {
	return `trap '' TERM HUP INT
(setsid sh -c 'trap "" TERM; exec sleep ` + mark + `' &)
(env -i setsid sh -c 'trap "" TERM; cd /; exec sleep ` + mark + `' &)
sh -c 'sleep ` + mark + ` & sleep ` + mark + ` &' &
` + spin(mark, "sleep 0.01") + `echo started >started
`
}

func waitFor(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), what)
	}
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

func TestNothingOutlivesARun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"the end", "a time-out", "a cancellation"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := aDay(t)
			body := hostile(mark)
			if name != "the end" {
				body += "while :; do sleep " + mark + "; done\n"
			}
			c := command(t, body)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			want := work.ResultOK
			switch name {
			case "a time-out":
				c.Agent.Timeout, want = 300*time.Millisecond, work.ResultTimeout
			case "a cancellation":
				want = work.ResultCancelled
				stop := context.AfterFunc(ctx, func() {})
				defer stop()
				go func() {
					waitFor(t, "the agent starts", func() bool { return exists(filepath.Join(c.Dir, "started")) && len(alive(t, mark)) >= 4 })
					cancel()
				}()
			}
			res := newRunner(t).Run(ctx, c)
			require.Equal(t, want, res.Kind, res.Reason)
			require.Empty(t, alive(t, mark))
		})
	}
}

// Not every look at the processes sees one that is soon another one: a look that
// finds nothing must not be the last.
func TestSpinnersAreCaught(t *testing.T) {
	t.Parallel()
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			mark := aDay(t)
			c := command(t, spin(mark, "")+spin(mark, "")+spin(mark, "sleep 0.001"))
			c.Agent.Timeout = time.Hour
			res := newRunner(t).Run(t.Context(), c)
			succeeded(t, res)
			for range 10 { // nor may this be one look
				require.Empty(t, alive(t, mark))
			}
		})
	}
}

// service is a service that runs a hostile agent until it is killed.
func service(dir string) {
	r, err := agentcli.New(options(dir))
	if err != nil {
		panic(err)
	}
	r.Run(context.Background(), work.Command{TaskID: 9, Run: 1, Attempt: 1, Dir: filepath.Join(dir, "tree"), Agent: work.Agent{Use: filepath.Join(dir, "agent.sh"), Timeout: time.Hour}})
	os.Exit(0)
}

func TestKilledServiceLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "service and shim"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := aDay(t)
			dir := t.TempDir()
			tree := filepath.Join(dir, "tree")
			require.NoError(t, os.Mkdir(tree, 0o700))
			body := `trap '' TERM HUP INT
(setsid sh -c 'trap "" TERM; exec sleep ` + mark + `' &)
(env -i setsid sh -c 'trap "" TERM; cd /; exec sleep ` + mark + ` >/dev/null 2>&1' &)
` + spin(mark, "sleep 0.01") + `echo started >started
while :; do sleep ` + mark + `; done`
			program(t, filepath.Join(dir, "agent.sh"), body)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "service", dir)
			require.NoError(t, cmd.Start())
			waitFor(t, "the agent starts", func() bool { return exists(filepath.Join(tree, "started")) && len(alive(t, "sleep\x00"+mark)) == 3 })
			if name == "service and shim" {
				waitFor(t, "the shim notes who dropped the mark", func() bool {
					body, err := os.ReadFile(filepath.Join(dir, "state", "9.1.1.json"))
					return err == nil && strings.Contains(string(body), `"strays"`)
				})
				for _, pid := range children(t, cmd.Process.Pid) {
					require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				}
			}
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			r := newly(t, options(dir))
			require.NoError(t, r.Quiesce(t.Context(), 9))
			for range 10 {
				require.Empty(t, alive(t, mark))
			}
			left, err := filepath.Glob(filepath.Join(dir, "state", "*"))
			require.NoError(t, err)
			require.Empty(t, left)
			require.NoError(t, r.Quiesce(t.Context(), 9), "again is a success")
		})
	}
}

func children(t testing.TB, pid int) []int {
	t.Helper()
	body := contents(t, fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	var out []int
	for _, f := range strings.Fields(string(body)) {
		n, err := strconv.Atoi(f)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}

func TestQuiesceForgetsABrokenRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newly(t, options(dir))
	name := filepath.Join(dir, "state", "5.1.1.json")
	require.NoError(t, os.WriteFile(name, []byte(`{"tok`), 0o600))
	require.NoError(t, r.Quiesce(t.Context(), 5))
	require.NoFileExists(t, name)
}

// write makes a record as a dead service would have left it.
func write(t testing.TB, dir string, rec map[string]any) string {
	t.Helper()
	body, err := json.Marshal(rec)
	require.NoError(t, err)
	name := filepath.Join(dir, "state", "9.1.1.json")
	require.NoError(t, os.WriteFile(name, body, 0o600))
	return name
}

func boot(t testing.TB) string {
	t.Helper()
	return strings.TrimSpace(string(contents(t, "/proc/sys/kernel/random/boot_id")))
}

// startOf reads when a process began, in the kernel's ticks.
func startOf(t testing.TB, pid int) uint64 {
	t.Helper()
	body := contents(t, fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(body[bytes.LastIndexByte(body, ')')+1:]))
	n, err := strconv.ParseUint(fields[19], 10, 64)
	require.NoError(t, err)
	return n
}

// bystander starts a process that nobody but the test may end. Its end comes
// on the channel.
func bystander(t testing.TB, dir string, env ...string) (int, <-chan error) {
	t.Helper()
	cmd := exec.Command("sleep", "86420")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for more := true; more; {
			_, more = <-ended
		}
	})
	return cmd.Process.Pid, ended
}

func TestQuiesceKnowsWhoIsWho(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inDir, marked, dies bool
		rec                 func(pid int, start uint64) map[string]any
	}{
		"the noted process": {dies: true, rec: func(pid int, start uint64) map[string]any {
			return map[string]any{"strays": []any{map[string]any{"pid": pid, "start": start}}}
		}},
		"its number is another's now": {rec: func(pid int, start uint64) map[string]any {
			return map[string]any{"strays": []any{map[string]any{"pid": pid, "start": start - 1}}, "shim": map[string]any{"pid": pid, "start": start + 1}}
		}},
		"the shim": {dies: true, rec: func(pid int, start uint64) map[string]any {
			return map[string]any{"shim": map[string]any{"pid": pid, "start": start}}
		}},
		"marked": {marked: true, dies: true},
		"marked, but the machine was started anew": {marked: true, rec: func(int, uint64) map[string]any { return map[string]any{"boot": "another"} }},
		"in the directory, younger": {inDir: true, dies: true, rec: func(_ int, start uint64) map[string]any {
			return map[string]any{"shim": map[string]any{"pid": 1 << 30, "start": start}}
		}},
		"in the directory, older": {inDir: true, rec: func(_ int, start uint64) map[string]any {
			return map[string]any{"shim": map[string]any{"pid": 1 << 30, "start": start + 1}}
		}},
		"in the directory, but nothing was started": {inDir: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, tree := t.TempDir(), t.TempDir()
			o := options(dir)
			o.TermGrace = 10 * time.Second
			r := newly(t, o)
			at, env := "/", "X=1"
			if c.inDir {
				at = tree
			}
			token := "T" + strings.ReplaceAll(name, " ", "")
			if c.marked {
				env = "SIGNALBOX_RUN_TOKEN=" + token
			}
			pid, ended := bystander(t, at, env)
			rec := map[string]any{}
			if c.rec != nil {
				rec = c.rec(pid, startOf(t, pid))
			}
			for k, v := range map[string]any{"task_id": 9, "token": token, "dir": tree, "boot": boot(t)} {
				if rec[k] == nil {
					rec[k] = v
				}
			}
			file := write(t, dir, rec)
			require.NoError(t, r.Quiesce(t.Context(), 8), "another task's")
			require.FileExists(t, file)
			require.NoError(t, r.Quiesce(t.Context(), 9))
			require.NoFileExists(t, file)
			if c.dies {
				require.ErrorContains(t, <-ended, "terminated")
				return
			}
			require.NoError(t, syscall.Kill(pid, 0))
			require.Empty(t, ended)
		})
	}
}

func TestQuiesceStopsWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options(dir)
	o.TermGrace = time.Hour
	r := newly(t, o)
	cmd := exec.Command("sh", "-c", `trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	cmd.Env = append(os.Environ(), "SIGNALBOX_RUN_TOKEN=stubborn")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	file := write(t, dir, map[string]any{"task_id": 9, "token": "stubborn", "boot": boot(t)})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Quiesce(ctx, 9), context.DeadlineExceeded)
	require.FileExists(t, file, "there is still something to end")
}

func TestCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := command(t, "touch started")
	require.Equal(t, work.ResultCancelled, newRunner(t).Run(ctx, c).Kind)
	require.NoFileExists(t, filepath.Join(c.Dir, "started"))
}

// script makes a command of a shell script.
func script(t testing.TB, dir, body string) string {
	t.Helper()
	name := filepath.Join(dir, "agent.sh")
	program(t, name, body+"\n")
	return "'" + name + "'"
}

// program writes a shell script that can be run. No process starts meanwhile: one that
// inherited the open file would keep it from being run ("text file busy").
func program(t testing.TB, name, body string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+body), 0o755))
}

// put writes a file that may be executed.
func put(t testing.TB, body string, path ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(path...), []byte(body), 0o700))
}
