package main

import (
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Stages of a team's own: a card goes through them to Done, and a server does not start with a file that strands a task.
func TestStagesOfATeam(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	said, ok := n.do("init", "--listen", n.addr, "--no-rehearse", "--agent", "rehearse")
	require.True(t, ok, said)
	printed, ok := n.do("pipeline")
	require.True(t, ok, printed)
	const stages = "stages: [analysis, development, review, {stage: security, role: auditor, report: security.md, " +
		"good: [clean], bad: [vulnerable], prompt: Look for holes.}, deploy]\n"
	write := func(text string) { require.NoError(t, os.WriteFile(n.path("pipeline.yaml"), []byte(text), 0o600)) }
	write(stages)
	table, ok := n.do("pipeline", "--table")
	require.True(t, ok, table)
	require.Contains(t, table, "check_report")
	said, ok = n.do("pipeline", "--json")
	require.True(t, ok, said)
	require.Contains(t, said, `"role": "auditor"`)

	serve, log := n.command("serve")
	require.NoError(t, serve.Start())
	stop := func() {
		require.NoError(t, serve.Process.Signal(syscall.SIGTERM))
		require.NoError(t, serve.Wait(), log)
	}
	ready := func() {
		n.until("the server gets ready", func() bool {
			var into any
			return n.get("/readyz", &into)
		})
	}
	ready()
	kim, desk := n.sign(), n.desk()
	id := kim.begin("app", "Audited")
	n.until("the analyst finishes", func() bool { return story(t, desk, id).Column == string(stage.StatusInReview) })
	write("stages: [development, deploy]\n")
	said, ok = n.do("reload")
	require.False(t, ok)
	require.Contains(t, said, "the stages are others than at the start")
	stop()
	said, ok = n.do("serve")
	require.False(t, ok)
	require.Contains(t, said, "task 1 (APP-1) stands at the stage analysis, which is not there")

	write(stages)
	serve, log = n.command("serve")
	require.NoError(t, serve.Start())
	defer func() { stop() }()
	ready()
	kim = n.sign()
	kim.submit("board/cards/"+id+"/move", url.Values{"column": {"approved"}})
	n.until("it is done", func() bool { return story(t, desk, id).Column == string(stage.StatusDone) && !owed(n.task(id)) })
	var met []stage.Stage
	for _, r := range n.task(id).Runs {
		if !slices.Contains(met, r.Stage) {
			met = append(met, r.Stage)
		}
	}
	require.Equal(t, []stage.Stage{stage.Analysis, stage.Development, stage.Review, "security", stage.Deploy}, met)
}
