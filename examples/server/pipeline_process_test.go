package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Stages and lanes of a team's own: cards go through them to Done, by their labels, and a server does not start with a file that
// strands a task.
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
	const lanes = "lanes: {plan: [analysis, development, deploy], fix: [development, review, deploy]}\n"
	write(stages + lanes)
	registry := n.world.read("projects.yaml")
	choose := func(pipeline string) {
		require.NoError(t, os.WriteFile(n.path("projects.yaml"), []byte(registry+"    pipeline: "+pipeline+"\n"), 0o600))
	}
	choose("{labels: {plan: plan, bug: fix}}")
	table, ok := n.do("pipeline", "--table")
	require.True(t, ok, table)
	require.Contains(t, table, "check_report")
	said, ok = n.do("pipeline", "--json")
	require.True(t, ok, said)
	require.Contains(t, said, `"role": "auditor"`)
	require.Contains(t, said, `"fix":`)

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
	planned, fixed := kim.begin("app", "Planned", "plan"), kim.begin("app", "Fixed", "big", "BUG")
	asks := func(id string) bool { return story(t, desk, id).Column == string(stage.StatusInReview) }
	isDone := func(id string) func() bool {
		return func() bool { return story(t, desk, id).Column == string(stage.StatusDone) && !owed(n.task(id)) }
	}
	n.until("the analysts finish", func() bool { return asks(id) && asks(planned) })
	n.until("the fix is done", isDone(fixed))
	_, page := kim.page(fmt.Sprint("tasks/", n.task(fixed).ID))
	require.Contains(t, page, "<dt>Lane</dt><dd>fix</dd>")
	require.NotContains(t, page, "<span>security</span>")
	said, ok = n.do("why", fmt.Sprint(n.task(planned).ID))
	require.True(t, ok, said)
	require.Contains(t, said, "  lane: plan\n")
	_, page = kim.page("board/cards/" + fixed)
	require.Regexp(t, `<bdi>big</bdi></a> <a [^>]*><bdi>BUG</bdi>`, page)
	for _, other := range []string{
		stages + "lanes: {plan: [analysis, development, deploy], fix: [development, deploy]}\n",
		"stages: [development, deploy]\nlanes: {plan: [development, deploy], fix: [development, deploy]}\n",
	} {
		write(other)
		said, ok = n.do("reload")
		require.False(t, ok)
		require.Contains(t, said, "the stages are others than at the start")
	}
	stop()
	said, ok = n.do("serve")
	require.False(t, ok)
	require.Contains(t, said, "task 1 (APP-1) stands at the stage analysis, which is not there")
	write(stages + "lanes: {fix: [development, review, deploy]}\n")
	said, ok = n.do("serve")
	require.False(t, ok)
	require.Contains(t, said, `project 1 (local/app): pipeline: there is no lane "plan", want full or fix`)
	choose("{labels: {bug: fix}}")
	said, ok = n.do("serve")
	require.False(t, ok)
	require.Contains(t, said, "task 2 (APP-2) has the lane plan, which is not there: put it back until the task has ended")

	write(stages + lanes)
	serve, log = n.command("serve")
	require.NoError(t, serve.Start())
	defer func() { stop() }()
	ready()
	kim = n.sign()
	for _, card := range []string{id, planned} {
		kim.submit("board/cards/"+card+"/move", url.Values{"column": {"approved"}})
		n.until("it is done", isDone(card))
	}
	for card, want := range map[string][]stage.Stage{
		id:      {stage.Analysis, stage.Development, stage.Review, "security", stage.Deploy},
		planned: {stage.Analysis, stage.Development, stage.Deploy},
		fixed:   {stage.Development, stage.Review, stage.Deploy},
	} {
		var met []stage.Stage
		for _, r := range n.task(card).Runs {
			if !slices.Contains(met, r.Stage) {
				met = append(met, r.Stage)
			}
		}
		require.Equal(t, want, met)
	}
}
