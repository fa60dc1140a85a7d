package app_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// few are a few settings and those of a switch.
func few(t *testing.T, dir string, settings ...string) app.Settings {
	t.Helper()
	projects := filepath.Join(dir, "projects.yaml")
	put(t, projects, "projects:\n  - {tracker_project: p, repo: acme/app, clone_url: \"https://github.com/acme/app.git\", prefix: APP}\n")
	s, err := app.Load(append([]string{
		"ORCH_DATA_DIR=" + dir, "ORCH_PROJECTS=" + projects, "ORCH_PLANE_URL=https://plane.example.org", "ORCH_PLANE_WORKSPACE=acme", "ORCH_PLANE_TOKEN=t", "ORCH_PLANE_WEBHOOK_SECRET=plane-webhook-secret-of-128-bits",
		"ORCH_GITHUB_TOKEN=t", "ORCH_GITHUB_WEBHOOK_SECRET=github-webhook-secret-of-128-bits", "ORCH_TELEGRAM_TOKEN=1:t", "ORCH_TELEGRAM_CHAT_ID=1", "ORCH_AGENT=/bin/true", "ORCH_JAIL=none",
	}, settings...))
	require.NoError(t, err)
	return s
}

// open makes a service of a few settings and those of a switch.
func open(t *testing.T, settings ...string) *app.Service {
	t.Helper()
	v, err := app.Open(t.Context(), few(t, t.TempDir(), settings...), []string{"/bin/true"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	return v
}

// A switch that is off leaves its feature, and nothing else, out of the program.
// Engines without features tell the base's story: see package orchestrator.
func TestSwitches(t *testing.T) {
	switches := []struct{ setting, name string }{
		{"ORCH_STOP_STATUS_ENABLED", "stop"}, {"ORCH_RECONCILE_ENABLED", "reconcile"}, {"ORCH_LIVE_MESSAGE_ENABLED", "live_message"},
		{"ORCH_WAIT_COMMENT_ENABLED", "wait_comment"}, {"ORCH_SERIAL_GATE_ENABLED", "serial_gate"}, {"ORCH_WIP_ENABLED", "wip"}, {"ORCH_TASK_DEPS_ENABLED", "task_deps"},
		{"ORCH_MONITOR_ENABLED", "monitor"}, {"ORCH_AGENT_PAUSE_ENABLED", "agent_pause"}, {"ORCH_AFTER_DONE_ENABLED", "after_done"},
		{"", "budget"},
	}
	// Retention, signals and the look at remotes are always on, and the merge gate is there when it is off: for branches behind main.
	all := []string{"retention", "merge_gate", "remotes", "signals"}
	for _, s := range switches {
		all = append(all, s.name)
	}
	built := func(off ...int) []string {
		settings, budget := []string{}, "ORCH_BUDGET_TASK_USD=5"
		for _, i := range off {
			if switches[i].setting == "" {
				budget = "ORCH_BUDGET_TASK_USD=0"
				continue
			}
			settings = append(settings, switches[i].setting+"=false")
		}
		return open(t, append(settings, budget)...).Engine.Features()
	}
	require.ElementsMatch(t, all, built())
	everything := []int{}
	for i := range switches {
		everything = append(everything, i)
		for j := i; j == i || j < len(switches) && !testing.Short(); j++ {
			want := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == switches[i].name || name == switches[j].name })
			if i == 0 {
				want = append(want, "stop_owed") // the end of tasks whose STOP was taken
			}
			require.ElementsMatch(t, want, built(i, j), "without %s and %s", switches[i].name, switches[j].name)
		}
	}
	require.ElementsMatch(t, []string{"stop_owed", "retention", "merge_gate", "remotes", "signals"}, built(everything...))
}

// A task that the merge gate has led to a stage of its own is there after a restart, whatever stages the team has; one that
// stands at a stage of nobody's, or has a lane that is gone, is named.
func TestStrandedTasksAreNamed(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "pipeline.yaml"), "stages: [development, review, deploy]\n")
	s := few(t, dir)
	begin := func() (*app.Service, error) {
		return app.Open(t.Context(), s, []string{"/bin/true"}, slog.New(slog.DiscardHandler))
	}
	for _, c := range []struct {
		state stage.State
		wrong string
	}{
		{stage.State{Stage: stage.DeployStaging, Phase: stage.PhaseCatchUp}, ""},
		{stage.State{Stage: stage.Testing}, "task 1 (APP-1) stands at the stage testing, which is not there"},
		{stage.State{Stage: stage.Review, Lane: "fix"}, "task 1 (APP-1) has the lane fix, which is not there"},
	} {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "signalbox.db")})
		require.NoError(t, err)
		row := task.Task{ID: 1, WorkItemID: "APP-1", TrackerIssueID: "i", Repo: "acme/app", Branch: "b"}
		if tasks, err := db.Tasks(t.Context(), task.Filter{}); err == nil && len(tasks) > 0 {
			row = tasks[0]
		}
		row.State = c.state
		require.NoError(t, db.Commit(t.Context(), task.Commit{Task: &row}))
		require.NoError(t, db.Close())
		v, err := begin()
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, v.Close())
	}
}

// The merge gate that is switched off says so, and what merges looks whether a branch is
// behind all the same.
func TestMergeGateOffIsThere(t *testing.T) {
	for setting, enabled := range map[string]string{"ORCH_MERGE_GATE_ENABLED=false": `"merge_gate":{"enabled":false`, "ORCH_MERGE_GATE_ENABLED=true": `"merge_gate":{"enabled":true`} {
		view, err := explain.ReadQueue(t.Context(), open(t, setting).Engine)
		require.NoError(t, err)
		raw, err := view.MarshalJSON()
		require.NoError(t, err)
		require.Contains(t, string(raw), enabled)
	}
}

// What features owe the outside world is cleared away with them switched off, too.
func TestCleanUpNeedsNoFeature(t *testing.T) {
	for _, settings := range [][]string{nil, {"ORCH_STOP_STATUS_ENABLED=false", "ORCH_MERGE_GATE_ENABLED=false"}} {
		v := open(t, settings...)
		for _, kind := range []stage.EffectKind{orchestrator.EffectCancel, orchestrator.EffectRelease, stage.EffectTidy} {
			require.NotNil(t, v.Engine.Runners[kind], "%s with %v", kind, settings)
		}
	}
}

// The table of switches names real ones with their real defaults.
func TestFeaturesDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| feature | switch |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	defaults := map[string]string{}
	for _, s := range app.List(nil) {
		defaults[s.Name] = s.Default
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[2], "`") {
			continue
		}
		rows++
		for name := range strings.SplitSeq(cells[2], ",") {
			name = strings.Trim(name, " `")
			require.Contains(t, defaults, name)
			require.Equal(t, strings.TrimSpace(cells[3]), defaults[name], name)
		}
	}
	require.Equal(t, 16, rows)
}

func load(t testing.TB, environ []string) app.Settings {
	t.Helper()
	s, err := app.Load(environ)
	require.NoError(t, err)
	return s
}
