package livemessage_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

var update = flag.Bool("update", false, "write the golden files")

func view(change func(*livemessage.View)) livemessage.View {
	begun := time.Date(2031, 3, 4, 9, 0, 0, 0, time.UTC)
	v := livemessage.View{
		Now: begun.Add(30 * time.Minute),
		Task: task.Task{
			ID: 7, WorkItemID: "GPX-42", Title: "Cache <tiles> & tracks 🚦", Branch: "feature/GPX-42-cache", CreatedAt: begun, UpdatedAt: begun,
			State: stage.State{Stage: stage.Analysis, Active: stage.Analyst},
		},
	}
	change(&v)
	return v
}

func run(s stage.Stage, at time.Time, input, read, output, cost int64, model string) task.AgentRun {
	return task.AgentRun{
		Stage: s, Started: at, Finished: at.Add(4 * time.Minute), Usage: work.Usage{Model: model, Input: input, CacheRead: read, CacheCreate: 1000, Output: output, MicroUSD: cost},
	}
}

func TestRender(t *testing.T) {
	reviewed := func(v *livemessage.View) {
		at := v.Task.CreatedAt
		v.Runs = append(v.Runs, run(stage.Analysis, at, 1200, 150_000, 3400, 412_700, "sonnet-4-5"))
		v.Task.BRDReviewStartedAt, v.Task.State.Active = at.Add(5*time.Minute), ""
		v.Task.State.Hold, v.Task.State.HoldReason = stage.HoldApproval, "a human's verdict on the requirements"
	}
	developed := func(v *livemessage.View) {
		reviewed(v)
		at := v.Task.CreatedAt
		v.Task.BRDReviewEndedAt, v.Task.State.Hold = at.Add(68*time.Minute), stage.HoldNone
		v.Task.State.Stage, v.Task.State.PRURL = stage.Development, "https://git.example.org/acme/gpxflow/pull/7"
		for n := range 2 {
			v.Runs = append(v.Runs, run(stage.Development, at.Add(time.Duration(70+10*n)*time.Minute), 9000, 800_000, 22_000, 3_120_000, "opus-4-7"))
		}
	}
	for name, v := range map[string]livemessage.View{
		"started": view(func(*livemessage.View) {}),
		"waiting": view(func(v *livemessage.View) {
			v.Waits = []string{"waits for a place: one task at a time in acme/gpxflow, and GPX-41 is before it", "waits: acme/gpxflow is frozen: GPX-40 is degraded"}
		}),
		"dependent": view(func(v *livemessage.View) {
			v.Waits = []string{"waits for GPX-40, GPX-41"}
		}),
		"review": view(func(v *livemessage.View) {
			reviewed(v)
			v.Card = "https://board.example.org/p/42"
			v.Artifacts = "https://git.example.org/acme/gpxflow/tree/0123456789abcdef/docs/work/GPX-42"
		}),
		"nothing_to_approve": view(func(v *livemessage.View) {
			reviewed(v)
			v.Task.State.Refused = "requirements.md does not exist"
			v.Task.State.HoldReason = "the requirements cannot be approved: requirements.md does not exist"
		}),
		"blocked": view(func(v *livemessage.View) {
			developed(v)
			v.Task.State.Hold, v.Task.State.HoldReason = stage.HoldBlocked, "out of retries (3): build failed"
		}),
		"unpriced": view(func(v *livemessage.View) { // codex and gemini tell tokens alone
			developed(v)
			v.Runs = append(v.Runs, run(stage.Review, v.Task.CreatedAt, 100, 0, 20, 0, "gpt-5"))
		}),
		"questions": view(func(v *livemessage.View) {
			developed(v)
			v.Task.State.Hold, v.Task.State.HoldReason = stage.HoldNeedsInput, "Which zoom levels?"
		}),
		"confirm": view(func(v *livemessage.View) {
			developed(v)
			v.Task.State.Stage, v.Task.State.Phase = stage.Deploy, stage.PhaseAwait
			v.Task.State.Hold, v.Task.State.HoldReason = stage.HoldConfirm, "an operator's Confirm Deploy"
		}),
		"merging": view(func(v *livemessage.View) {
			developed(v)
			v.Task.State.Stage, v.Task.State.Phase = stage.Deploy, stage.PhaseMerge
		}),
		"development": view(developed),
		"stopping": view(func(v *livemessage.View) {
			developed(v)
			v.Task.State.Stage, v.Task.State.Stopping = stage.Deploy, true
		}),
		"done": view(func(v *livemessage.View) {
			developed(v)
			v.Task.State.Stage, v.Task.UpdatedAt = stage.Done, v.Task.CreatedAt.Add(27*time.Hour)
			v.Artifacts = "https://git.example.org/acme/gpxflow/tree/0123456789abcdef/docs/work/GPX-42"
		}),
		"cancelled": view(func(v *livemessage.View) {
			reviewed(v)
			v.Task.WorkItemID = task.Tombstone("GPX-42", 7, v.Now)
			v.Task.State.Stage, v.Task.State.Hold, v.Task.UpdatedAt = stage.Cancelled, stage.HoldNone, v.Now
		}),
	} {
		m := livemessage.Render(v)
		require.True(t, m.Silent)
		got := m.Title + "\n" + strings.Join(m.Lines, "\n") + "\n" + m.Link + "\n"
		file := filepath.Join("testdata", name+".golden")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got, name)
	}
}

func TestFeatureRefuses(t *testing.T) {
	_, err := livemessage.Feature(livemessage.Options{})
	require.ErrorContains(t, err, "required")
}

func Example_render() {
	m := livemessage.Render(livemessage.View{Task: task.Task{
		WorkItemID: "GPX-42", Title: "Cache tiles", State: stage.State{Stage: stage.Review, Active: stage.Reviewer},
	}})
	fmt.Println(m.Title)
	fmt.Println(m.Lines[0])
	// Output:
	// GPX-42: Cache tiles
	// review: the reviewer is at work
}
