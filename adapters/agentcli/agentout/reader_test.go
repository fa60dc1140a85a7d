package agentout

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Every tool's stream becomes the same steps, however it comes.
func TestSteps(t *testing.T) {
	for file, want := range map[string][]string{
		"claude_steps.jsonl": {
			"usage 3/1/0/900", "text I read the\ntests.", "usage 3/20/0/900", "tool Bash go test ./... -run X", "file Edit cache/lru.go", "usage 8/60/900/900",
			"tool Write /etc/passwd", `tool mcp__wiki__find {"words":["a","b"],"n":2}`, "usage 8/75/900/900 $70000",
		},
		"codex_steps.jsonl": {
			"tool shell /bin/bash -lc 'ls -1'", "file a.go", "file b/c.go", "tool ../d.go", "tool wiki.find cache", "text Built.", "usage 100/30/200/0",
		},
		"gemini_steps.jsonl":      {"text I look first.", "file write_file cache.go", "tool run_shell_command git commit -am x", "usage 60/30/40/0", "text Done."},
		"opencode_steps.jsonl":    {"tool bash make test", "file edit x.go", "usage 10/6/7/0 $10000", "text All done.", "usage 11/8/27/0 $30000"},
		"antigravity_steps.jsonl": {"text I look first.", "tool run_command ls", "file write_to_file y.go", "usage 30/15/20/0"},
		"any_steps.jsonl": {
			"text Looking around.", "tool bash go build ./...", "file z.go", "usage 900/80/0/0 $20000", `text {"type":"something","else":1}`,
		},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		format, _, _ := strings.Cut(file, "_")
		r := NewReader(Format(format))
		r.Dir = "/src/app"
		for _, b := range body {
			_, err := r.Write([]byte{b})
			require.NoError(t, err)
		}
		out, found := r.Close()
		require.True(t, found, file)
		require.False(t, out.Failed, file)
		var got []string
		for _, s := range r.Steps() {
			got = append(got, show(s))
		}
		require.Equal(t, want, got, file)
		require.Equal(t, r.Usage(), out.Usage)
	}
}

// show is a step in one line.
func show(s work.Step) string {
	out := []string{string(s.Kind)}
	for _, part := range []string{s.Tool, s.Text, s.Path} {
		if part != "" {
			out = append(out, part)
		}
	}
	if u := s.Usage; u != nil {
		out = append(out, fmt.Sprintf("%d/%d/%d/%d", u.Input, u.Output, u.CacheRead, u.CacheCreate))
		if u.MicroUSD > 0 {
			out = append(out, fmt.Sprintf("$%d", u.MicroUSD))
		}
	}
	return strings.Join(out, " ")
}

// What an agent prints has no end, no sense and no manners.
func TestReaderIsBounded(t *testing.T) {
	r := NewReader(Claude)
	r.Hide = func(s string) string { return strings.ReplaceAll(s, "secret-of-many-letters", "*") }
	long := `{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat("x", stepMax-10) + `secret-of-many-letters` + strings.Repeat("y", 5000) + `"}]}}` + "\n"
	_, _ = r.Write([]byte(strings.Repeat("\x00", 1000) + long))
	steps := r.Steps()
	require.Len(t, steps, 1)
	require.LessOrEqual(t, len(steps[0].Text), stepMax+len(" …"))
	require.NotContains(t, steps[0].Text, "secret", "it is cut after it was hidden")
	for range 3 * lineMax / len(long) {
		_, _ = r.Write([]byte(strings.TrimSuffix(long, "\n")))
	}
	require.LessOrEqual(t, len(r.line), lineMax+len(long))
	_, _ = r.Write([]byte("\n" + `{"type":"result","subtype":"success","result":"still here"}`))
	for range pendingMax {
		_, _ = r.Write([]byte("\n" + `{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}`))
	}
	out, found := r.Close()
	require.True(t, found)
	require.Equal(t, "b", out.Summary)
	require.Len(t, r.Steps(), pendingMax)
	require.LessOrEqual(t, len(r.text), 2*textMax)
}

