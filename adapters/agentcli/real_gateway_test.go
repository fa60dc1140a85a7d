//go:build linux

package agentcli_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/modelgateway"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// counter counts what a gateway forwards.
type counter struct{ n atomic.Int64 }

func (c *counter) RoundTrip(q *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(q)
}

// Each tool works behind the gateway of models, in a jail with no other port: all that its model
// is asked has passed there, what was measured is what the tool says, and a limit of cost ends it.
func TestRealAgentsBehindTheGateway(t *testing.T) {
	r := newReality(t, true)
	client := &counter{}
	vendors := map[string]modelgateway.Vendor{}
	for _, name := range []string{modelgateway.Anthropic, modelgateway.OpenAI, modelgateway.Google} {
		vendors[name] = modelgateway.Vendor{Key: secret.New("sk-imitated"), URL: r.model.URL}
	}
	one := agentcli.Price{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheCreate: 1e6}
	g, err := modelgateway.New(modelgateway.Options{Vendors: vendors, Client: client, Prices: map[string]agentcli.Price{"claude": one, "codex": one, "gemini": one, "opencode": one}})
	require.NoError(t, err)
	require.NoError(t, g.Listen(t.Context(), "127.0.0.1:0"))
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	r.links = []agentcli.Link{g}
	box := jailtest.Box(t, jailtest.Landlock, []string{"/proc/self/exe", "agent-shim"})
	done := &table{}
	t.Run("tools", func(t *testing.T) {
		for tool, model := range map[string]string{"claude": "claude-sonnet-4-5", "codex": "gpt-5.5", "gemini": "gemini-2.5-pro", "opencode": "anthropic/claude-sonnet-4-5"} {
			t.Run(tool, func(t *testing.T) {
				t.Parallel()
				outcome := "failed"
				defer func() { done.add(tool, outcome) }()
				_, _, res := r.run(t, &box, work.Agent{Use: tool, Model: model, Timeout: 4 * time.Minute}, "Build it.")
				succeeded(t, res)
				require.NotNil(t, res.Measured)
				require.False(t, res.Measured.Estimated)
				require.EqualValues(t, 12000, res.Usage.CacheRead, "four turns")
				require.Equal(t, res.Usage.Tokens(), res.Usage.MicroUSD)
				require.Equal(t, res.Measured.Told.Tokens(), res.Usage.Tokens())
				_, _, res = r.run(t, &box, work.Agent{Use: tool, Model: model, Timeout: time.Minute, MicroUSD: 5000}, "Build it.")
				require.Equal(t, work.ResultBudget, res.Kind, res.Reason)
				outcome = "measured, and ended at its limit"
			})
		}
	})
	require.EqualValues(t, len(r.model.Requests()), client.n.Load(), "all has passed the gateway")
	done.print("tool", "behind the gateway")
}
