package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Approved while the analyst writes anew what was rejected: the agent goes on working, the
// card says so and goes back, and what is approved later are the new files.
func TestApprovedWhileItIsWrittenAnew(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := GoodAgent(ctx, c, files)
			if c.Run == 2 {
				time.Sleep(time.Minute)
				files[c.Env["SIGNALBOX_DOCS"]+"/requirements.md"] = "The limits are 3 and 5."
			}
			return result
		}))
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		rejected := r.Task(item).State.Head
		r.Set(item, stage.StatusRejected)
		r.Settle(10 * time.Second)
		r.Set(item, stage.StatusApproved)
		r.Settle(10 * time.Second)
		r.Stands(item, stage.Analysis)
		require.Equal(r, stage.Analyst, r.Task(item).State.Active)
		require.Equal(r, stage.StatusAnalysis, r.Status(App, item))
		require.True(r, r.Commented(App, item, "the analyst is at work; look at what it writes when it has finished, and set Approved then"))
		r.Settle(2 * time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Analyst}, r.Roles(), "it was not ended")
		r.Waits(item, stage.HoldApproval)
		require.NotEqual(r, rejected, r.Task(item).State.Head)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

// Approved with questions open is answered with where they are; what was answered is not
// put again when the file stays as it is.
func TestQuestionsBlockApprovalAndAreAskedOnce(t *testing.T) {
	again := false
	script := Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		name := c.Env["SIGNALBOX_DOCS"] + "/questions.md"
		switch {
		case c.Run == 1:
			files[name] = "Which zoom levels?"
		case c.Run == 2 && again:
			files[name] = "Which zoom levels? And which regions?"
		}
		return GoodAgent(ctx, c, files)
	})
	for _, again = range []bool{false, true} {
		Run(t, func(r *Rig) {
			r.Place.SetScript(script)
			r.Projects[1].WebURL = "https://git.example.org/acme/app"
		}, func(r *Rig) {
			item := r.Begin("x")
			r.Settle(10 * time.Second)
			r.Set(item, stage.StatusApproved)
			r.Settle(10 * time.Second)
			task := r.Task(item)
			require.Equal(r, stage.Analysis, task.State.Stage, "although all files are there")
			require.Equal(r, stage.HoldNeedsInput, task.State.Hold)
			require.Equal(r, stage.StatusNeedsInput, r.Status(App, item))
			require.True(r, r.Commented(App, item, "questions are open; answer them in a comment and set In Progress"))
			require.True(r, r.Commented(App, item, "questions.md: https://git.example.org/acme/app/blob/"+task.State.Head+"/docs/work/"+task.WorkItemID+"/questions.md"))
			require.Equal(r, "Answer in a comment on the card, then set In Progress", r.Explain(item).Blockers[0].Do)

			r.Board.Say(item, "kim", "All of them.")
			r.Set(item, stage.StatusInProgress)
			r.Settle(10 * time.Second)
			if again {
				require.Equal(r, stage.HoldNeedsInput, r.Task(item).State.Hold, "a new question is put")
				require.True(r, r.Commented(App, item, "And which regions?"))
				return
			}
			r.Waits(item, stage.HoldApproval)
			r.Set(item, stage.StatusApproved)
			r.Settle(time.Minute)
			r.Stands(item, stage.Done)
			asked := 0
			for _, text := range r.Comments(App, item) {
				if contains([]string{text}, "Questions are open:") {
					asked++
				}
			}
			require.Equal(r, 1, asked)
		})
	}
}
