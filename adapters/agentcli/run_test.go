package agentcli_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// TestMain lets the test's own program be the shim, and a service that is
// killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent-shim" {
		os.Exit(agentcli.RunShim())
	}
	if len(os.Args) > 1 && os.Args[1] == "agent-shim-without-order" {
		null, err := os.Open(os.DevNull)
		if err != nil {
			os.Exit(1)
		}
		os.Stdin = null
		os.Exit(agentcli.RunShim())
	}
	if len(os.Args) > 2 && os.Args[1] == "service" {
		service(os.Args[2])
	}
	goleak.VerifyTestMain(m)
}

func options(dir string) agentcli.Options {
	return agentcli.Options{
		LogDir: filepath.Join(dir, "logs"), StateDir: filepath.Join(dir, "state"), HomeDir: filepath.Join(dir, "homes"),
		Shim: []string{"/proc/self/exe", "agent-shim"}, TermGrace: 200 * time.Millisecond, LogMax: 4096,
	}
}

// succeeded requires a run to have ended well.
func succeeded(t testing.TB, res work.Result) {
	t.Helper()
	require.Equal(t, work.ResultOK, res.Kind, res.Reason)
}

func newRunner(t testing.TB, change ...func(*agentcli.Options)) *agentcli.Runner {
	t.Helper()
	o := options(t.TempDir())
	for _, f := range change {
		f(&o)
	}
	return newly(t, o)
}

func command(t testing.TB, body string) work.Command {
	t.Helper()
	return work.Command{
		TaskID: 7, WorkItem: "APP-7", Repo: "acme/app", Role: stage.Developer, Stage: stage.Development, Run: 3, Attempt: 1,
		Dir: t.TempDir(), Prompt: "Build it.\nПривет", Agent: work.Agent{Use: script(t, t.TempDir(), body), Timeout: time.Minute},
		Env: map[string]string{"SIGNALBOX_SHA": "abc", "PATH": "/evil", "SIGNALBOX_NUL": "a\x00b"},
	}
}

// alive lists processes that have a text in their command line.
func alive(t testing.TB, text string) []string {
	t.Helper()
	var out []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, d := range dirs {
		body, err := os.ReadFile(filepath.Join(d, "cmdline"))
		stat, _ := os.ReadFile(filepath.Join(d, "stat"))
		if err == nil && strings.Contains(string(body), text) && !strings.Contains(string(stat), ") Z ") {
			out = append(out, filepath.Base(d)+" "+strings.ReplaceAll(string(body), "\x00", " "))
		}
	}
	return out
}

func TestRunOK(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	c := command(t, `read line; cat >rest; pwd >where
echo '{"type":"result","subtype":"success","is_error":false,"result":"'"$line $SIGNALBOX_ROLE $SIGNALBOX_STAGE $SIGNALBOX_RUN $SIGNALBOX_SHA"'","session_id":"s","total_cost_usd":0.01,"usage":{"input_tokens":3,"output_tokens":4}}'`)
	res := r.Run(t.Context(), c)
	succeeded(t, res)
	require.Equal(t, "Build it. developer development 3 abc", res.Summary)
	require.EqualValues(t, 10000, res.Usage.MicroUSD)
	require.Equal(t, "s", res.SessionID)
	require.False(t, res.FinishedAt.Before(res.StartedAt))
	require.FileExists(t, res.LogPath)
	rest := contents(t, filepath.Join(c.Dir, "rest"))
	require.Equal(t, "Привет", string(rest))
}

// A run whose directories grow beyond their bound is ended and says so: a hole in a file takes no room, and what was
// there before is not counted.
func TestRoomOfARun(t *testing.T) {
	t.Parallel()
	r := newRunner(t, func(o *agentcli.Options) { o.RoomMax = 8 << 20 })
	c := command(t, `sleep 1; truncate -s 1T hole; head -c 6000000 /dev/zero >a; sleep 3; echo fits; mkdir d; head -c 6000000 /dev/zero >d/b; chmod 000 d; sleep 60`)
	require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "before"), make([]byte, 6<<20), 0o600))
	res := r.Run(t.Context(), c)
	require.Equal(t, work.ResultFailed, res.Kind)
	require.Regexp(t, `^stopped: its directories have grown by 11 MiB, and may by 8 MiB`, res.Reason)
	require.Equal(t, "fits\n", string(contents(t, res.LogPath)))
}

