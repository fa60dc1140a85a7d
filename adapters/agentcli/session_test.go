//go:build linux

package agentcli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

const session = "8d1f2c7a-0001-4c1e-9d2e-aaaaaaaaaaaa"

// sessions is a runner with an agent that has a session: it prints its argument, what it
// remembers, and the first words of its prompt, and does what the checkout's file "do" says.
func sessions(t *testing.T) (*agentcli.Runner, work.Command, string) {
	t.Helper()
	dir := t.TempDir()
	o := options(dir)
	const script = `cd "$HOME"; mkdir -p .claude/projects/w; cd .claude/projects/w
say="$1: $(cat ` + session + `.jsonl 2>/dev/null) $(ls) $(echo "$0" | head -c 24)"
echo "attempt $SIGNALBOX_ATTEMPT" >>` + session + `.jsonl; ln -s /etc/passwd link; echo x >notes.jsonl
cd "$SIGNALBOX_TEST_DIR"; . ./do
echo '{"type":"result","subtype":"success","result":"'$say'"}'`
	o.Presets = map[string]agentcli.Preset{"c": {
		Argv: []string{"sh", "-c", script, "{prompt}"}, Format: agentout.Claude, ResumeFlag: "--resume=", Sessions: []string{".claude/projects"},
	}}
	r := newly(t, o)
	c := command(t, "")
	c.Agent, c.Env["SIGNALBOX_TEST_DIR"] = work.Agent{Use: "c", Timeout: time.Minute}, c.Dir
	return r, c, filepath.Join(dir, "state", "7.sessions")
}

// attempt runs one, which does what a script says before its result.
func attempt(t *testing.T, r *agentcli.Runner, c work.Command, do string) work.Result {
	t.Helper()
	put(t, do+"\n", c.Dir, "do")
	return r.Run(t.Context(), c)
}

// interrupted runs an attempt that is ended when it works.
func interrupted(t *testing.T, r *agentcli.Runner, c work.Command) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		waitFor(t, "the agent starts", func() bool { return exists(filepath.Join(c.Dir, "started")) })
		cancel()
	}()
	put(t, "touch started; sleep 1000\n", c.Dir, "do")
	require.Equal(t, work.ResultCancelled, r.Run(ctx, c).Kind)
}

// An attempt goes on with the session of the one before, when that did not finish.
func TestSessionIsGoneOnWith(t *testing.T) {
	t.Parallel()
	const limit = `echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit"}'; exit 1`
	for _, name := range []string{"an interruption", "a limit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c, kept := sessions(t)
			if name == "a limit" {
				require.Equal(t, work.TroubleLimit, attempt(t, r, c, limit).Trouble.Kind)
			} else {
				interrupted(t, r, c)
			}
			require.DirExists(t, kept)
			c.Attempt++
			res := attempt(t, r, c, "")
			succeeded(t, res)
			require.Equal(t, "--resume="+session+": attempt 1 "+session+".jsonl notes.jsonl Your session was interru", res.Summary)
			require.NoDirExists(t, kept, "it has finished")
			c.Attempt++
			require.Contains(t, attempt(t, r, c, "").Summary, "Build it.")
		})
	}
}

// A session is nobody else's, and none that an attempt has ended with.
func TestSessionIsOfOneRun(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*work.Command){
		"another role": func(c *work.Command) { c.Role = "tester" },
		"another run":  func(c *work.Command) { c.Run++ },
		"another task": func(c *work.Command) { c.TaskID++ },
		"a failure":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c, kept := sessions(t)
			if change == nil {
				require.Equal(t, work.ResultFailed, attempt(t, r, c, "exit 1").Kind)
			} else {
				interrupted(t, r, c)
				change(&c)
			}
			c.Attempt++
			res := attempt(t, r, c, "")
			succeeded(t, res)
			require.NotContains(t, res.Summary, "attempt")
			require.Contains(t, res.Summary, "Build it.")
			if name != "another task" {
				require.NoDirExists(t, kept)
			}
		})
	}
}

// A tool that does not find its session begins anew, in the same attempt.
func TestSessionIsLost(t *testing.T) {
	t.Parallel()
	r, c, _ := sessions(t)
	interrupted(t, r, c)
	c.Attempt++
	res := attempt(t, r, c, `case "$1" in --resume=*) echo '{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: x"]}'; exit 1;; esac`)
	succeeded(t, res)
	require.Contains(t, res.Summary, "Build it.")
}

// The session of an attempt that died with its service is kept when that is cleared away, and
// goes with the task; what is too much is not kept.
func TestSessionOfTheDead(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"small": 10, "too much": 65 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, c, kept := sessions(t)
			state := filepath.Dir(kept)
			dir := filepath.Join(filepath.Dir(state), "homes", "7.3.1", "home", ".claude/projects/w")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			file := filepath.Join(dir, session+".jsonl")
			require.NoError(t, os.WriteFile(file, []byte("attempt 1"), 0o600))
			require.NoError(t, os.Truncate(file, size))
			record := `{"task_id": 7, "token": "t", "dir": "/nowhere", "boot": "an earlier one", "session": "` + kept + `/3-developer-c", "sessions": [".claude/projects"]}`
			put(t, record, state, "7.3.1.json")
			require.NoError(t, r.Quiesce(t.Context(), 7))
			require.NoDirExists(t, dir)
			if name == "too much" {
				require.NoDirExists(t, kept)
				return
			}
			marks, err := r.Marks().Remains(t.Context())
			require.NoError(t, err)
			require.Len(t, marks, 1)
			c.Attempt++
			require.Contains(t, attempt(t, r, c, "exit 1").Reason, "exit code 1")
			require.NoDirExists(t, kept)
			require.NoError(t, os.MkdirAll(filepath.Join(kept, "3-developer-c"), 0o700))
			marks, err = r.Marks().Remains(t.Context())
			require.NoError(t, err)
			require.NoError(t, r.Marks().Remove(t.Context(), marks[0]))
			require.NoDirExists(t, kept)
		})
	}
}
