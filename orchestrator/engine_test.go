package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// One card from To Analyse to done.
func TestJourney(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "Cache the tiles")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		task := r.task(item)
		require.Equal(r, []string{"APP-1", "feature/APP-1-cache-the-tiles", appRepo}, []string{task.WorkItemID, task.Branch, task.Repo})
		require.Equal(r, stage.HoldApproval, task.State.Hold)
		require.Equal(r, stage.StatusInReview, r.status(appProject, item))
		require.False(r, task.BRDReviewStartedAt.IsZero())
		require.NotEmpty(r, r.place.Remote(appRepo, task.Branch), "the branch is published from the start")

		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		task = r.task(item)
		require.Equal(r, stage.Done, task.State.Stage)
		require.Equal(r, stage.StatusDone, r.status(appProject, item))
		require.Equal(r, "kim", task.ApprovedBy)
		require.False(r, task.BRDReviewEndedAt.IsZero())
		require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer, stage.Reviewer, stage.Tester, stage.Deployer, stage.Deployer}, r.roles())
		require.Equal(r, 1, r.host.Merges())
		require.Empty(r, r.open(), "nothing is left to do")
		require.Empty(r, r.place.Checkouts(), "the workspace is removed")

		runs, err := r.store.AgentRuns(context.Background(), task.ID)
		require.NoError(r, err)
		require.Len(r, runs, 7)
		require.Equal(r, usage(), runs[0].Usage)
		results, err := r.store.GateResults(context.Background(), task.ID)
		require.NoError(r, err)
		for _, g := range results {
			require.NotEmpty(r, g.Verdict.Reason)
		}
		var shown []stage.Status
		for _, m := range r.board.Moves() {
			shown = append(shown, m.To)
		}
		require.Equal(r, []stage.Status{
			stage.StatusAnalysis, stage.StatusInReview, stage.StatusInProgress, stage.StatusCodeReview, stage.StatusInProgress, stage.StatusDeploying, stage.StatusDone,
		}, shown)
		require.Greater(r, r.replays(), 15, "the story can be told again")
		require.True(r, contains(r.comments(appProject, item), "350 tokens in (300 cached), 20 out, $0.0015"), "what it cost is said")
		said := r.comments(appProject, item)
		require.True(r, contains(said, "requirements.md: https://git.example.org/acme/app/blob/"), "%v", said)
		require.True(r, contains(said, "deploy-report.md: https://git.example.org/acme/app/blob/"+task.State.Head+"/docs/work/APP-1/deploy-report.md"), "%v", said)
		require.False(r, contains(said, "/blob/feature/"), "a branch may be deleted when it is merged")
		require.Contains(r, r.notices(), "approval needed")
	})
}

// Whatever comes back of our own changes starts nothing.
func TestFeedbackLoopIsInert(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		echo := func() { // the board's webhook of every change, ours too, whose author nobody knows
			r.hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, Status: true})
		}
		r.move(appProject, item, stage.StatusToAnalyse)
		for range 40 {
			echo()
			r.settle(250 * time.Millisecond)
		}
		r.move(appProject, item, stage.StatusApproved)
		for range 120 {
			echo()
			r.settle(500 * time.Millisecond)
		}
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Len(r, r.roles(), 7)
	})
}

func TestQG0Refuses(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(5 * time.Second)
		list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{})
		require.NoError(r, err)
		require.Empty(r, list)
		require.Equal(r, stage.StatusBlocked, r.status(appProject, item))
		require.True(r, contains(r.comments(appProject, item), "the title is empty"))

		i, err := r.board.Item(context.Background(), appProject, item)
		require.NoError(r, err)
		i.Title = "Now with a title"
		r.board.Put(i)
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
	})
}

// A new item is judged and logged; it starts nothing.
func TestCreatedItemStartsNothing(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.place0(appProject, item, stage.StatusToAnalyse)
		r.hook(tracker.Hook{Kind: tracker.HookItemCreated, ProjectID: appProject, ItemID: item})
		r.settle(5 * time.Second)
		list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{})
		require.NoError(r, err)
		require.Empty(r, list)
	})
}

