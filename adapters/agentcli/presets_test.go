package agentcli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func TestSplit(t *testing.T) {
	for in, want := range map[string][]string{
		"a b":               {"a", "b"},
		"  a\tb\n":          {"a", "b"},
		`sh -c 'x y' "" z"`: nil,
		`sh -c 'x y' "" z`:  {"sh", "-c", "x y", "", "z"},
		`a"b c"d`:           {"ab cd"},
		`'a"b'`:             {`a"b`},
		"":                  nil,
		"  ":                nil,
	} {
		got, err := Split(in)
		require.Equal(t, want == nil, err != nil, in)
		require.Equal(t, want, got, in)
	}
}

func TestArgv(t *testing.T) {
	p, _ := builtin("claude")
	argv := p.argv(execution{Command: work.Command{Prompt: "-rf --dangerous {gitdir}", Dir: "/d"}, prompt: "/p"})
	require.Equal(t, "\n-rf --dangerous {gitdir}", argv[2])
	argv = p.argv(execution{Command: work.Command{Prompt: strings.Repeat("x", 200_000), Dir: "/d"}, prompt: "/p"})
	require.Contains(t, argv[2], "/p")
	require.Less(t, len(argv[2]), 1000)
}

// How each tool is called, with a model and arguments.
func TestPresets(t *testing.T) {
	r := &Runner{opt: Options{Presets: map[string]Preset{"own": {Argv: []string{"/bin/own", "run"}}}}}
	for _, c := range []struct {
		agent        work.Agent
		want         string // words joined by a blank; P is the prompt, O the outbox
		name, vendor string
		format       agentout.Format
	}{
		{work.Agent{Use: "claude"}, "claude --print P --output-format stream-json --verbose --add-dir=O --permission-mode acceptEdits --allowedTools=Bash,Edit,Write", "claude", "anthropic", agentout.Claude},
		{
			work.Agent{Use: "claude", Model: "opus", Args: []string{"--effort", "high"}, MicroUSD: 2_500_000},
			"claude --print P --output-format stream-json --verbose --add-dir=O --permission-mode acceptEdits --allowedTools=Bash,Edit,Write --model=opus --max-budget-usd=2.5 --effort high", "claude", "anthropic", agentout.Claude,
		},
		{work.Agent{Use: "claude --model 'an opus'"}, "claude --print P --output-format stream-json --verbose --add-dir=O --permission-mode acceptEdits --allowedTools=Bash,Edit,Write --model an opus", "claude", "anthropic", agentout.Claude},
		{
			work.Agent{Use: "codex", Model: "-gpt-5; x"},
			`codex exec --json --sandbox workspace-write -c sandbox_workspace_write.writable_roots=["D/.git","O"] --skip-git-repo-check --ephemeral - --model=-gpt-5; x`, "codex", "openai", agentout.Codex,
		},
		{work.Agent{Use: "gemini", Model: "flash"}, "gemini --output-format stream-json --approval-mode=yolo --skip-trust --include-directories=O --prompt P --model=flash", "gemini", "google", agentout.Gemini},
		{work.Agent{Use: "opencode", Model: "anthropic/claude-opus-4-7"}, "opencode run --format json --print-logs --log-level ERROR --auto P --model=anthropic/claude-opus-4-7", "opencode", "anthropic", agentout.OpenCode},
		{work.Agent{Use: "opencode -m google-vertex/gemini"}, "opencode run --format json --print-logs --log-level ERROR --auto P -m google-vertex/gemini", "opencode", "google", agentout.OpenCode},
		{work.Agent{Use: "opencode"}, "opencode run --format json --print-logs --log-level ERROR --auto P", "opencode", "", agentout.OpenCode},
		{
			work.Agent{Use: "antigravity", Model: "gemini-3-pro", Timeout: time.Minute},
			"agy --output-format=stream-json --dangerously-skip-permissions --print-timeout=61s --add-dir=O --print=P --model=gemini-3-pro", "antigravity", "google", agentout.Antigravity,
		},
		{work.Agent{Use: "own --fast", Model: "m", Args: []string{"a"}}, "/bin/own run --fast a", "own", "", ""},
		{work.Agent{Use: "codex exec -", Model: "m"}, "codex exec -", "", "", agentout.Any},
		{work.Agent{Use: "/opt/claude --model opus", Args: []string{"{outbox}"}}, "/opt/claude --model opus {outbox}", "", "", agentout.Any},
		{work.Agent{Use: "my-agent 'a b'"}, "my-agent a b", "", "", agentout.Any},
	} {
		p, name, err := r.preset(c.agent.Use)
		require.NoError(t, err, c.agent.Use)
		e := execution{Command: work.Command{Prompt: "P", Dir: "D", Agent: c.agent}, preset: p, outbox: "O"}
		require.Equal(t, c.want, strings.Join(p.argv(e), " "))
		require.Equal(t, []any{c.name, c.vendor, c.format}, []any{name, e.vendor(), p.Format}, c.agent.Use)
	}
	builtins, _ := builtin("claude")
	require.NotContains(t, builtins.Argv, "--model", "arguments of one run are not the next one's")
}

