package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// The reason of a rejection is the newest comment of a person; a fixed note when
// comments cannot be read.
func TestRejectionTakesTheNewestComment(t *testing.T) {
	reason := func(r *Rig) string {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.Board.Say(item, "kim", "The first word.")
		r.Settle(time.Minute)
		r.Board.Say(item, "lee", "The last word.")
		r.Settle(time.Minute)
		_, err := r.Board.AddComment(context.Background(), tracker.NewComment{ProjectID: App, ItemID: item, Author: stage.Stream, Key: "k", Body: "Our own word."})
		require.NoError(r, err)
		r.Set(item, stage.StatusRejected)
		r.Settle(10 * time.Second)
		require.Equal(r, 2, r.Ran(stage.Analyst))
		return r.Place.Runs()[1].Env["SIGNALBOX_FEEDBACK"]
	}
	Run(t, nil, func(r *Rig) { require.Equal(r, "The last word.", reason(r)) })
	Run(t, func(r *Rig) { r.Board.FailCall("Comments", errors.New("500")) }, func(r *Rig) { require.Equal(r, orchestrator.NoReason, reason(r)) })
}

// Comments are read once for agents that follow each other, and again after one that a board of our own has told of.
func TestCommentsAreReadAgain(t *testing.T) {
	for _, told := range []bool{false, true} {
		Run(t, nil, func(r *Rig) {
			item := r.Card(App, "x")
			r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				if c.Role == stage.Architect {
					r.Board.Say(item, "kim", "The roof is red.")
				}
				if told && c.Role == stage.Architect {
					r.Engine.Heard(tracker.Hook{Kind: tracker.HookComment, ItemID: item})
				}
				return GoodAgent(ctx, c, files)
			})
			r.ToDone(App, item)
			for _, run := range r.Place.Runs() {
				if run.Role == stage.Developer {
					require.Equal(r, told, strings.Contains(run.Prompt, "The roof is red."))
				}
			}
			require.Equal(r, 1, r.Ran(stage.Developer))
		})
	}
}

// reviewed has a task in review, as it is before the host tells of a review of its head by a person.
func reviewed(r *Rig, by githost.Review) (item string, before task.Task) {
	r.Helper()
	r.Place.SetScript(Instead(stage.Reviewer, Hang))
	item = r.Finish("x")
	before = r.Task(item)
	require.Equal(r, stage.Review, before.State.Stage)
	by.SHA, by.At = before.State.Head, time.Now()
	r.Host.AddReview(AppRepo, before.Branch, by)
	r.HostHook(githost.Hook{
		Kind: githost.HookReview, Repo: AppRepo, Branch: before.Branch, SHA: by.SHA, State: string(by.State), Sender: by.Author,
	})
	r.Settle(500 * time.Millisecond)
	return item, before
}

// A person's review on the git host counts as the reviewer's: approval goes on, a
// request for changes goes back with it.
func TestReviewByAPerson(t *testing.T) {
	for state, want := range map[githost.ReviewState]stage.Stage{githost.ReviewApproved: stage.Testing, githost.ReviewChangesRequested: stage.Development} {
		Run(t, nil, func(r *Rig) {
			item, _ := reviewed(r, githost.Review{Author: "kim", Permission: githost.PermissionWrite, State: state, Body: "name it otherwise"})
			r.Stands(item, want)
			if want == stage.Development {
				require.Contains(r, r.Task(item).State.Feedback, "name it otherwise")
			}
		})
	}
}

// A stranger's review ends no stage, whatever it says: the reviewer works on.
func TestReviewByAStranger(t *testing.T) {
	for _, state := range []githost.ReviewState{githost.ReviewApproved, githost.ReviewChangesRequested, githost.ReviewCommented} {
		Run(t, nil, func(r *Rig) {
			item, task := reviewed(r, githost.Review{Author: "stranger", Permission: githost.PermissionRead, State: state})
			require.Equal(r, task.State, r.Task(item).State)
			if state != githost.ReviewCommented {
				require.Contains(r, r.Explain(item).LastNote, "the review of stranger does not count: the account may not write (read)")
			}
		})
	}
}

// QG-0 of a new card only warns.
func TestSoftQG0IsLogged(t *testing.T) {
	var log bytes.Buffer
	Run(t, func(r *Rig) {
		r.Deps = func(d *orchestrator.Deps) { d.Log = slog.New(slog.NewTextHandler(&log, nil)) }
	}, func(r *Rig) {
		item := r.Card(App, "")
		r.Hook(tracker.Hook{Kind: tracker.HookItemCreated, ProjectID: App, ItemID: item})
		r.Settle(5 * time.Second)
		require.Contains(r, log.String(), `level=WARN msg="work item created" item=item-1 repo=acme/app qg0=red reason="QG-0: the title is empty"`)
		require.Empty(r, r.Board.Moves())
		require.Empty(r, r.Comments(App, item))
	})
}

// A red CI result is logged and goes to the developer; nobody is alerted.
func TestRedCIAlertsNobody(t *testing.T) {
	var log bytes.Buffer
	Run(t, func(r *Rig) {
		r.Deps = func(d *orchestrator.Deps) { d.Log = slog.New(slog.NewTextHandler(&log, nil)) }
	}, func(r *Rig) {
		r.SetCI(githost.CheckFailed)
		r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Env["SIGNALBOX_FEEDBACK"] != "" {
				return Hang(ctx, c, files)
			}
			return GoodAgent(ctx, c, files)
		}))
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		before := r.Notices()
		r.Set(item, stage.StatusApproved)
		r.Settle(10 * time.Second)
		task := r.Task(item)
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: task.State.Head, Branch: task.Branch, State: string(githost.CheckFailed)})
		r.Settle(time.Minute)
		require.Equal(r, 2, r.Ran(stage.Developer))
		require.Contains(r, log.String(), `msg="CI failed" task=1 repo=acme/app`)
		require.Equal(r, before, r.Notices())
	})
}
