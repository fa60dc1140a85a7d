//go:build linux

package modelgateway_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// agent calls a model once by what it finds in its environment, and prints the answer's status.
func agent() int {
	q, err := http.NewRequest(http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", strings.NewReader(`{"model":"m-1","stream":true,"tools":[{"name":"x"}]}`))
	if err != nil {
		return 1
	}
	q.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
	a, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer a.Body.Close()
	_, err = io.Copy(io.Discard, a.Body)
	fmt.Println(a.Status, err)
	return 0
}

func runner(t *testing.T, g *modelgateway.Gateway) *agentcli.Runner {
	t.Helper()
	dir := t.TempDir()
	box := jailtest.System(jailtest.Box(t, jailtest.Landlock, []string{"/proc/self/exe", "agent-shim"}))
	self, err := os.Executable()
	require.NoError(t, err)
	box.Read = append(box.Read, self)
	o := agentcli.Options{
		LogDir: filepath.Join(dir, "logs"), StateDir: filepath.Join(dir, "state"), HomeDir: filepath.Join(dir, "homes"), Jail: &box,
		Shim: []string{"/proc/self/exe", "agent-shim"}, TermGrace: 200 * time.Millisecond,
	}
	if g != nil {
		o.Links = []agentcli.Link{g}
	}
	r, err := agentcli.New(o)
	require.NoError(t, err)
	return r
}

func execute(t *testing.T, r *agentcli.Runner) work.Result {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return r.Run(t.Context(), work.Command{
		TaskID: 7, Role: "developer", Run: 1, Attempt: 1, Dir: t.TempDir(),
		Agent: work.Agent{Use: self + " agent", Timeout: time.Minute, Env: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}},
	})
}

// An agent in the jail reaches the gateway, and no other port of this machine; the vendor's key
// is not in its environment, and its usage is measured.
func TestAgentBehindTheGateway(t *testing.T) {
	model := modeltest.New(modeltest.Steps(modeltest.Turn{Text: "x", Usage: modeltest.Usage{Input: 100, Output: 20}}))
	t.Cleanup(model.Close)
	r := newRig(t, model.URL)
	t.Setenv("ANTHROPIC_API_KEY", key)
	t.Setenv("ANTHROPIC_BASE_URL", model.URL)
	res := execute(t, runner(t, r.Gateway))
	require.Equal(t, work.ResultOK, res.Kind, res.Reason)
	require.Equal(t, "200 OK <nil>", res.Summary)
	require.Equal(t, work.Usage{Model: "m-1", Input: 100, Output: 20, MicroUSD: 300}, res.Usage)
	require.NotNil(t, res.Measured)
	require.Contains(t, fmt.Sprint(r.seen[0].Header), key, "the gateway's")
	require.NotContains(t, fmt.Sprint(r.seen[0].URL), r.Address())

	direct := execute(t, runner(t, nil))
	require.Equal(t, work.ResultFailed, direct.Kind)
	require.Contains(t, direct.Reason, "permission denied", "its port is closed")
}

// Each tool gets the gateway in its own way, and nothing of the vendor's that it would sign in
// with. One whose vendor is not served works as it does without a gateway.
func TestTools(t *testing.T) {
	t.Parallel()
	r := newRig(t, "http://127.0.0.1:9")
	at := r.URL()
	for tool, c := range map[string]struct {
		vendor string
		env    map[string]string // TOKEN stands for the token
		gone   []string
		args   []string
	}{
		"claude": {modelgateway.Anthropic, map[string]string{"ANTHROPIC_BASE_URL": at + "/anthropic", "ANTHROPIC_AUTH_TOKEN": "TOKEN"}, []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}, nil},
		"codex":  {modelgateway.OpenAI, map[string]string{"CODEX_API_KEY": "TOKEN"}, []string{"OPENAI_API_KEY", "OPENAI_BASE_URL"}, []string{"-c", `openai_base_url="` + at + `/openai/v1"`, "-c", `model="of-the-file"`}},
		"gemini": {modelgateway.Google, map[string]string{"GOOGLE_GEMINI_BASE_URL": at + "/gemini", "GEMINI_API_KEY": "TOKEN"}, []string{"GOOGLE_API_KEY", "GOOGLE_GENAI_USE_GCA"}, nil},
		"opencode": {"", map[string]string{"OPENCODE_CONFIG_CONTENT": `{"provider":{"anthropic":{"options":{"baseURL":"` + at + `/anthropic/v1","apiKey":"TOKEN"}},` +
			`"google":{"options":{"baseURL":"` + at + `/gemini/v1beta","apiKey":"TOKEN"}},"openai":{"options":{"baseURL":"` + at + `/openai/v1","apiKey":"TOKEN"}}}}`}, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"}, nil},
		"": {"", map[string]string{"SIGNALBOX_MODEL_URL": at, "OPENAI_BASE_URL": at + "/openai/v1", "ANTHROPIC_API_KEY": "TOKEN", "GEMINI_API_KEY": "TOKEN"}, []string{"CODEX_API_KEY"}, nil},
	} {
		o, token := r.run(agentcli.LinkedRun{Tool: tool, Vendor: c.vendor, Model: "of-the-file"})
		for name, want := range c.env {
			require.Equal(t, strings.ReplaceAll(want, "TOKEN", token), o.Env[name], "%s %s", tool, name)
		}
		for _, name := range c.gone {
			value, there := o.Env[name]
			require.True(t, there && value == "", "%s %s", tool, name)
		}
		require.Equal(t, c.args, o.Args, tool)
		require.Equal(t, tool != "", o.Home != nil, "the files of a known tool are not copied")
		require.Len(t, o.Jail.Ports, 1)
		o.Close()
	}
	for _, x := range []agentcli.LinkedRun{{Tool: "opencode", Vendor: "acme"}, {Tool: "antigravity", Vendor: modelgateway.Google}} {
		o, _ := r.run(x)
		require.Nil(t, o.Look)
		o.Close = nil
		require.Equal(t, agentcli.Opened{}, o)
	}
	box := &work.Jail{Box: work.Box{Kind: work.BoxContainer}}
	_, err := r.Open(t.Context(), agentcli.LinkedRun{Jail: box})
	require.ErrorContains(t, err, "ORCH_JAIL_NETWORK")
	for _, reached := range []work.Jail{{Box: work.Box{Kind: work.BoxContainer, Network: "host"}}, {Box: box.Box, Proxied: true}} {
		_, err = r.Open(t.Context(), agentcli.LinkedRun{Jail: &reached})
		require.NoError(t, err)
	}
}
