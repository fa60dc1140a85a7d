package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
)

// One card from To Analyse to done.
func TestJourney(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("Cache the tiles")
		r.Settle(10 * time.Second)
		task := r.Task(item)
		require.Equal(r, []string{"APP-1", "feature/APP-1-cache-the-tiles", AppRepo}, []string{task.WorkItemID, task.Branch, task.Repo})
		require.Equal(r, stage.HoldApproval, task.State.Hold)
		require.Equal(r, stage.StatusInReview, r.Status(App, item))
		require.NotZero(r, task.BRDReviewStartedAt)
		require.NotEmpty(r, r.Place.Remote(AppRepo, task.Branch), "the branch is published from the start")

		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		task = r.Task(item)
		require.Equal(r, stage.Done, task.State.Stage)
		require.Equal(r, stage.StatusDone, r.Status(App, item))
		require.Equal(r, "kim", task.ApprovedBy)
		require.NotZero(r, task.BRDReviewEndedAt)
		require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer, stage.Reviewer, stage.Tester, stage.Deployer, stage.Deployer}, r.Roles())
		require.Equal(r, 1, r.Host.Merges())
		require.Empty(r, r.Open(), "nothing is left to do")
		require.Empty(r, r.Place.Checkouts(), "the workspace is removed")

		runs := runsOf(r, task.ID)
		require.Len(r, runs, 7)
		require.Equal(r, memwork.Usage(), runs[0].Usage)
		results := read(r, r.Store.GateResults, task.ID)
		for _, g := range results {
			require.NotEmpty(r, g.Verdict.Reason)
		}
		var shown []stage.Status
		for _, m := range r.Board.Moves() {
			shown = append(shown, m.To)
		}
		require.Equal(r, []stage.Status{
			stage.StatusAnalysis, stage.StatusInReview, stage.StatusInProgress, stage.StatusCodeReview, stage.StatusInProgress, stage.StatusDeploying, stage.StatusDone,
		}, shown)
		require.Greater(r, r.Replays(), 15, "the story can be told again")
		require.True(r, r.Commented(App, item, "350 tokens in (300 cached), 20 out, $0.0015"), "what it cost is said")
		said := r.Comments(App, item)
		require.True(r, contains(said, "requirements.md: https://git.example.org/acme/app/blob/"), "%v", said)
		require.True(r, contains(said, "deploy-report.md: https://git.example.org/acme/app/blob/"+task.State.Head+"/docs/work/APP-1/deploy-report.md"), "%v", said)
		require.False(r, contains(said, "/blob/feature/"), "a branch may be deleted when it is merged")
		require.Contains(r, r.Notices(), "approval needed")
	})
}

func TestQG0Refuses(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("")
		r.Settle(5 * time.Second)
		require.Empty(r, read(r, r.Store.Tasks, task.Filter{}))
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))
		require.True(r, r.Commented(App, item, "the title is empty"))

		i := cardOf(r, item)
		i.Title = "Now with a title"
		r.Board.Put(i)
		r.Set(item, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		r.Waits(item, stage.HoldApproval)
	})
}

// A new item is judged and logged; it starts nothing.
func TestCreatedItemStartsNothing(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.MoveUnseen(App, item, stage.StatusToAnalyse)
		r.Hook(tracker.Hook{Kind: tracker.HookItemCreated, ProjectID: App, ItemID: item})
		r.Settle(5 * time.Second)
		require.Empty(r, read(r, r.Store.Tasks, task.Filter{}))
	})
}

// Many starts of one item make one task, whichever wins.
func TestConcurrentStartsMakeOneTask(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.MoveUnseen(App, item, stage.StatusToAnalyse)
		for range 20 {
			h := orchestrator.TrackerJob(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, Status: true})
			h.Key = "" // without the order that a key gives
			_, err := r.Store.Put(context.Background(), h)
			require.NoError(r, err)
		}
		r.Settle(20 * time.Second)
		require.Len(r, read(r, r.Store.Tasks, task.Filter{}), 1)
		require.Equal(r, 1, r.Ran(stage.Analyst))
	})
}

// A rejection without a comment has a reason too.
func TestRejectionCarriesTheReason(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.Set(item, stage.StatusRejected)
		r.Settle(10 * time.Second)
		require.Equal(r, orchestrator.NoReason, r.Place.Runs()[1].Env["SIGNALBOX_FEEDBACK"])
	})
}

func TestQuestionsWaitForAnAnswer(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Run == 1 {
				files[c.Env["SIGNALBOX_DOCS"]+"/questions.md"] = "# Questions\n\n## Open\n\nWhich zoom levels?"
				return work.Result{Kind: work.ResultOK}
			}
			delete(files, c.Env["SIGNALBOX_DOCS"]+"/questions.md")
			return GoodAgent(ctx, c, files)
		}))
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.Waits(item, stage.HoldNeedsInput)
		require.Equal(r, stage.StatusNeedsInput, r.Status(App, item))
		require.True(r, r.Commented(App, item, "Which zoom levels?"))
		require.Equal(r, "Waits for a human: Which zoom levels?", r.Explain(item).Summary)
		r.Board.Say(item, "kim", "All of them.")
		r.Set(item, stage.StatusInProgress)
		r.Settle(10 * time.Second)
		r.Waits(item, stage.HoldApproval)
		require.Contains(r, r.Place.Runs()[1].Prompt, "All of them.")
	})
}

