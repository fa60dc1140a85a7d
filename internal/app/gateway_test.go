package app_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// What is wrong with the gateway's settings is said by their names.
func TestGatewaySettings(t *testing.T) {
	t.Parallel()
	for want, settings := range map[string][]string{
		"ORCH_MODEL_GATEWAY is \"127.0.0.1\"": {"ORCH_MODEL_GATEWAY=127.0.0.1", "ORCH_OPENAI_API_KEY=k"},
		"ORCH_MODEL_GATEWAY is \"box:0\"":     {"ORCH_MODEL_GATEWAY=box:0", "ORCH_OPENAI_API_KEY=k"},
		"and no key of a vendor":              {"ORCH_MODEL_GATEWAY=127.0.0.1:0"},
		"ORCH_ANTHROPIC_URL is":               {"ORCH_ANTHROPIC_URL=anthropic"},
	} {
		_, err := app.Load(append(settings, "ORCH_CONFIG=none"))
		require.ErrorContains(t, err, want)
	}
}

// doctor says whose key an agent could read, and what it costs only by its own word.
func TestDoctorOfTheGateway(t *testing.T) {
	const mine = "the key of anthropic stays in the gateway of models, which measures what the agent claude costs"
	for want, settings := range map[string][]string{
		"the key of anthropic, or its login, is within the reach of the agent claude": nil,
		"the key of anthropic, or its login, is within the reach":                     {"ORCH_MODEL_GATEWAY=127.0.0.1:0", "ORCH_OPENAI_API_KEY=k"},
		"has no price of anthropic: give that of its model in ORCH_AGENT_PRICES":      {"ORCH_MODEL_GATEWAY=127.0.0.1:0", "ORCH_ANTHROPIC_API_KEY=k"},
		mine: {"ORCH_MODEL_GATEWAY=127.0.0.1:0", "ORCH_ANTHROPIC_API_KEY=k", "ORCH_AGENT_PRICES=claude-sonnet-4-5=3/15/0.3/3.75"},
	} {
		c := newClinic(t)
		c.tool("claude", "echo 9.8.7\n")
		c.env["AGENT"] = "claude"
		for _, one := range settings {
			name, value, _ := strings.Cut(strings.TrimPrefix(one, "ORCH_"), "=")
			c.env[name] = value
		}
		said := c.finds(0)
		require.Contains(t, said, want)
		require.Equal(t, want == mine, strings.Contains(said, mine), said)
	}
}

// Each key of a vendor is a secret, also in a file.
func TestGatewayKeysAreSecrets(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, s := range app.List([]string{"ORCH_ANTHROPIC_API_KEY=one", "ORCH_OPENAI_API_KEY=two", "ORCH_GEMINI_API_KEY=three", "ORCH_CONFIG=none"}) {
		if strings.HasSuffix(s.Name, "_API_KEY") {
			require.True(t, s.Secret, s.Name)
			out.WriteString(s.Value + " ")
		}
	}
	require.Equal(t, "*** *** *** ", out.String())
}