// What a run has printed can be read by its name, and nothing else can.
func TestOpenLog(t *testing.T) {
	dir := t.TempDir()
	r := newRunner(t, func(o *agentcli.Options) { o.LogDir = filepath.Join(dir, "logs") })
	c := work.Command{TaskID: 7, Role: stage.Tester, Run: 3, Attempt: 2, Dir: t.TempDir(), Agent: work.Agent{Use: script(t, dir, "echo out; echo errors >&2")}}
	r.Run(t.Context(), c)
	read := func(n work.LogName) string {
		f, err := r.OpenLog(t.Context(), n)
		require.NoError(t, err)
		defer f.Close()
		body, err := io.ReadAll(f)
		require.NoError(t, err)
		return string(body)
	}
	name := work.LogName{TaskID: 7, Role: stage.Tester, Run: 3, Attempt: 2}
	require.Equal(t, "out\n", read(name))
	name.Stream = work.StreamErrors
	require.Equal(t, "errors\n", read(name))
	for _, n := range []work.LogName{{TaskID: 7, Role: stage.Tester, Run: 3, Attempt: 1}, {TaskID: 7, Role: "../../x", Run: 3, Attempt: 2}} {
		_, err := r.OpenLog(t.Context(), n)
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// What a run reports comes from its own outbox, which is empty when it begins.
func TestReport(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	report := func(body string) (string, error) {
		t.Helper()
		c := command(t, body)
		c.Role, c.Report, c.Prompt = stage.Reviewer, "review.md", "Write to {report}, and read {report}."
		res := r.Run(t.Context(), c)
		succeeded(t, res)
		return r.Report(t.Context(), c)
	}
	text, err := report(`read line; [ "$line" = "Write to $SIGNALBOX_REPORT, and read $SIGNALBOX_REPORT." ] && echo fine >"$SIGNALBOX_REPORT"; echo done`)
	require.NoError(t, err)
	require.Equal(t, "fine\n", text)
	_, err = report("echo done")
	require.ErrorIs(t, err, fs.ErrNotExist, "that of an earlier execution")

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for name, body := range map[string]string{
		"a link":           `ln -s ` + secret + ` "$SIGNALBOX_REPORT"`,
		"a linked outbox":  `d=$(dirname "$SIGNALBOX_REPORT"); rmdir "$d"; ln -s ` + filepath.Dir(secret) + ` "$d"; ln ` + secret + ` "$SIGNALBOX_REPORT"`,
		"a pipe":           `mkfifo "$SIGNALBOX_REPORT"`,
		"a directory":      `mkdir "$SIGNALBOX_REPORT"`,
		"too long":         `head -c 70000 /dev/zero >"$SIGNALBOX_REPORT"`,
		"no outbox at all": `d=$(dirname "$SIGNALBOX_REPORT"); rmdir "$d"; echo x >"$d"`,
	} {
		text, err := report(body + "; echo done")
		require.Error(t, err, name)
		require.Empty(t, text, name)
	}
	_, err = report("echo done")
	require.ErrorIs(t, err, fs.ErrNotExist, "whatever was left there")
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ORCH_PLANE_TOKEN", "secret1")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret2")
	t.Setenv("ANTHROPIC_API_KEY", "passed on")
	t.Setenv("CLAUDECODE", "1")
	r := newRunner(t)
	t.Setenv("OPENAI_API_KEY", "secret3")
	t.Setenv("GOPROXY", "https://user:secret4@proxy.example.org")
	t.Setenv("HTTPS_PROXY", "http://user:secret5@proxy.example.org")
	t.Setenv("HOME", t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Join(os.Getenv("HOME"), ".claude"), 0o700))
	put(t, "signed in", os.Getenv("HOME"), ".claude/.credentials.json")
	c := command(t, "")
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "claude"), []byte(`#!/bin/sh
env >env.txt; cat "$HOME/.claude/.credentials.json" >home.txt; touch "$TMPDIR/x"; mkdir -p "$HOME/ro/x"; chmod 500 "$HOME/ro"; echo done
`), 0o755))
	c.Agent.Use = filepath.Join(bin, "claude")
	require.Equal(t, work.ResultOK, r.Run(t.Context(), c).Kind)
	body := contents(t, filepath.Join(c.Dir, "env.txt"))
	env := string(body)
	require.NotContains(t, env, "secret")
	require.NotContains(t, env, "CLAUDECODE")
	require.NotContains(t, env, "/evil")
	require.NotContains(t, env, "SIGNALBOX_NUL")
	require.Contains(t, env, "ANTHROPIC_API_KEY=passed on")
	require.Contains(t, env, "/homes/7.3.1/home")
	home := contents(t, filepath.Join(c.Dir, "home.txt"))
	require.Equal(t, "signed in", string(home), "how the tool signs in is there")
	require.NoDirExists(t, filepath.Dir(regexp.MustCompile(`(?m)^HOME=(.*)$`).FindStringSubmatch(env)[1]), "nothing of it is left")
	require.Contains(t, env, "GIT_TERMINAL_PROMPT=0")
}