// Words without a result are cut after secrets were hidden in them.
func TestSummaryIsCut(t *testing.T) {
	r := NewReader(Any)
	r.Hide = func(s string) string { return strings.ReplaceAll(s, "secret", "******") }
	_, _ = r.Write([]byte("secret" + strings.Repeat("y", summaryMax-3)))
	out, _ := r.Close()
	require.NotContains(t, out.Summary, "t")
}

// A tool whose key is refused is not waited for, unless a model has spoken, or may yet.
func TestHopeless(t *testing.T) {
	retry := func(attempt, status int, word string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"api_retry","attempt":%d,"error_status":%d,"error":%q}`+"\n", attempt, status, word)
	}
	const model = `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"a"}]}}` + "\n"
	for out, want := range map[string]bool{
		retry(3, 401, "authentication_failed"):         true,
		retry(3, 403, ""):                              true,
		retry(2, 401, "authentication_failed"):         false,
		retry(9, 429, "rate_limit"):                    false,
		retry(9, 529, "overloaded"):                    false,
		model + retry(9, 401, "authentication_failed"): false,
		retry(3, 401, "") + `{"type":"result","subtype":"success","result":"after all"}` + "\n": false,
	} {
		r := NewReader(Claude)
		_, _ = r.Write([]byte(out))
		require.Equal(t, want, r.Hopeless(), out)
	}
}

// An output in another form has words, and no result.
func TestOtherForm(t *testing.T) {
	for _, format := range []Format{Claude, Codex, Gemini, OpenCode, Antigravity} {
		out, found := Parse(format, []byte("version 9 speaks\n{\"kind\":\"otherwise\"}\n"))
		require.False(t, found)
		require.Equal(t, "version 9 speaks\n{\"kind\":\"otherwise\"}", out.Summary)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m": "red", "\x1b]0;title\x07x": "x", "a\rb\x00c\nd\te": "abc\nd\te", "\x1b[38;5;1mé\u009b1m!": "é!", "\xff": "?", "\x1b": "", "plain": "plain",
	} {
		require.Equal(t, want, Plain(in), "%q", in)
	}
}

func FuzzReader(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	require.NoError(f, err)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(body, uint16(7))
	}
	f.Fuzz(func(t *testing.T, out []byte, cut uint16) {
		for _, format := range []Format{Claude, Codex, Gemini, OpenCode, Antigravity, Any} {
			whole, foundWhole := Parse(format, out)
			r := NewReader(format)
			r.Dir = "/w"
			for rest := out; len(rest) > 0; {
				n := min(len(rest), int(cut)+1)
				_, _ = r.Write(rest[:n])
				rest = rest[n:]
			}
			got, found := r.Close()
			if found != foundWhole || got != whole {
				t.Fatalf("%s: %+v by pieces, %+v as a whole, from %q", format, got, whole, out)
			}
			if got.Usage.MicroUSD < 0 {
				t.Fatalf("negative cost from %q", out)
			}
			for _, s := range r.Steps() {
				if len(s.Text) > stepMax+8 || strings.ContainsAny(s.Text+s.Tool+s.Path, "\x1b\x00") || filepath.IsAbs(s.Path) || strings.HasPrefix(s.Path, "../") {
					t.Fatalf("the step %+v from %q", s, out)
				}
				if _, err := json.Marshal(s); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = got.Diagnose(format, found, 1, string(out), time.Unix(1, 0))
		}
	})
}

// The lines that the documentation shows are those that are read.
func TestDocumentedLines(t *testing.T) {
	body, err := os.ReadFile("../../../docs/agents.md")
	require.NoError(t, err)
	var blocks []string
	for _, part := range strings.Split(string(body), "```json\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	require.Len(t, blocks, 2)
	r := NewReader(Any)
	_, _ = r.Write([]byte(blocks[0]))
	out, _ := r.Close()
	require.Equal(t, Output{Summary: "The cache is in place.", Session: "s-1", Usage: work.Usage{Model: "large-1", Input: 900, Output: 80, CacheRead: 4000, MicroUSD: 20000}}, out)
	require.Len(t, r.Steps(), 4)
	out, _ = Parse(Any, []byte(blocks[1]))
	require.Equal(t, Output{Failed: true, Reason: "No seat is free.", Trouble: work.Trouble{Kind: work.TroubleLimit, Until: time.Date(2027, 1, 5, 18, 0, 0, 0, time.UTC)}}, out)
}
