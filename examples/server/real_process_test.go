package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// realAgents names the directory into which "make test-agents" has installed the tools.
const realAgents = "SIGNALBOX_REAL_AGENTS"

// playsRoles is a model that does what the prompt of each role wants: it writes the files and
// commits them, or judges in the report whose file and form the prompt gives.
func playsRoles(q modeltest.Request) modeltest.Turn {
	find := func(form string) string {
		if m := regexp.MustCompile(form).FindStringSubmatch(q.Text); m != nil {
			return m[1]
		}
		return ""
	}
	role, docs := find(`You are the (\w+) of`), find(`(docs/work/[A-Z]+-\d+)/`)
	if len(q.Tools) == 0 || role == "" {
		return modeltest.Turn{Text: "An aside."}
	}
	turns := []modeltest.Turn{}
	write := func(path, body string) {
		turns = append(turns, modeltest.Turn{Text: "I write " + filepath.Base(path) + ".", File: modeltest.File{Path: path, Body: body}})
	}
	report := find(`Write your report to the file (\S+), outside`)
	switch stage.Role(role) {
	case stage.Analyst:
		write(docs+"/requirements.md", "It has to be there.\n")
		write(docs+"/acceptance.md", "It is there.\n")
	case stage.Architect:
		write(docs+"/design.md", "A file.\n")
	case stage.Developer:
		write("src/feature.txt", "It is there.\n")
	default:
		write(report, fmt.Sprintf("---\nverdict: %s\nsha: %s\nsummary: judged by a model\n---\n", find(`verdict: (\w+) or`), find(`sha: ([0-9a-f]{40})`)))
	}
	if report == "" {
		turns = append(turns, modeltest.Turn{Text: "I commit it.", Command: "git add --all && git commit --quiet --message '" + role + "'"})
	}
	turns = append(turns, modeltest.Turn{Text: "The " + role + " is done."})
	turn := turns[min(q.Results, len(turns)-1)]
	turn.Usage = modeltest.Usage{Input: 100, CacheRead: 3000, CacheCreate: 40, Output: 20}
	return turn
}

// A card from To Analyse to Done by seven runs of the real Claude Code, under the built-in
// preset and in the jail. Only its model is an imitation. Gates judge what it has committed
// and reported, and the costs are those that it has counted.
func TestRealClaudeTakesACardToDone(t *testing.T) {
	dir := os.Getenv(realAgents)
	if dir == "" {
		t.Skipf("%s is not set: make test-agents installs Claude Code and runs it", realAgents)
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules"))
	require.NoError(t, err)
	model := modeltest.New(playsRoles)
	defer model.Close()
	t.Setenv("PATH", filepath.Join(dir, ".bin")+":"+os.Getenv("PATH"))
	began := time.Now()
	w := newWorld(t, map[string]string{
		"AGENT": "claude", "JAIL_READ": dir, "TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1", "MONITOR_WINDOW": "1s", "MONITOR_INTERVAL": "100ms",
		"ANTHROPIC_BASE_URL": model.URL, "ANTHROPIC_API_KEY": "sk-ant-imitated",
	}, &place{prefix: "GPX"})
	item := w.cardIn("GPX", "A real one", "To Analyse")
	w.approve(item)
	for n := range 7 { // each may take as long as a wait does
		w.until(fmt.Sprintf("run %d ends", n+1), func() bool { return len(w.task(item).Runs) > n })
	}
	w.reaches(item, "Done")

	task := w.task(item)
	require.Equal(t, stage.Done, task.Stage)
	var roles, summaries []string
	turns := 0
	for _, run := range task.Runs {
		roles, summaries = append(roles, string(run.Role)), append(summaries, run.Summary)
		require.Equal(t, "claude-opus-4-8", run.Model)
		n := int(run.Output / 20)
		turns += n
		require.Equal(t, []any{int64(3140 * n), int64(3000 * n), int64(40 * n)}, []any{run.Input, run.CacheRead, run.CacheCreation}, run.Role)
	}
	require.Equal(t, []string{"analyst", "architect", "developer", "reviewer", "tester", "deployer", "deployer"}, roles)
	require.Equal(t, "The reviewer is done.", summaries[3])
	require.Equal(t, 18, turns)
	require.Equal(t, []any{int64(18 * 3140), int64(18 * 20)}, []any{task.Totals.Input, task.Totals.Output})
	const turnUSD = (100*5 + 3000*0.5 + 40*6.25 + 20*25) / 1e6 // as Claude Code prices its model
	require.InDelta(t, 18*turnUSD, task.Totals.CostUSD, 1e-5)
	require.Contains(t, w.git(w.places["GPX"].bare, "log", "--format=%s", "main"), "developer")
	require.Equal(t, "It is there.", w.git(w.places["GPX"].bare, "show", "main:src/feature.txt"))
	require.Equal(t, task.MergeSHA, w.heads("GPX")["main"])
	w.until("the message shows the end", func() bool { return strings.Contains(w.live(item).Text, "$0.0495") })
	for _, q := range model.Requests() {
		require.True(t, q.Signed || q.Dialect == "", q.Path)
	}
	fmt.Printf("agents: claude took a card from To Analyse to Done: %d runs, %d answers of its model, $%.4f, %v\n",
		len(task.Runs), turns, task.Totals.CostUSD, time.Duration(math.Round(time.Since(began).Seconds()))*time.Second)
}
