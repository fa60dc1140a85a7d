package agentout

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		file   string
		format Format
		want   Output
	}{
		{"claude_success.json", Claude, Output{Summary: "The cache is in place.", Session: "8d1f2c7a-0001-4c1e-9d2e-aaaaaaaaaaaa", Usage: work.Usage{
			Model: "claude-sonnet-4-5", Input: 950, Output: 3010, CacheRead: 150000, CacheCreate: 10000, MicroUSD: 412700,
		}}},
		{"claude_api_error.json", Claude, Output{Failed: true, Reason: "API Error: 529 overloaded", Summary: "API Error: 529 overloaded", Session: "8d1f2c7a-0002"}},
		{"claude_max_turns.json", Claude, Output{Failed: true, Reason: "Reached maximum number of turns (30)", Session: "8d1f2c7a-0003", Usage: work.Usage{Input: 1, Output: 2, MicroUSD: 100000}}},
		{"claude_max_budget.json", Claude, Output{Failed: true, Budget: true, Reason: "Reached maximum budget ($1.00)", Session: "8d1f2c7a-0004", Usage: work.Usage{Input: 10, Output: 20, MicroUSD: 1010000}}},
		{"claude_denied.json", Claude, Output{Summary: "I was not allowed to push.", Session: "8d1f2c7a-0005", Usage: work.Usage{Input: 10, Output: 20, MicroUSD: 200000}}},
		{"claude_stream.jsonl", Claude, Output{Summary: "Streamed.", Session: "8d1f2c7a-0006", Usage: work.Usage{Model: "claude-sonnet-4-5", Input: 5, Output: 6, MicroUSD: 50000}}},
		{"claude_array.json", Claude, Output{Summary: "In an array.", Session: "a", Usage: work.Usage{Input: 1, Output: 2, MicroUSD: 10000}}},
		{"claude_noisy.txt", Claude, Output{Summary: "Printed over many lines.", Session: "n-1", Usage: work.Usage{
			Model: "claude-opus-4-7", Input: 5, Output: 5, CacheRead: 6, CacheCreate: 7, MicroUSD: 250000,
		}}},
		{"claude_error_execution.jsonl", Claude, Output{Failed: true, Reason: "the tool crashed; and again", Session: "x-1", Usage: work.Usage{
			Model: "claude-opus-4-7", Input: 8, Output: 9, CacheRead: 10, CacheCreate: 11, MicroUSD: 500000,
		}}},
		{"codex_recovered.jsonl", Codex, Output{Summary: "Last words.", Reason: "Reconnecting... 1/5", Session: "0199-cc", Usage: work.Usage{Input: 100, Output: 30, CacheRead: 200}}},
		{"gemini_noisy.txt", Gemini, Output{Summary: "Two models took part.", Session: "g-7", Usage: work.Usage{Model: "gemini-2.5-pro", Input: 105, Output: 35, CacheRead: 635}}},
		{"gemini_stream_failed.jsonl", Gemini, Output{Failed: true, Reason: "quota exceeded", Summary: "I cannot go on.", Session: "g-8", Usage: work.Usage{Model: "gemini-2.5-pro", Input: 15, Output: 10, CacheRead: 5}}},
		{"opencode_later_error.jsonl", OpenCode, Output{Failed: true, Reason: "APIError", Summary: "Half done.", Session: "ses_3", Usage: work.Usage{Input: 10, Output: 23, CacheRead: 40, CacheCreate: 5, MicroUSD: 2000}}},
		{"claude_array.json", Any, Output{Summary: "In an array.", Session: "a", Usage: work.Usage{Input: 1, Output: 2, MicroUSD: 10000}}},
		{"codex.jsonl", Codex, Output{Summary: "Built.", Session: "0199-aa", Usage: work.Usage{Input: 1500, Output: 900, CacheRead: 18000, CacheCreate: 500}}},
		{"codex_failed.jsonl", Codex, Output{Failed: true, Reason: "rate limit reached", Session: "0199-bb"}},
		{"gemini.json", Gemini, Output{Summary: "Finished.", Session: "g-1", Usage: work.Usage{Model: "gemini-2.5-pro", Input: 2100, Output: 1010, CacheRead: 10000}}},
		{"gemini_error.json", Gemini, Output{Failed: true, Reason: "Reached max session turns.", Session: "g-2"}},
		{"gemini_stream.jsonl", Gemini, Output{Summary: "Finished.", Session: "g-3", Usage: work.Usage{Model: "gemini-2.5-pro", Input: 2000, Output: 1000, CacheRead: 10000}}},
		{"opencode.jsonl", OpenCode, Output{Summary: "All done.", Session: "ses_1", Usage: work.Usage{Input: 600, Output: 170, CacheRead: 6500, CacheCreate: 200, MicroUSD: 12300}}},
		{"opencode_error.jsonl", OpenCode, Output{Failed: true, Reason: "no key", Session: "ses_2", Trouble: work.Trouble{Kind: work.TroubleLogin}}},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", c.file))
		require.NoError(t, err)
		got, found := Parse(c.format, body)
		require.True(t, found, c.file)
		require.Equal(t, c.want, got, c.file)
	}
}

func TestParseNothing(t *testing.T) {
	for _, format := range []Format{Claude, Codex, Gemini, OpenCode, Antigravity} {
		for _, out := range []string{"", "hello", "{", `{"type":"system"}`, `[1,2]`, "null", "\x00\xff"} {
			_, found := Parse(format, []byte(out))
			require.False(t, found, "%s %q", format, out)
		}
	}
	s, found := Parse(Any, []byte("just text"))
	require.True(t, found)
	require.Equal(t, "just text", s.Summary)
}

func TestShortModel(t *testing.T) {
	for in, want := range map[string]string{
		"claude-opus-4-7": "claude-opus-4-7", "anthropic/claude-opus-4-7": "claude-opus-4-7", "claude-sonnet-4-5@20250929": "claude-sonnet-4-5",
		"eu.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5", "claude-opus-4-7[1m]": "claude-opus-4-7", "models/gemini-2.5-pro": "gemini-2.5-pro", "": "",
		"gpt-4.1-2025-04-14": "gpt-4.1", "openrouter/openai/gpt-5": "gpt-5", "gemini-2.5-flash-preview-05-20": "gemini-2.5-flash-preview", "us.meta.llama4-70b": "llama4-70b",
		"anthropic.claude-sonnet-4-20250514-v1:0": "claude-sonnet-4", "gpt-5-codex": "gpt-5-codex", "claude-3-5-sonnet-20241022": "claude-3-5-sonnet",
	} {
		require.Equal(t, want, ShortModel(in), in)
	}
}

func TestMicroUSD(t *testing.T) {
	require.EqualValues(t, 872600, MicroUSD(0.8726))
	require.EqualValues(t, 1, MicroUSD(0.0000005))
	require.Zero(t, MicroUSD(-1))
	require.Zero(t, MicroUSD(1e300))
}

// The result line of Claude Code, with noise of the tools it has run around it.
func ExampleParse() {
	log := "building...\n" + `{"type":"result","subtype":"success","is_error":false,"result":"The cache is in place.","total_cost_usd":0.25}` + "\nbye\n"
	out, found := Parse(Claude, []byte(log))
	fmt.Println(found, out.Summary, out.Usage.MicroUSD)
	// Output: true The cache is in place. 250000
}
