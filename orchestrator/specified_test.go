package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// mute is a board whose comments cannot be read.
type mute struct{ orchestrator.Tracking }

func (mute) Comments(context.Context, string, string) ([]tracker.Comment, error) {
	return nil, errors.New("500")
}

// The reason of a rejection is the newest comment of a person; a fixed note when
// comments cannot be read.
func TestRejectionTakesTheNewestComment(t *testing.T) {
	reason := func(r *rig) string {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.board.Say(item, "kim", "The first word.")
		r.settle(time.Minute)
		r.board.Say(item, "lee", "The last word.")
		r.settle(time.Minute)
		_, err := r.board.AddComment(context.Background(), tracker.NewComment{ProjectID: appProject, ItemID: item, Author: stage.Stream, Key: "k", Body: "Our own word."})
		require.NoError(r, err)
		r.move(appProject, item, stage.StatusRejected)
		r.settle(10 * time.Second)
		require.Equal(r, 2, count(r.roles(), stage.Analyst))
		return r.place.Runs()[1].Env["SIGNALBOX_FEEDBACK"]
	}
	run(t, func(r *rig) { require.Equal(r, "The last word.", reason(r)) })
	runWith(t, func(r *rig) { r.tracker = mute{r.board} }, func(r *rig) { require.Equal(r, orchestrator.NoReason, reason(r)) })
}

// A person's review on the git host counts as the reviewer's: approval goes on, a
// request for changes goes back with it.
func TestReviewByAPerson(t *testing.T) {
	for state, want := range map[githost.ReviewState]stage.Stage{githost.ReviewApproved: stage.Testing, githost.ReviewChangesRequested: stage.Development} {
		run(t, func(r *rig) {
			r.place.SetScript(instead(stage.Reviewer, hang))
			item := r.card(appProject, "x")
			r.toDone(appProject, item)
			task := r.task(item)
			require.Equal(r, stage.Review, task.State.Stage)
			r.host.AddReview(appRepo, task.Branch, githost.Review{Author: "kim", Permission: githost.PermissionWrite, State: state, SHA: task.State.Head, Body: "name it otherwise", At: time.Now()})
			r.hostHook(githost.Hook{Kind: githost.HookReview, Repo: appRepo, Branch: task.Branch, SHA: task.State.Head})
			r.settle(500 * time.Millisecond)
			require.Equal(r, want, r.task(item).State.Stage)
			if want == stage.Development {
				require.Contains(r, r.task(item).State.Feedback, "name it otherwise")
			}
		})
	}
}

// A stranger's review ends no stage, whatever it says: the reviewer works on.
func TestReviewByAStranger(t *testing.T) {
	for _, state := range []githost.ReviewState{githost.ReviewApproved, githost.ReviewChangesRequested, githost.ReviewCommented} {
		run(t, func(r *rig) {
			r.place.SetScript(instead(stage.Reviewer, hang))
			item := r.card(appProject, "x")
			r.toDone(appProject, item)
			task := r.task(item)
			require.Equal(r, stage.Review, task.State.Stage)
			r.host.AddReview(appRepo, task.Branch, githost.Review{Author: "stranger", Permission: githost.PermissionRead, State: state, SHA: task.State.Head, At: time.Now()})
			r.hostHook(githost.Hook{Kind: githost.HookReview, Repo: appRepo, Branch: task.Branch, SHA: task.State.Head, State: string(state), Sender: "stranger"})
			r.settle(500 * time.Millisecond)
			require.Equal(r, task.State, r.task(item).State)
		})
	}
}

// A task that waits for another takes no agent's slot.
func TestWaitingTakesNoSlot(t *testing.T) {
	dependent(t, func(r *rig, _ *relations) {
		r.shutdown()
		r.opt.MaxConcurrency = 1
		r.start()
		first, second, third := r.card(appProject, "one"), r.card(appProject, "two"), r.card(appProject, "three")
		r.board.Block(second, first)
		for _, item := range []string{first, second, third} {
			r.move(appProject, item, stage.StatusToAnalyse)
			r.settle(100 * time.Millisecond)
		}
		r.settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(third).State.Hold, "the one behind it has worked")
		require.Equal(r, 2, count(r.roles(), stage.Analyst))
	})
}

// QG-0 of a new card only warns.
func TestSoftQG0IsLogged(t *testing.T) {
	var log bytes.Buffer
	runWith(t, func(r *rig) { r.log = slog.New(slog.NewTextHandler(&log, nil)) }, func(r *rig) {
		item := r.card(appProject, "")
		r.hook(tracker.Hook{Kind: tracker.HookItemCreated, ProjectID: appProject, ItemID: item})
		r.settle(5 * time.Second)
		require.Contains(r, log.String(), `level=WARN msg="work item created" item=item-1 repo=acme/app qg0=red reason="QG-0: the title is empty"`)
		require.Empty(r, r.board.Moves())
		require.Empty(r, r.comments(appProject, item))
	})
}

// A red CI result is logged and goes to the developer; nobody is alerted.
func TestRedCIAlertsNobody(t *testing.T) {
	var log bytes.Buffer
	runWith(t, func(r *rig) { r.log = slog.New(slog.NewTextHandler(&log, nil)) }, func(r *rig) {
		r.setCI(githost.CheckFailed)
		r.place.SetScript(instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Env["SIGNALBOX_FEEDBACK"] != "" {
				return hang(ctx, c, files)
			}
			return goodAgent(ctx, c, files)
		}))
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		before := r.notices()
		r.move(appProject, item, stage.StatusApproved)
		r.settle(10 * time.Second)
		task := r.task(item)
		r.hostHook(githost.Hook{Kind: githost.HookCI, Repo: appRepo, SHA: task.State.Head, Branch: task.Branch, State: string(githost.CheckFailed)})
		r.settle(time.Minute)
		require.Equal(r, 2, count(r.roles(), stage.Developer))
		require.Contains(r, log.String(), `msg="CI failed" task=1 repo=acme/app`)
		require.Equal(r, before, r.notices())
	})
}