func TestRedCIGoesBackUntilRetriesAreUsedUp(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI(githost.CheckFailed)
		item := r.Finish("x")
		r.Settle(10 * time.Minute)
		task := r.Task(item)
		require.Equal(r, stage.Development, task.State.Stage)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))
		require.Equal(r, 4, r.Ran(stage.Developer), "once, and three retries")
		require.Contains(r, r.Notices(), "task error")
		require.Contains(r, r.Place.Runs()[3].Env["SIGNALBOX_FEEDBACK"], "build failed")

		r.SetCI(githost.CheckPassed)
		r.Set(item, stage.StatusInProgress)
		r.Settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, "a person's word starts anew")
	})
}

// A webhook that is lost costs a while, not the task.
func TestLostCIWebhook(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI("")
		item := r.Finish("x")
		task := r.Task(item)
		require.Equal(r, stage.Development, task.State.Stage)
		r.Settle(time.Hour)
		require.Equal(r, task.State.Stage, r.Task(item).State.Stage, "no result is no verdict")
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.Settle(2 * time.Minute)
		r.Stands(item, stage.Done)
	})
}

// The timer that looks at CI again holds no other event up.
func TestCITimerHoldsNothingUp(t *testing.T) {
	Run(t, func(r *Rig) { r.Options.Stage.CIPoll = time.Hour }, func(r *Rig) {
		item := r.Card(App, "x")
		r.SetCI("")
		r.ToDone(App, item)
		task := r.Task(item)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: task.State.Head, Branch: task.Branch})
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

func TestHostWebhooks(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI("")
		item, other, third := r.Finish("x"), r.Finish("y"), r.Finish("z")
		task := r.Task(item)
		head := task.State.Head
		old := r.Place.Runs()[0].Env["SIGNALBOX_SHA"]
		r.Host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed})
		for _, h := range []githost.Hook{
			{Kind: githost.HookCI, Repo: AppRepo, SHA: old, Branch: task.Branch}, // of an older head
			{Kind: githost.HookCI, Repo: "acme/unknown", SHA: head},              // of a repository that nobody registered
			{Kind: githost.HookCI, Repo: AppRepo, SHA: "f00", Branch: "main"},    // of no task's branch
			{Kind: githost.HookPush, Repo: AppRepo, Branch: task.Branch},
		} {
			r.HostHook(h)
			r.Settle(100 * time.Millisecond)
			r.Stands(item, stage.Development)
		}
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: head}) // without a branch: the engine queries it
		r.Settle(500 * time.Millisecond)
		r.Stands(item, stage.Review)
		r.Stands(other, stage.Development)
		task = r.Task(other)
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.Host.Push(AppRepo, task.Branch, "moved on") // the host has no branch at the commit any more
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: task.State.Head, Branch: task.Branch})
		r.Settle(500 * time.Millisecond)
		r.Stands(other, stage.Review)
		r.Stands(third, stage.Development)
	})
}

// A merge by a person ends the task, and the agent that is at work.
func TestMergedByAPerson(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item, task := atReview(r)
		r.MergeByHand(task)
		r.Settle(10 * time.Second)
		r.Stands(item, stage.Done)
		require.Empty(r, r.Open())
		require.Equal(r, 1, r.Ran(stage.Reviewer))
	})
}

func TestSelfHostingWaitsForConfirmDeploy(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(Self, "x")
		r.ToDone(Self, item)
		r.Waits(item, stage.HoldConfirm)
		require.Equal(r, stage.StatusAwaitingDeploy, r.Status(Self, item))
		require.Zero(r, r.Host.Merges())
		r.Move(Self, item, stage.StatusApproved)
		r.Settle(time.Minute)
		require.Zero(r, r.Host.Merges(), "Approved is no deploy trigger")
		r.Move(Self, item, stage.StatusConfirmDeploy)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, stage.StatusMonitoring, r.Status(Self, item))
		require.Equal(r, 1, r.Host.Merges())
	})
}

// A host that takes a branch for one that conflicts, while git merges it, is a matter of people.
func TestRefusalWithoutAConflictIsForPeople(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.Place.OnPush = func(repo, branch, sha string) {
			r.Pushed(repo, branch, sha)
			r.Host.Conflict(sha)
		}
		r.ToDone(App, item)
		r.Settle(5 * time.Minute)
		task := r.Task(item)
		require.Equal(r, stage.Deploy, task.State.Stage)
		require.Equal(r, stage.StatusBlocked, r.Status(App, item))
		require.Contains(r, task.State.HoldReason, task.State.PRURL)
		require.Zero(r, task.State.Retries)
		require.Equal(r, 1, r.Ran(stage.Developer))
		require.Equal(r, 6, len(r.Roles()))
		r.Replays()
	})
}