func TestNamesDoNotCollide(t *testing.T) {
	run(t, func(r *rig) {
		for _, id := range []string{"one", "two", "three"} {
			r.board.Put(tracker.Item{ID: id, ProjectID: appProject, Sequence: 7, Title: "Same title", Description: "d"})
			r.move(appProject, id, stage.StatusToAnalyse)
		}
		r.settle(time.Minute)
		seen := map[string]bool{}
		for _, id := range []string{"one", "two", "three"} {
			task := r.task(id)
			require.False(r, seen[task.WorkItemID] || seen[task.Branch])
			seen[task.WorkItemID], seen[task.Branch] = true, true
		}
	})
}

// Many starts of one item make one task, whoever wins.
func TestConcurrentStartsMakeOneTask(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.place0(appProject, item, stage.StatusToAnalyse)
		for range 20 {
			h := orchestrator.TrackerJob(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: appProject, ItemID: item, Status: true})
			h.Key = "" // without the order that a key gives
			_, err := r.store.Put(context.Background(), h)
			require.NoError(r, err)
		}
		r.settle(20 * time.Second)
		list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{})
		require.NoError(r, err)
		require.Len(r, list, 1)
		require.Equal(r, 1, count(r.roles(), stage.Analyst))
	})
}

func TestRejectionCarriesTheReason(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.board.Say(item, "kim", "Mention the offline case.")
		r.move(appProject, item, stage.StatusRejected)
		r.settle(10 * time.Second)
		require.Equal(r, 2, count(r.roles(), stage.Analyst))
		prompt := r.place.Runs()[1].Prompt
		require.Contains(r, prompt, "    Mention the offline case.")
		require.Equal(r, "Mention the offline case.", r.place.Runs()[1].Env["SIGNALBOX_FEEDBACK"])
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
	})
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.move(appProject, item, stage.StatusRejected)
		r.settle(10 * time.Second)
		require.Equal(r, orchestrator.NoReason, r.place.Runs()[1].Env["SIGNALBOX_FEEDBACK"])
	})
}

func TestQuestionsWaitForAnAnswer(t *testing.T) {
	run(t, func(r *rig) {
		r.place.SetScript(instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Run == 1 {
				files[c.Env["SIGNALBOX_DOCS"]+"/questions.md"] = "Which zoom levels?"
				return work.Result{Kind: work.ResultOK}
			}
			delete(files, c.Env["SIGNALBOX_DOCS"]+"/questions.md")
			return goodAgent(ctx, c, files)
		}))
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.Equal(r, stage.HoldNeedsInput, r.task(item).State.Hold)
		require.Equal(r, stage.StatusNeedsInput, r.status(appProject, item))
		require.True(r, contains(r.comments(appProject, item), "Which zoom levels?"))
		r.board.Say(item, "kim", "All of them.")
		r.move(appProject, item, stage.StatusInProgress)
		r.settle(10 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		require.Contains(r, r.place.Runs()[1].Prompt, "All of them.")
	})
}

func TestRedCIGoesBackUntilRetriesAreUsedUp(t *testing.T) {
	run(t, func(r *rig) {
		r.setCI(githost.CheckFailed)
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(10 * time.Minute)
		task := r.task(item)
		require.Equal(r, stage.Development, task.State.Stage)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.Equal(r, stage.StatusBlocked, r.status(appProject, item))
		require.Equal(r, 4, count(r.roles(), stage.Developer), "once, and three retries")
		require.Contains(r, r.notices(), "task error")
		require.Contains(r, r.place.Runs()[3].Env["SIGNALBOX_FEEDBACK"], "build failed")

		r.setCI(githost.CheckPassed)
		r.move(appProject, item, stage.StatusInProgress)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage, "a person's word starts anew")
	})
}