// Each tool sees the key of its own vendor, and no tool sees a variable by a pattern.
func TestEachToolSeesItsOwnKey(t *testing.T) {
	keys := map[string][]string{"claude": {"ANTHROPIC_API_KEY"}, "codex": {"OPENAI_API_KEY"}, "gemini": {"GEMINI_API_KEY"}, "opencode": {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"}, "mine": nil}
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
		"ANTHROPIC_X", "CLAUDE_X", "CLAUDE_CONFIG_DIR", "OPENAI_X", "CODEX_HOME", "GEMINI_X", "GOOGLE_GENAI_X", "GOOGLE_APPLICATION_CREDENTIALS", "OPENCODE_X", "LC_X", "GOAUTH", "NPM_CONFIG__AUTHTOKEN", "https_proxy",
	} {
		t.Setenv(name, "canary of "+name)
	}
	bin := t.TempDir()
	for tool, want := range keys {
		program(t, filepath.Join(bin, tool), "env >env.txt; echo done\n")
		c := command(t, "")
		c.Agent.Use = filepath.Join(bin, tool)
		require.Equal(t, work.ResultOK, newRunner(t).Run(t.Context(), c).Kind)
		body := contents(t, filepath.Join(c.Dir, "env.txt"))
		var got []string
		for _, found := range regexp.MustCompile(`(?m)^(\w+)=canary`).FindAllStringSubmatch(string(body), -1) {
			got = append(got, found[1])
		}
		require.ElementsMatch(t, want, got, tool)
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, agent string
		kind        string
		exit        int
		reason      string
	}{
		"exit code":        {body: "echo why >&2; exit 3", kind: work.ResultFailed, exit: 3, reason: "exit code 3: why"},
		"killed":           {body: "kill -9 $$", kind: work.ResultFailed, exit: 137, reason: "exit code 137"},
		"its own error":    {body: `echo '{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529"}'; exit 1`, kind: work.ResultFailed, exit: 1, reason: "API Error: 529"},
		"terminated":       {body: "kill -TERM $$", kind: work.ResultFailed, exit: 143, reason: "exit code 143 (signal: terminated): no error output"},
		"not installed":    {agent: "no-such-agent --x", kind: work.ResultFailed, exit: 127, reason: "not installed"},
		"an unclosed line": {agent: "sh -c 'x", kind: work.ResultFailed, exit: -1, reason: "quote"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, c.body)
			if c.agent != "" {
				cmd.Agent.Use = c.agent
			}
			res := newRunner(t).Run(t.Context(), cmd)
			require.Equal(t, c.kind, res.Kind)
			require.Equal(t, c.exit, res.ExitCode)
			require.Contains(t, res.Reason, c.reason)
		})
	}
}

func TestUnusable(t *testing.T) {
	t.Parallel()
	r := newRunner(t, func(o *agentcli.Options) {
		o.Presets = map[string]agentcli.Preset{"mute": {Argv: []string{"/bin/true"}, Format: agentout.Claude}}
		o.Default = "mute"
	})
	c := command(t, "")
	c.Agent.Use = ""
	require.Equal(t, work.ResultUnusable, r.Run(t.Context(), c).Kind)
	require.NoError(t, r.Check("mute"))
	require.Error(t, r.Check("no-such-agent"))
}

