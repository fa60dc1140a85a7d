package orchestrator_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// hears has several people press buttons of the newest message before anything is decided.
func (k talk) hears(acts ...messenger.Act) {
	k.Helper()
	id, _ := k.buttons()
	for _, a := range acts {
		a.ID, a.Message = a.By.ID+a.Choice, id
		require.NoError(k, k.Hear(context.Background(), a))
	}
	k.Settle(time.Hour)
}

// STOP in the chat waits for no other act there: not for a question that the chat refuses, nor for a tracker that does not answer.
func TestChatStopsBesideWhatFails(t *testing.T) {
	for label, fail := range map[string]func(talk){
		"Reject":  func(k talk) { k.Rig.Chat.FailCall("Answer", messenger.ErrUnreachable) },
		"Approve": func(k talk) { k.Board.FailWith(&fault.Error{Text: "the tracker is down", Again: true}) },
	} {
		t.Run(label, func(t *testing.T) {
			withChat(t, func(r *Rig, _ *admin.Chat) {
				r.Projects[0].People.Separate = true
				r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{stopFeature(r)} }
			}, func(k talk) {
				item := k.Begin("x")
				k.Settle(10 * time.Second)
				id, _ := k.buttons()
				say, stop := k.choice(label), k.choice("Stop")
				fail(k)
				k.Rig.Chat.Do(annInChat, id, say, "")
				k.Rig.Chat.Do(annInChat, id, stop, "")
				for range 60 {
					k.Rig.Chat.Take(context.Background(), k.Hear)
					k.Settle(time.Second)
				}
				require.Empty(k, read(k, k.Store.Tasks, task.Filter{TrackerIssueID: item, Live: true}))
			})
		})
	}
}

// A notice that comes late has no button for what is open by then: it tells of something else.
func TestLateNotice(t *testing.T) {
	withChat(t, func(r *Rig, _ *admin.Chat) {
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Run <= 2 {
				files[c.Env["SIGNALBOX_DOCS"]+"/"+stage.QuestionsFile] = []string{"", "which zoom?", "delete the old tiles?"}[c.Run]
			}
			return GoodAgent(ctx, c, files)
		}))
	}, func(k talk) {
		k.Rig.Chat.FailCall("Send", &fault.Error{Text: "the chat is down", Again: true})
		item := k.Begin("x")
		k.Settle(10 * time.Second)
		k.Board.Say(item, "kim", "zoom 12")
		k.Set(item, stage.StatusInProgress)
		k.Settle(10 * time.Second)
		k.Rig.Chat.FailCall("Send", nil)
		k.Settle(10 * time.Minute)
		for _, m := range k.Rig.Chat.Messages() {
			answers := slices.ContainsFunc(m.Shown.Choices, func(c messenger.Choice) bool { return c.Label == "Answer" })
			require.Equal(k, strings.Contains(strings.Join(m.Shown.Lines, " "), "delete the old tiles?"), answers)
		}
	})
}

// A rejection of what was decided meanwhile rejects nothing that comes after it. Two of one moment are both heard, with their reasons; the
// second is told so where the first was acted on before.
func TestWordsAtOneMoment(t *testing.T) {
	withChat(t, nil, func(k talk) {
		k.Place.SetScript(Instead(stage.Architect, Hang))
		item := k.Begin("x")
		k.Settle(10 * time.Second)
		read := k.Rig.Task(item)
		reject := k.choice("Reject")
		k.hears(messenger.Act{By: annInChat, Choice: k.choice("Approve")}, messenger.Act{By: leeInChat, Choice: reject, Text: "no limits are named"})
		require.False(k, k.Rig.Commented(App, item, "the design is rejected"))
		w := admin.Word{On: stage.OnRejected, Why: "no limits are named", Of: read.State.Head}
		require.ErrorContains(k, admin.Decide(context.Background(), k.Rig.Engine, read.ID, w, holder("lee")), "what was read is decided")
	})
	withChat(t, nil, func(k talk) {
		item := k.Begin("x")
		k.Settle(10 * time.Second)
		reject := k.choice("Reject")
		hold := queue.Hold{Subject: "repo/acme/app", Name: "test"} // no run begins between them
		require.NoError(k, k.Rig.Store.Hold(context.Background(), hold))
		k.hears(messenger.Act{By: annInChat, Choice: reject, Text: "no limits are named"}, messenger.Act{By: leeInChat, Choice: reject, Text: "never store positions"})
		require.NoError(k, k.Rig.Store.Free(context.Background(), hold))
		k.Settle(time.Minute)
		for _, why := range []string{"no limits are named", "never store positions"} {
			if !k.Rig.Commented(App, item, why) {
				require.Contains(k, k.told(), "is decided")
				break
			}
			require.Contains(k, k.Place.Runs()[1].Prompt, why)
		}
	})
}

// Who has started a task on the service's own board does not approve it by an account of the git host, or in another spelling.
func TestSeparateByOtherNames(t *testing.T) {
	withChat(t, func(r *Rig, _ *admin.Chat) {
		r.Projects[0].People.Separate, r.Projects[0].People.AtHost = true, []string{"*"}
		r.Place.SetScript(meddler(same))
	}, func(k talk) {
		item := k.Card(App, "x")
		set := func(by string, to stage.Status) {
			k.MoveAs(by, App, item, to)
			k.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: by, Status: true, Via: stage.ViaBoard, Proof: stage.ProofProvider})
			k.Settle(5 * time.Minute)
		}
		set("Ann@example.org", stage.StatusToAnalyse)
		require.Contains(k, k.press(annInChat, "Approve"), "has started the task")
		set("lee@example.org", stage.StatusApproved)
		waits := k.Rig.Task(item)
		k.Host.AddReview(AppRepo, waits.Branch, githost.Review{Author: "ann-codes", State: githost.ReviewApproved, Permission: githost.PermissionWrite, SHA: waits.State.Head})
		k.HostHook(githost.Hook{Kind: githost.HookReview, State: string(githost.ReviewApproved), Repo: AppRepo, Branch: waits.Branch, Number: waits.State.PR, SHA: waits.State.Head, Sender: "ann-codes"})
		k.Settle(5 * time.Minute)
		w, _ := vouched(k.Rig, item)
		require.Equal(k, task.FateRefused, w.Fate)
	})
}

// An operator's STOP overtakes an event that waits for the git host, as the board's does.
func TestStopBesideTheHost(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Reviewer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			out := GoodAgent(ctx, c, files)
			delete(files, work.ReportPath) // the host's reviews are read
			r.Host.FailWith(&fault.Error{Text: "the git host is down", Again: true})
			return out
		}))
		item := r.Finish("x")
		r.Settle(time.Minute)
		r.Stands(item, stage.Review)
		require.NoError(r, admin.Stop(context.Background(), r.Engine, r.Task(item).ID, holder("kim")))
		r.Settle(time.Minute)
		require.Empty(r, read(r, r.Store.Tasks, task.Filter{TrackerIssueID: item, Live: true}))
	})
}
