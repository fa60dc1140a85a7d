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

func TestParse(t *testing.T) {
	for _, c := range []struct {
		file, format string
		want         said
	}{
		{"claude_success.json", FormatClaude, said{summary: "The cache is in place.", session: "8d1f2c7a-0001-4c1e-9d2e-aaaaaaaaaaaa", usage: work.Usage{
			Model: "claude-sonnet-4-5", Input: 950, Output: 3010, CacheRead: 150000, CacheCreate: 10000, MicroUSD: 412700,
		}}},
		{"claude_api_error.json", FormatClaude, said{failed: true, reason: "API Error: 529 overloaded", summary: "API Error: 529 overloaded", session: "8d1f2c7a-0002"}},
		{"claude_max_turns.json", FormatClaude, said{failed: true, reason: "Reached maximum number of turns (30)", session: "8d1f2c7a-0003", usage: work.Usage{Input: 1, Output: 2, MicroUSD: 100000}}},
		{"claude_max_budget.json", FormatClaude, said{failed: true, reason: "Reached maximum budget ($1.00)", session: "8d1f2c7a-0004", usage: work.Usage{Input: 10, Output: 20, MicroUSD: 1010000}}},
		{"claude_denied.json", FormatClaude, said{summary: "I was not allowed to push.", session: "8d1f2c7a-0005", usage: work.Usage{Input: 10, Output: 20, MicroUSD: 200000}}},
		{"claude_stream.jsonl", FormatClaude, said{summary: "Streamed.", session: "8d1f2c7a-0006", usage: work.Usage{Model: "claude-sonnet-4-5", Input: 5, Output: 6, MicroUSD: 50000}}},
		{"claude_array.json", FormatClaude, said{summary: "In an array.", session: "a", usage: work.Usage{Input: 1, Output: 2, MicroUSD: 10000}}},
		{"claude_noisy.txt", FormatClaude, said{summary: "Printed over many lines.", session: "n-1", usage: work.Usage{
			Model: "claude-opus-4-7", Input: 5, Output: 5, CacheRead: 6, CacheCreate: 7, MicroUSD: 250000,
		}}},
		{"claude_error_execution.jsonl", FormatClaude, said{failed: true, reason: "the tool crashed; and again", session: "x-1", usage: work.Usage{
			Model: "claude-opus-4-7", Input: 8, Output: 9, CacheRead: 10, CacheCreate: 11, MicroUSD: 500000,
		}}},
		{"codex_recovered.jsonl", FormatCodex, said{summary: "Last words.", reason: "Reconnecting... 1/5", session: "0199-cc", usage: work.Usage{Input: 100, Output: 30, CacheRead: 200}}},
		{"gemini_noisy.txt", FormatGemini, said{summary: "Two models took part.", session: "g-7", usage: work.Usage{Model: "gemini-2.5-pro", Input: 105, Output: 35, CacheRead: 635}}},
		{"gemini_stream_failed.jsonl", FormatGemini, said{failed: true, reason: "quota exceeded", summary: "I cannot go on.", session: "g-8", usage: work.Usage{Model: "gemini-2.5-pro", Input: 15, Output: 10, CacheRead: 5}}},
		{"opencode_later_error.jsonl", FormatOpenCode, said{failed: true, reason: "APIError", summary: "Half done.", session: "ses_3", usage: work.Usage{Input: 10, Output: 23, CacheRead: 40, CacheCreate: 5, MicroUSD: 2000}}},
		{"claude_array.json", FormatAny, said{summary: "In an array.", session: "a", usage: work.Usage{Input: 1, Output: 2, MicroUSD: 10000}}},
		{"codex.jsonl", FormatCodex, said{summary: "Built.", session: "0199-aa", usage: work.Usage{Input: 1500, Output: 900, CacheRead: 18000, CacheCreate: 500}}},
		{"codex_failed.jsonl", FormatCodex, said{failed: true, reason: "rate limit reached", session: "0199-bb"}},
		{"gemini.json", FormatGemini, said{summary: "Finished.", session: "g-1", usage: work.Usage{Model: "gemini-2.5-pro", Input: 2100, Output: 1010, CacheRead: 10000}}},
		{"gemini_error.json", FormatGemini, said{failed: true, reason: "Reached max session turns.", session: "g-2"}},
		{"gemini_stream.jsonl", FormatGemini, said{summary: "Finished.", session: "g-3", usage: work.Usage{Model: "gemini-2.5-pro", Input: 2000, Output: 1000, CacheRead: 10000}}},
		{"opencode.jsonl", FormatOpenCode, said{summary: "All done.", session: "ses_1", usage: work.Usage{Input: 600, Output: 170, CacheRead: 6500, CacheCreate: 200, MicroUSD: 12300}}},
		{"opencode_error.jsonl", FormatOpenCode, said{failed: true, reason: "no key", session: "ses_2"}},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", c.file))
		require.NoError(t, err)
		got, found := parseFormat(c.format, body)
		require.True(t, found, c.file)
		require.Equal(t, c.want, got, c.file)
	}
}

func TestParseNothing(t *testing.T) {
	for _, format := range []string{FormatClaude, FormatCodex, FormatGemini, FormatOpenCode} {
		for _, out := range []string{"", "hello", "{", `{"type":"system"}`, `[1,2]`, "null", "\x00\xff"} {
			_, found := parseFormat(format, []byte(out))
			require.False(t, found, "%s %q", format, out)
		}
	}
	s, found := parseFormat(FormatAny, []byte("just text"))
	require.True(t, found)
	require.Equal(t, "just text", s.summary)
}

func TestShortModel(t *testing.T) {
	for in, want := range map[string]string{
		"claude-opus-4-7": "claude-opus-4-7", "anthropic/claude-opus-4-7": "claude-opus-4-7", "claude-sonnet-4-5@20250929": "claude-sonnet-4-5",
		"eu.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5", "claude-opus-4-7[1m]": "claude-opus-4-7", "models/gemini-2.5-pro": "gemini-2.5-pro", "": "",
		"gpt-4.1-2025-04-14": "gpt-4.1", "openrouter/openai/gpt-5": "gpt-5", "gemini-2.5-flash-preview-05-20": "gemini-2.5-flash-preview", "us.meta.llama4-70b": "llama4-70b",
		"anthropic.claude-sonnet-4-20250514-v1:0": "claude-sonnet-4", "gpt-5-codex": "gpt-5-codex", "claude-3-5-sonnet-20241022": "claude-3-5-sonnet",
	} {
		require.Equal(t, want, shortModel(in), in)
	}
}

func TestMicroUSD(t *testing.T) {
	require.EqualValues(t, 872600, microUSD(0.8726))
	require.EqualValues(t, 1, microUSD(0.0000005))
	require.Zero(t, microUSD(-1))
	require.Zero(t, microUSD(1e300))
}

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

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json*")
	require.NoError(f, err)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, format := range []string{FormatClaude, FormatCodex, FormatGemini, FormatOpenCode, FormatAny} {
			s, _ := parseFormat(format, out)
			if s.usage.MicroUSD < 0 {
				t.Fatalf("negative cost from %q", out)
			}
		}
	})
}
