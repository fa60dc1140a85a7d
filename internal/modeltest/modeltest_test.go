package modeltest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// A model that has one command run, and then says that all is done.
func Example() {
	s := modeltest.New(modeltest.Steps(
		modeltest.Turn{Command: "make test"},
		modeltest.Turn{Text: "All is done.", Usage: modeltest.Usage{Input: 10, Output: 5}},
	))
	defer s.Close()
	// ANTHROPIC_BASE_URL=$s.URL claude --print … would send requests such as these:
	for _, body := range []string{
		`{"model": "m", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "Build it."}]}`,
		`{"model": "m", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": [{"type": "tool_result", "content": "ok"}]}]}`,
	} {
		_, answer := post(s, "/v1/messages", body)
		fmt.Println(answer)
	}
	q := s.Requests()[1]
	fmt.Println(q.Dialect, q.Model, q.Tools, q.Results)
	// Output:
	// {"content":[{"id":"toolu_0","input":{"command":"make test","description":"works"},"name":"Bash","type":"tool_use"}],"id":"msg_0","model":"m","role":"assistant","stop_reason":"tool_use","type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":0,"output_tokens":0}}
	// {"content":[{"text":"All is done.","type":"text"}],"id":"msg_1","model":"m","role":"assistant","stop_reason":"end_turn","type":"message","usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":10,"output_tokens":5}}
	// anthropic m [Bash] 1
}

// post sends a signed request, and gives the status and the whole answer.
func post(s *modeltest.Server, path, body string) (status int, answer string) {
	req, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer imitated")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, string(raw) + err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(raw))
}

// calls are a streamed request of each dialect that offers a shell and a tool for files, and
// has one answer of a tool behind it.
func calls() map[modeltest.Dialect][2]string {
	return map[modeltest.Dialect][2]string{
		modeltest.Anthropic: {"/v1/messages", `{"stream": true, "model": "m", "tools": [{"name": "Bash"}, {"name": "Write"}], "messages": [{"content": [{"type": "tool_result"}, {"text": "words"}]}]}`},
		modeltest.Responses: {"/v1/responses", `{"stream": true, "model": "m", "input": [{"type": "additional_tools", "tools": [{"name": "functions", "tools": [{"name": "exec"}]}]}, {"type": "custom_tool_call_output", "output": "words"}]}`},
		modeltest.Chat:      {"/v1/chat/completions", `{"stream": true, "model": "m", "tools": [{"function": {"name": "bash"}}, {"function": {"name": "write"}}], "messages": [{"role": "tool", "content": "words"}]}`},
		modeltest.Gemini:    {"/v1beta/models/m:streamGenerateContent", `{"tools": [{"functionDeclarations": [{"name": "run_shell_command"}, {"name": "write_file"}]}], "contents": [{"parts": [{"functionResponse": {"response": "words"}}]}]}`},
	}
}

func TestDialects(t *testing.T) {
	t.Parallel()
	for dialect, call := range calls() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			var turn modeltest.Turn
			s := modeltest.New(func(modeltest.Request) modeltest.Turn { return turn })
			defer s.Close()
			for _, turn = range []modeltest.Turn{{Command: "make test"}, {File: modeltest.File{Path: "/a/file", Body: "of one line\n"}}, {Text: "All is done."}} {
				turn.Usage = modeltest.Usage{Input: 10, CacheRead: 300, CacheCreate: 4000, Output: 50000}
				status, answer := post(s, call[0], call[1])
				require.Equal(t, http.StatusOK, status)
				for _, part := range []string{turn.Command, turn.File.Path, strings.TrimSpace(turn.File.Body), turn.Text, "300", "50000"} {
					require.Contains(t, answer, part)
				}
				if dialect != modeltest.Anthropic { // whose tokens are disjoint
					require.Contains(t, answer, "4310")
				}
			}
			q := s.Requests()[0]
			require.Equal(t, []any{dialect, "m", true, true, 1}, []any{q.Dialect, q.Model, q.Stream, q.Signed, q.Results})
			require.Contains(t, q.Text, "words")
		})
	}
}

// Vendors refuse in their own words; a stream breaks off; what hangs ends with the server.
func TestFaults(t *testing.T) {
	t.Parallel()
	for dialect, call := range calls() {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			var turn modeltest.Turn
			s := modeltest.New(func(modeltest.Request) modeltest.Turn { return turn })
			for fault, want := range map[modeltest.Fault]string{
				modeltest.Unauthorized: "key", modeltest.NoCredit: "[Bb]illing", modeltest.RateLimited: "limit|quota", modeltest.UsageLimit: "limit|quota",
				modeltest.UnknownModel: `\bm\b`, modeltest.Overloaded: "verload",
			} {
				turn.Fault = fault
				status, answer := post(s, call[0], call[1])
				require.GreaterOrEqual(t, status, 400, fault)
				require.Regexp(t, want, answer)
			}
			turn = modeltest.Turn{Fault: modeltest.BreakOff, Text: "It breaks off."}
			status, answer := post(s, call[0], call[1])
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, answer, io.ErrUnexpectedEOF.Error())

			turn = modeltest.Turn{Fault: modeltest.Hang}
			ended := make(chan bool)
			go func() {
				defer close(ended)
				post(s, call[0], call[1])
			}()
			require.Eventually(t, func() bool { return len(s.Requests()) == 8 }, 10*time.Second, time.Millisecond)
			s.Close()
			<-ended
		})
	}
}

// A caller without a key is refused as one with a wrong key; what is not imitated is not found.
func TestOthersAreRefused(t *testing.T) {
	t.Parallel()
	s := modeltest.New(modeltest.Steps(modeltest.Turn{Text: "words"}))
	defer s.Close()
	resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(`{}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	require.False(t, s.Requests()[0].Signed)
	status, _ := post(s, "/v1/models", "")
	require.Equal(t, http.StatusNotFound, status)
}