// The model that a run is accounted with is the one that it was called with.
func TestModel(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	require.NoError(t, os.Mkdir(filepath.Join(home, ".codex"), 0o700))
	r := &Runner{opt: Options{Hidden: secret.NewRedactor(), Prices: map[string]Price{"codex": {Output: 1_000_000}, "gpt-5": {Output: 2_000_000}}}}
	for _, c := range []struct {
		agent           work.Agent
		config, printed string
		want            string
		cost            int64
	}{
		{work.Agent{Use: "codex"}, "", "", "", 10},
		{work.Agent{Use: "codex", Model: "openai/gpt-5"}, "", "", "gpt-5", 20},
		{work.Agent{Use: "codex", Args: []string{"-m", "gpt-4", "--model=gpt-5"}}, "model = 'gpt-3'", "", "gpt-5", 20},
		{work.Agent{Use: "codex --model gpt-5"}, "", "", "gpt-5", 20},
		{work.Agent{Use: "codex -m"}, "", "", "", 10},
		{work.Agent{Use: "codex"}, "sandbox = \"x\"\nmodel = \"gpt-5\" # the best\n[profiles.a]\nmodel = \"b\"\n", "", "gpt-5", 20},
		{work.Agent{Use: "codex"}, "[profiles.a]\nmodel = \"b\"\n", "", "", 10},
		{work.Agent{Use: "codex"}, "model = 'gpt-6'", "", "gpt-6", 10},
		{work.Agent{Use: "codex", Model: "opus"}, "", "gpt-5", "gpt-5", 20},
		{work.Agent{Use: "claude"}, "", "", "", 0},
		{work.Agent{Use: "true"}, "", "", "", 0},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(home, ".codex/config.toml"), []byte(c.config), 0o600))
		p, name, err := r.preset(c.agent.Use)
		require.NoError(t, err)
		u := r.priced(execution{Command: work.Command{Agent: c.agent}, preset: p, name: name}, work.Usage{Model: c.printed, Output: 10})
		require.Equal(t, work.Usage{Model: c.want, Output: 10, MicroUSD: c.cost}, u, c)
	}
}

// Where an outer jail confines the tool its own sandbox is off: it could not be made.
func TestOneSandbox(t *testing.T) {
	for name, words := range map[string][2]string{
		"codex": {"--sandbox workspace-write", "--sandbox danger-full-access"}, "claude": {"", `--settings={"sandbox":{"enabled":false}}`},
	} {
		p, _ := builtin(name)
		without, within := strings.Join(p.argv(execution{}), " "), strings.Join(p.argv(execution{jailed: true}), " ")
		require.Contains(t, without, words[0], name)
		require.NotContains(t, without, words[1], name)
		require.Contains(t, within, words[1], name)
		require.NotContains(t, without+within, "{sandbox}", name)
	}
	r := &Runner{}
	p, _ := builtin("gemini")
	require.NotContains(t, r.environment(execution{preset: p}, "t"), "GEMINI_SANDBOX")
	require.Equal(t, "false", r.environment(execution{preset: p, jailed: true}, "t")["GEMINI_SANDBOX"])
	require.Equal(t, "true", r.environment(execution{preset: p}, "t")["GEMINI_CLI_TRUST_WORKSPACE"], "it would end with code 55 in every checkout")
}

func TestGitDir(t *testing.T) {
	dir := t.TempDir()
	codex, _ := builtin("codex")
	e := execution{Command: work.Command{Dir: dir}, outbox: "/logs/out"}
	require.Contains(t, codex.argv(e), `sandbox_workspace_write.writable_roots=["`+dir+`/.git","/logs/out"]`)
	for body, want := range map[string]string{
		"gitdir: /elsewhere/it's \"here\"\n": `/elsewhere/it's \"here\"`,
		"gitdir: ../repo\n":                  filepath.Join(filepath.Dir(dir), "repo"),
		"nonsense":                           dir + "/.git",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".git"), []byte(body), 0o600))
		require.Contains(t, codex.argv(e), `sandbox_workspace_write.writable_roots=["`+want+`","/logs/out"]`)
	}
}

func TestShrink(t *testing.T) {
	const limit = 200
	for _, n := range []int{0, 1, 199, 200, 201, 1000, 100_000} {
		name := filepath.Join(t.TempDir(), "log")
		var all []byte
		for i := range n {
			all = append(all, byte('a'+i%26))
		}
		require.NoError(t, os.WriteFile(name, all, 0o600))
		for range 2 { // again changes nothing
			require.NoError(t, shrink(name, limit))
			got, err := os.ReadFile(name)
			require.NoError(t, err)
			if n <= limit {
				require.Equal(t, string(all), string(got))
				continue
			}
			require.LessOrEqual(t, len(got), limit)
			require.Equal(t, string(all[:50]), string(got[:50]))
			require.Equal(t, string(all[n-50:]), string(got[len(got)-50:]))
			require.Contains(t, string(got), fmt.Sprintf("[%d bytes were cut out here]", n-2*int(half(limit))))
		}
	}
	require.Error(t, shrink(filepath.Join(t.TempDir(), "none"), limit))
}

func TestClampAndCost(t *testing.T) {
	require.Equal(t, work.Usage{Input: 0, Output: tokensMax, CacheRead: 5}, clamp(work.Usage{Input: -4, Output: math.MaxInt64, CacheRead: 5}))
	p := Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheCreate: 3_750_000}
	require.EqualValues(t, 3_000_000+15_000_000+300_000+3_750_000, p.Cost(work.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheCreate: 1e6}))
	require.EqualValues(t, 1, p.Cost(work.Usage{CacheRead: 3}), "rounded")
	require.Zero(t, Price{Input: math.MaxInt64}.Cost(work.Usage{Input: tokensMax}), "nonsense costs nothing rather than a negative sum")
}

func TestExitText(t *testing.T) {
	require.Equal(t, "exit code 2", exitText(2))
	require.Equal(t, "exit code 143 (signal: terminated)", exitText(143))
	require.Equal(t, "exit code 255", exitText(255))
	require.Equal(t, "the agent's supervisor was killed", exitText(-1))
}
