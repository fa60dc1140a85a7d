package agentcli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	r := &Runner{opt: Options{Default: "claude"}}
	for _, c := range []struct {
		agent        work.Agent
		name, vendor string
	}{
		{work.Agent{}, "claude", "anthropic"},
		{work.Agent{Use: "codex"}, "codex", "openai"},
		{work.Agent{Use: "gemini", Model: "x"}, "gemini", "google"},
		{work.Agent{Use: "/opt/bin/claude --model opus"}, "/opt/bin/claude --model opus", "anthropic"},
		{work.Agent{Use: "opencode"}, "opencode", ""},
		{work.Agent{Use: "opencode", Model: "openai/gpt-5"}, "opencode", "openai"},
		{work.Agent{Use: "make agent"}, "make agent", ""},
		{work.Agent{Use: `"open`}, `"open`, ""},
	} {
		name, vendor := r.Identify(c.agent)
		require.Equal(t, []string{c.name, c.vendor}, []string{name, vendor}, "%+v", c.agent)
	}
}

func TestPriceOf(t *testing.T) {
	t.Parallel()
	prices := map[string]Price{"gpt-5": {Input: 1}, "codex": {Input: 2}, "": {Input: 3}}
	for _, c := range []struct {
		model, agent string
		want         int64
	}{{"gpt-5", "codex", 1}, {"gpt-6", "codex", 2}, {"", "codex", 2}, {"gpt-6", "x", 0}} {
		p, known := PriceOf(prices, c.model, c.agent)
		require.Equal(t, c.want, p.Input)
		require.Equal(t, c.want > 0, known)
	}
}
