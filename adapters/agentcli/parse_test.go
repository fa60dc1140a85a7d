package agentcli

import (
	"bytes"
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
		{"claude_stream.jsonl", FormatClaude, said{summary: "Streamed.", session: "8d1f2c7a-0006", usage: work.Usage{Input: 5, Output: 6, MicroUSD: 50000}}},
		{"claude_array.json", FormatClaude, said{summary: "In an array.", session: "a", usage: work.Usage{Input: 1, Output: 2, MicroUSD: 10000}}},
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
		cut, _ := parseFormat(c.format, body[:len(body)/2])
		require.NotPanics(t, func() { _ = cut })
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
	argv := p.argv("-rf --dangerous", "/p")
	require.Equal(t, "\n-rf --dangerous", argv[len(argv)-1])
	argv = p.argv(strings.Repeat("x", 200_000), "/p")
	require.Contains(t, argv[len(argv)-1], "/p")
	require.Less(t, len(argv[len(argv)-1]), 1000)
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		p, ok := builtin(name)
		require.True(t, ok)
		require.Equal(t, name, p.Argv[0])
		require.Equal(t, p.Stdin, !strings.Contains(strings.Join(p.Argv, " "), "{prompt}"), name)
	}
}

func TestCapped(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 20, 21, 35, 1000} {
		name := filepath.Join(t.TempDir(), "log")
		c, err := newCapped(name, 20)
		require.NoError(t, err)
		var all bytes.Buffer
		for i := range n {
			b := []byte{byte('a' + i%26)}
			all.Write(b)
			_, err := c.Write(b)
			require.NoError(t, err)
		}
		require.NoError(t, c.Close())
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		if n <= 20 {
			require.Equal(t, all.String(), string(got))
			continue
		}
		require.Equal(t, all.String()[:10], string(got[:10]))
		require.Equal(t, all.String()[n-10:], string(got[len(got)-10:]))
		require.Contains(t, string(got), "were cut out here")
	}
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