func TestPrices(t *testing.T) {
	t.Parallel()
	out := `{"type":"thread.started","thread_id":"x"}\n{"type":"turn.completed","usage":{"input_tokens":3000000,"cached_input_tokens":1000000,"output_tokens":500000}}\n`
	r := newRunner(t, func(o *agentcli.Options) {
		o.Presets = map[string]agentcli.Preset{"c": {Argv: []string{"printf", out}, Format: agentout.Codex, Model: "m1"}}
		o.Prices = map[string]agentcli.Price{"m1": {Input: 1_000_000, Output: 10_000_000, CacheRead: 100_000}}
	})
	c := command(t, "")
	c.Agent.Use = "c"
	res := r.Run(t.Context(), c)
	succeeded(t, res)
	require.EqualValues(t, 2_000_000+5_000_000+100_000, res.Usage.MicroUSD)
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	c := command(t, `stat -L -c %F /proc/self/fd/1 >kind
echo first; i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done
echo '{"type":"result","subtype":"success","result":"end"}'`)
	res := newRunner(t).Run(t.Context(), c)
	succeeded(t, res)
	require.Equal(t, "end", res.Summary)
	body := contents(t, res.LogPath)
	require.LessOrEqual(t, len(body), 4096)
	require.True(t, strings.HasPrefix(string(body), "first\nline 0\n"))
	kind := contents(t, filepath.Join(c.Dir, "kind"))
	require.Contains(t, string(kind), "regular", "a pipe may lose the last words")
}

func TestBrokenShim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shim   []string
		reason string
	}{
		"fails":         {[]string{"sh", "-c", "echo no room >&2; exit 3"}, "the shim failed with exit code 3: no room"},
		"is missing":    {[]string{"/no/such/program"}, "the shim cannot be started"},
		"takes nothing": {[]string{"/proc/self/exe", "agent-shim-without-order"}, "exit code 125"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := newRunner(t, func(o *agentcli.Options) { o.Shim = c.shim }).Run(t.Context(), command(t, "true"))
			require.Equal(t, work.ResultFailed, res.Kind)
			require.Equal(t, -1, res.ExitCode)
			require.Contains(t, res.Reason, c.reason)
		})
	}
}

func TestDirIsChecked(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"", "/", "/no/such/directory", "relative"} {
		c := command(t, "true")
		c.Dir = dir
		res := newRunner(t).Run(t.Context(), c)
		require.Equal(t, work.ResultFailed, res.Kind, dir)
		require.Contains(t, res.Reason, "Command.Dir", dir)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*agentcli.Options){
		"LogDir":   func(o *agentcli.Options) { o.LogDir = "" },
		"StateDir": func(o *agentcli.Options) { o.StateDir = "" },
		"Shim":     func(o *agentcli.Options) { o.Shim = nil },
		"quote":    func(o *agentcli.Options) { o.Default = "'x" },
	} {
		o := options(t.TempDir())
		change(&o)
		_, err := agentcli.New(o)
		require.ErrorContains(t, err, field)
	}
}

func ExampleSplit() {
	argv, err := agentcli.Split(`my-agent --model 'large one' -p`)
	fmt.Printf("%q %v\n", argv, err)
	// Output: ["my-agent" "--model" "large one" "-p"] <nil>
}

// A service runs an agent; its binary is the shim as well.
func Example() {
	dir, err := os.MkdirTemp("", "agents")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	runner, err := agentcli.New(agentcli.Options{
		LogDir: filepath.Join(dir, "logs"), StateDir: filepath.Join(dir, "running"), Shim: []string{"/proc/self/exe", "agent-shim"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res := runner.Run(context.Background(), work.Command{
		TaskID: 1, Run: 1, Attempt: 1, Role: stage.Developer, Dir: dir, Prompt: "Say hello.", Agent: work.Agent{Use: "tr a-z A-Z", Timeout: time.Minute},
	})
	fmt.Println(res.Kind, res.ExitCode, res.Summary)
	// Output: ok 0 SAY HELLO.
}