// A webhook that is lost costs a while, not the task.
func TestLostCIWebhook(t *testing.T) {
	run(t, func(r *rig) {
		r.setCI("")
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		task := r.task(item)
		require.Equal(r, stage.Development, task.State.Stage)
		r.settle(time.Hour)
		require.Equal(r, task.State.Stage, r.task(item).State.Stage, "no result is no verdict")
		r.host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// The timer that looks at CI again holds no other event up.
func TestCITimerHoldsNothingUp(t *testing.T) {
	runWith(t, func(r *rig) { r.opt.Stage.CIPoll = time.Hour }, func(r *rig) {
		item := r.card(appProject, "x")
		r.setCI("")
		r.toDone(appProject, item)
		task := r.task(item)
		r.host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.hostHook(githost.Hook{Kind: githost.HookCI, Repo: appRepo, SHA: task.State.Head, Branch: task.Branch})
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

func TestHostWebhooks(t *testing.T) {
	run(t, func(r *rig) {
		r.setCI("")
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		task := r.task(item)
		head := task.State.Head
		old := r.place.Runs()[0].Env["SIGNALBOX_SHA"]
		r.host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed})
		for _, h := range []githost.Hook{
			{Kind: githost.HookCI, Repo: appRepo, SHA: old, Branch: task.Branch}, // of an older head
			{Kind: githost.HookCI, Repo: "acme/unknown", SHA: head},              // of a repository that nobody registered
			{Kind: githost.HookCI, Repo: appRepo, SHA: "f00", Branch: "main"},    // of no task's branch
			{Kind: githost.HookPush, Repo: appRepo, Branch: task.Branch},
		} {
			r.hostHook(h)
			r.settle(100 * time.Millisecond)
			require.Equal(r, stage.Development, r.task(item).State.Stage)
		}
		r.hostHook(githost.Hook{Kind: githost.HookCI, Repo: appRepo, SHA: head}) // the branch is asked for
		r.settle(500 * time.Millisecond)
		require.Equal(r, stage.Review, r.task(item).State.Stage)
	})
}

// A merge by a person ends the task, and the agent that is at work.
func TestMergedByAPerson(t *testing.T) {
	run(t, func(r *rig) {
		r.place.SetScript(instead(stage.Reviewer, func(ctx context.Context, _ work.Command, _ map[string]string) work.Result {
			<-ctx.Done()
			return work.Result{Kind: work.ResultCancelled}
		}))
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		task := r.task(item)
		require.Equal(r, stage.Review, task.State.Stage)
		r.mergedByHand(task)
		r.settle(10 * time.Second)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Empty(r, r.open())
		require.Equal(r, 1, count(r.roles(), stage.Reviewer))
	})
}

func TestSelfHostingWaitsForConfirmDeploy(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(selfProject, "x")
		r.toDone(selfProject, item)
		task := r.task(item)
		require.Equal(r, stage.HoldConfirm, task.State.Hold)
		require.Equal(r, stage.StatusAwaitingDeploy, r.status(selfProject, item))
		require.Zero(r, r.host.Merges())
		r.move(selfProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Zero(r, r.host.Merges(), "Approved is no deploy trigger")
		r.move(selfProject, item, stage.StatusConfirmDeploy)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, stage.StatusMonitoring, r.status(selfProject, item))
		require.Equal(r, 1, r.host.Merges())
	})
}

func TestMergeConflictGoesBackToDevelopment(t *testing.T) {
	run(t, func(r *rig) {
		var first string
		r.place.SetScript(instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Stage == stage.DeployStaging && first == "" {
				first = c.Env["SIGNALBOX_SHA"]
			}
			return goodAgent(ctx, c, files)
		}))
		item := r.card(appProject, "x")
		r.host.FailWith(nil)
		r.place.OnPush = func(repo, branch, sha string) {
			r.pushed(repo, branch, sha)
			if count(r.roles(), stage.Developer) == 1 {
				r.host.Conflict(sha)
			}
		}
		r.toDone(appProject, item)
		r.settle(5 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, 2, count(r.roles(), stage.Developer))
		require.NotEmpty(r, first)
	})
}
