package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Approved while the analyst writes anew what was rejected: the agent goes on working, the
// card says so and goes back, and what is approved later are the new files.
func TestApprovedWhileItIsWrittenAnew(t *testing.T) {
	run(t, func(r *rig) {
		r.place.SetScript(instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := goodAgent(ctx, c, files)
			if c.Run == 2 {
				time.Sleep(time.Minute)
				files[c.Env["SIGNALBOX_DOCS"]+"/requirements.md"] = "The limits are 3 and 5."
			}
			return result
		}))
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		rejected := r.task(item).State.Head
		r.move(appProject, item, stage.StatusRejected)
		r.settle(10 * time.Second)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(10 * time.Second)
		require.Equal(r, stage.Analysis, r.task(item).State.Stage)
		require.Equal(r, stage.Analyst, r.task(item).State.Active)
		require.Equal(r, stage.StatusAnalysis, r.status(appProject, item))
		require.True(r, contains(r.comments(appProject, item), "the analyst is at work; look at what it writes when it has finished, and set Approved then"))
		r.settle(2 * time.Minute)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Analyst}, r.roles(), "it was not ended")
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		require.NotEqual(r, rejected, r.task(item).State.Head)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// Approved with questions open is answered with where they are; what was answered is not
// put again by whoever leaves the file as it is.
func TestQuestionsBlockApprovalAndAreAskedOnce(t *testing.T) {
	again := false
	script := instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		name := c.Env["SIGNALBOX_DOCS"] + "/questions.md"
		switch {
		case c.Run == 1:
			files[name] = "Which zoom levels?"
		case c.Run == 2 && again:
			files[name] = "Which zoom levels? And which regions?"
		}
		return goodAgent(ctx, c, files)
	})
	for _, again = range []bool{false, true} {
		runWith(t, func(r *rig) { r.place.SetScript(script); r.project[1].WebURL = "https://git.example.org/acme/app" }, func(r *rig) {
			item := r.card(appProject, "x")
			r.move(appProject, item, stage.StatusToAnalyse)
			r.settle(10 * time.Second)
			r.move(appProject, item, stage.StatusApproved)
			r.settle(10 * time.Second)
			task := r.task(item)
			require.Equal(r, stage.Analysis, task.State.Stage, "although all files are there")
			require.Equal(r, stage.HoldNeedsInput, task.State.Hold)
			require.Equal(r, stage.StatusNeedsInput, r.status(appProject, item))
			require.True(r, contains(r.comments(appProject, item), "questions are open; answer them in a comment and set In Progress"))
			require.True(r, contains(r.comments(appProject, item), "questions.md: https://git.example.org/acme/app/blob/"+task.State.Head+"/docs/work/"+task.WorkItemID+"/questions.md"))
			require.Equal(r, "Answer in a comment on the card, then set In Progress", r.why(item).Blockers[0].Do)

			r.board.Say(item, "kim", "All of them.")
			r.move(appProject, item, stage.StatusInProgress)
			r.settle(10 * time.Second)
			if again {
				require.Equal(r, stage.HoldNeedsInput, r.task(item).State.Hold, "a new question is put")
				require.True(r, contains(r.comments(appProject, item), "And which regions?"))
				return
			}
			require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
			r.move(appProject, item, stage.StatusApproved)
			r.settle(time.Minute)
			require.Equal(r, stage.Done, r.task(item).State.Stage, r.comments(appProject, item))
			asked := 0
			for _, text := range r.comments(appProject, item) {
				if contains([]string{text}, "Questions are open:") {
					asked++
				}
			}
			require.Equal(r, 1, asked)
		})
	}
}
