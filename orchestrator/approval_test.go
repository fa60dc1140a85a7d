package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Approved while the analyst writes anew what was rejected: the agent goes on working, the
// card says so and goes back, and what is approved later are the new files.
func TestApprovedWhileItIsWrittenAnew(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		r.Place.SetScript(orchestratortest.Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := orchestratortest.GoodAgent(ctx, c, files)
			if c.Run == 2 {
				time.Sleep(time.Minute)
				files[c.Env["SIGNALBOX_DOCS"]+"/requirements.md"] = "The limits are 3 and 5."
			}
			return result
		}))
		item := r.Card(orchestratortest.App, "x")
		r.Move(orchestratortest.App, item, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		rejected := r.Task(item).State.Head
		r.Move(orchestratortest.App, item, stage.StatusRejected)
		r.Settle(10 * time.Second)
		r.Move(orchestratortest.App, item, stage.StatusApproved)
		r.Settle(10 * time.Second)
		require.Equal(r, stage.Analysis, r.Task(item).State.Stage)
		require.Equal(r, stage.Analyst, r.Task(item).State.Active)
		require.Equal(r, stage.StatusAnalysis, r.Status(orchestratortest.App, item))
		require.True(r, r.Commented(orchestratortest.App, item, "the analyst is at work; look at what it writes when it has finished, and set Approved then"))
		r.Settle(2 * time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Analyst}, r.Roles(), "it was not ended")
		require.Equal(r, stage.HoldApproval, r.Task(item).State.Hold)
		require.NotEqual(r, rejected, r.Task(item).State.Head)
		r.Move(orchestratortest.App, item, stage.StatusApproved)
		r.Settle(time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage)
	})
}

// Approved with questions open is answered with where they are; what was answered is not
// put again when the file stays as it is.
func TestQuestionsBlockApprovalAndAreAskedOnce(t *testing.T) {
	again := false
	script := orchestratortest.Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		name := c.Env["SIGNALBOX_DOCS"] + "/questions.md"
		switch {
		case c.Run == 1:
			files[name] = "Which zoom levels?"
		case c.Run == 2 && again:
			files[name] = "Which zoom levels? And which regions?"
		}
		return orchestratortest.GoodAgent(ctx, c, files)
	})
	for _, again = range []bool{false, true} {
		orchestratortest.Run(t, func(r *orchestratortest.Rig) {
			r.Place.SetScript(script)
			r.Projects[1].WebURL = "https://git.example.org/acme/app"
		}, func(r *orchestratortest.Rig) {
			item := r.Card(orchestratortest.App, "x")
			r.Move(orchestratortest.App, item, stage.StatusToAnalyse)
			r.Settle(10 * time.Second)
			r.Move(orchestratortest.App, item, stage.StatusApproved)
			r.Settle(10 * time.Second)
			task := r.Task(item)
			require.Equal(r, stage.Analysis, task.State.Stage, "although all files are there")
			require.Equal(r, stage.HoldNeedsInput, task.State.Hold)
			require.Equal(r, stage.StatusNeedsInput, r.Status(orchestratortest.App, item))
			require.True(r, r.Commented(orchestratortest.App, item, "questions are open; answer them in a comment and set In Progress"))
			require.True(r, r.Commented(orchestratortest.App, item, "questions.md: https://git.example.org/acme/app/blob/"+task.State.Head+"/docs/work/"+task.WorkItemID+"/questions.md"))
			require.Equal(r, "Answer in a comment on the card, then set In Progress", r.Explain(item).Blockers[0].Do)

			r.Board.Say(item, "kim", "All of them.")
			r.Move(orchestratortest.App, item, stage.StatusInProgress)
			r.Settle(10 * time.Second)
			if again {
				require.Equal(r, stage.HoldNeedsInput, r.Task(item).State.Hold, "a new question is put")
				require.True(r, r.Commented(orchestratortest.App, item, "And which regions?"))
				return
			}
			require.Equal(r, stage.HoldApproval, r.Task(item).State.Hold)
			r.Move(orchestratortest.App, item, stage.StatusApproved)
			r.Settle(time.Minute)
			require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Comments(orchestratortest.App, item))
			asked := 0
			for _, text := range r.Comments(orchestratortest.App, item) {
				if contains([]string{text}, "Questions are open:") {
					asked++
				}
			}
			require.Equal(r, 1, asked)
		})
	}
}
