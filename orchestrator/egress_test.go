package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A run that failed and was refused hosts is a person's matter at once, with the line that allows them;
// one that has succeeded goes on, and the card has the same words.
func TestRefusedHosts(t *testing.T) {
	refusing := func(kind string) func(context.Context, work.Command, map[string]string) work.Result {
		return func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			r := GoodAgent(ctx, c, files)
			r.Kind, r.Reason = kind, "exit code 7"
			r.Refused = []work.Refusal{{Host: "evil.example.net:443"}, {Host: "evil.example.net:80"}, {Host: "b.example.net:8443"}, {Host: "c:80"}, {Host: "d:80"}}
			return r
		}
	}
	const line = "the network refused it evil.example.net, b.example.net:8443, c and 1 more (its page has them); " +
		"if it needs that, add evil.example.net, b.example.net:8443, c to egress of acme/app (architect) in projects.yaml and run signalbox reload"
	Run(t, func(r *Rig) {
		r.Options.AgentRetries = []time.Duration{time.Second, time.Second, time.Second}
		r.Place.SetScript(Instead(stage.Architect, refusing(work.ResultFailed)))
	}, func(r *Rig) {
		item := r.Finish("x")
		r.Settle(time.Minute)
		require.Equal(r, 1, r.Ran(stage.Architect), "it is not tried again for money")
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Explain(item).Blockers[0].Why, "exit code 7; "+line)
		require.Contains(r, r.Notices(), line)
		require.True(r, r.Commented(App, item, line))
		r.Place.SetScript(Instead(stage.Architect, refusing(work.ResultOK)))
		r.Set(item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, 2, strings.Count(strings.Join(r.Comments(App, item), "\n"), line), "Blocked, and what it has finished with")
		r.Replays()
	})
}
