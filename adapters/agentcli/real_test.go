//go:build linux

package agentcli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// realAgents switches on the tests with the tools themselves: 1 installs them from npm, a
// directory is where "npm install" has put them.
const realAgents = "SIGNALBOX_REAL_AGENTS"

// installed is the directory node_modules of the tools.
func installed(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(realAgents)
	if dir == "" {
		t.Skipf("set %s=1 to run the real tools in the jails", realAgents)
	}
	if dir == "1" {
		dir = t.TempDir()
		cmd := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "@anthropic-ai/claude-code", "@openai/codex", "opencode-ai", "@google/gemini-cli")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules"))
	require.NoError(t, err)
	return dir
}

// Each tool starts in each jail and writes its settings into the HOME that it gets.
func TestRealAgentsInTheJail(t *testing.T) {
	dir := installed(t)
	for _, kind := range jailtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			box := jailtest.Box(t, kind, []string{"/proc/self/exe", "agent-shim"})
			for _, tool := range []string{"claude", "codex", "gemini", "opencode"} {
				t.Run(tool, func(t *testing.T) {
					r, _ := jailed(t, box, func(o *agentcli.Options) { o.Jail.Read = append(o.Jail.Read, dir) })
					c := command(t, "")
					c.Agent.Use, c.Agent.Timeout = "'"+filepath.Join(dir, ".bin", tool)+"' --version", 3*time.Minute
					res := r.Run(t.Context(), c)
					require.Equal(t, work.ResultOK, res.Kind, res.Reason)
					body, err := os.ReadFile(res.LogPath)
					require.NoError(t, err)
					require.Regexp(t, `\d+\.\d+\.\d+`, string(body))
					fmt.Printf("jail: %s, %s: %s\n", kind, tool, strings.TrimSpace(string(body)))
				})
			}
		})
	}
}

// A whole run of Claude Code by its preset: its Bash tool commits in the checkout and writes
// the report. The model is an imitation on a port of this machine, which the jail allows.
func TestRealClaudeInTheJail(t *testing.T) {
	dir := installed(t)
	for _, kind := range []string{jailtest.Landlock, work.BoxBubblewrap} {
		t.Run(kind, func(t *testing.T) {
			box := jailtest.Box(t, kind, []string{"/proc/self/exe", "agent-shim"})
			model := httptest.NewServer(http.HandlerFunc(imitate))
			defer model.Close()
			u, err := url.Parse(model.URL)
			require.NoError(t, err)
			port, err := strconv.ParseUint(u.Port(), 10, 16)
			require.NoError(t, err)
			for name, value := range map[string]string{
				"PATH": filepath.Join(dir, ".bin") + ":" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL": model.URL, "ANTHROPIC_API_KEY": "sk-ant-imitated", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			} {
				t.Setenv(name, value)
			}
			r, _ := jailed(t, box, func(o *agentcli.Options) {
				o.Jail.Read = append(o.Jail.Read, dir)
				o.Jail.Ports = []work.Ports{{First: uint16(port), Last: uint16(port)}}
			})
			c := command(t, "")
			c.Agent.Use, c.Report, c.Agent.Timeout = "claude", "review.md", 3*time.Minute
			for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "n"}, {"config", "user.email", "n@example.org"}} {
				require.NoError(t, exec.CommandContext(t.Context(), "git", append([]string{"-C", c.Dir}, args...)...).Run())
			}
			res := r.Run(t.Context(), c)
			require.Equal(t, work.ResultOK, res.Kind, res.Reason)
			require.Contains(t, res.Summary, "all is written")
			text, err := r.Report(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, "verdict: approved\n", text)
			subject, err := exec.CommandContext(t.Context(), "git", "-C", c.Dir, "log", "--format=%s").Output()
			require.NoError(t, err)
			require.Equal(t, "app: add x\n", string(subject))
		})
	}
}

// imitate is a model of the messages API: it calls the Bash tool once, and is content with
// what comes of it.
func imitate(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Stream bool
		Tools  []struct{ Name string }
		Model  string

		Messages json.RawMessage
	}
	if json.NewDecoder(r.Body).Decode(&q) != nil || !strings.HasSuffix(r.URL.Path, "/messages") {
		_, _ = w.Write([]byte(`{"input_tokens": 10}`))
		return
	}
	block, reason := map[string]any{"type": "text", "text": ""}, "end_turn"
	delta := map[string]any{"type": "text_delta", "text": "all is written"}
	if strings.Contains(string(q.Messages), `"tool_result"`) || !strings.Contains(fmt.Sprint(q.Tools), "{Bash}") {
		block["text"] = ""
	} else {
		input, _ := json.Marshal(map[string]string{ // of strings
			"command": `echo x >x && git add x && git commit -qm "app: add x" && echo "$HOME" >"$TMPDIR/t" && echo "verdict: approved" >"$SIGNALBOX_REPORT"`, "description": "work",
		})
		block, reason = map[string]any{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": map[string]any{}}, "tool_use"
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(input)}
	}
	usage := map[string]any{"input_tokens": 10, "output_tokens": 5}
	message := map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": q.Model, "content": []any{}, "usage": usage}
	if !q.Stream {
		message["content"], message["stop_reason"] = []any{map[string]any{"type": "text", "text": "all is written"}}, "end_turn"
		_ = json.NewEncoder(w).Encode(message) // the client may have gone
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range []map[string]any{
		{"type": "message_start", "message": message},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}, "usage": usage},
		{"type": "message_stop"},
	} {
		body, _ := json.Marshal(e) // of strings and numbers
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], body)
	}
}
