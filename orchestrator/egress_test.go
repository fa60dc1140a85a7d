package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A run that failed and was refused hosts is a person's matter at once, with the line that allows them;
// one that has succeeded goes on, and the card has the same words.
func TestRefusedHosts(t *testing.T) {
	refusing := func(kind string) func(context.Context, work.Command, map[string]string) work.Result {
		return func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			r := orchestratortest.GoodAgent(ctx, c, files)
			r.Kind, r.Reason = kind, "exit code 7"
			r.Refused = []work.Refusal{{Host: "evil.example.net:443"}, {Host: "evil.example.net:80"}, {Host: "b.example.net:8443"}, {Host: "c:80"}, {Host: "d:80"}}
			return r
		}
	}
	const line = "the network refused it evil.example.net, b.example.net:8443, c and 1 more (its page has them); " +
		"if it needs that, add evil.example.net, b.example.net:8443, c to egress of acme/app (architect) in projects.yaml and run signalbox reload"
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		r.Options.AgentRetries = []time.Duration{time.Second, time.Second, time.Second}
		r.Place.SetScript(orchestratortest.Instead(stage.Architect, refusing(work.ResultFailed)))
	}, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		r.Settle(time.Minute)
		require.Equal(r, 1, r.Ran(stage.Architect), "it is not tried again for money")
		require.Equal(r, stage.HoldBlocked, r.Task(item).State.Hold)
		require.Contains(r, r.Explain(item).Blockers[0].Why, "exit code 7; "+line)
		require.Contains(r, r.Notices(), line)
		require.True(r, r.Commented(orchestratortest.App, item, line))
		r.Place.SetScript(orchestratortest.Instead(stage.Architect, refusing(work.ResultOK)))
		r.Move(orchestratortest.App, item, stage.StatusInProgress)
		r.Settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage)
		require.Equal(r, 2, strings.Count(strings.Join(r.Comments(orchestratortest.App, item), "\n"), line), "Blocked, and what it has finished with")
		r.Replays()
	})
}
