package agentcli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		p, ok := builtin(name)
		require.True(t, ok)
		require.Equal(t, name, p.Argv[0])
		require.Equal(t, p.Stdin, !strings.Contains(strings.Join(p.Argv, " "), "{prompt}"), name)
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
