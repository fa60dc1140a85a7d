package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/livemessage"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

var (
	annInChat = messenger.Account{ID: "12345", Name: "Ann"}
	leeInChat = messenger.Account{ID: "2", Name: "Lee"}
	stranger  = messenger.Account{ID: "666", Name: "Mal"}
)

// talk is a rig whose chat people speak in.
type talk struct {
	*Rig
	*admin.Chat
}

func withChat(t *testing.T, prepare func(*Rig, *admin.Chat), test func(talk)) {
	t.Helper()
	c := &admin.Chat{Stop: true, Pages: "https://box.example.org"}
	Run(t, func(r *Rig) {
		c.Listener = r.Chat
		for i := range r.Projects {
			r.Projects[i].People.Accounts = map[string]string{"chat:12345": "ann@example.org", "chat:2": "lee@example.org"}
		}
		r.Effects = func(d *effects.Deps) { d.Dress = c.Dress }
		if prepare != nil {
			prepare(r, c)
		}
	}, func(r *Rig) {
		c.Engine = r.Engine
		test(talk{r, c})
	})
}

// buttons are those of the newest message that has some.
func (k talk) buttons() (message string, list []messenger.Choice) {
	for _, m := range slices.Backward(k.Rig.Chat.Messages()) {
		if len(m.Shown.Choices) > 0 {
			return m.ID, m.Shown.Choices
		}
	}
	return "", nil
}

func (k talk) labels() (out []string) {
	_, list := k.buttons()
	for _, c := range list {
		out = append(out, c.Label)
	}
	return out
}

// press presses a button of the newest message that has some, and returns what was told.
func (k talk) press(by messenger.Account, label string) string {
	k.Helper()
	id, _ := k.buttons()
	return k.do(by, id, k.choice(label), "")
}

func (k talk) do(by messenger.Account, message, choice, text string) string {
	k.Helper()
	k.Rig.Chat.Do(by, message, choice, text)
	k.Rig.Chat.Take(context.Background(), k.Hear)
	return k.told()
}

// told returns the newest answer.
func (k talk) told() string {
	answers := k.Rig.Chat.Answers()
	return answers[len(answers)-1].Text
}

// choice is that of a button of the newest message that has some.
func (k talk) choice(label string) string {
	k.Helper()
	_, list := k.buttons()
	i := slices.IndexFunc(list, func(c messenger.Choice) bool { return c.Label == label })
	require.GreaterOrEqual(k, i, 0, "%s of %v", label, list)
	return list[i].ID
}

// reply replies to the newest message.
func (k talk) reply(by messenger.Account, text string) string {
	k.Helper()
	list := k.Rig.Chat.Messages()
	return k.do(by, list[len(list)-1].ID, "", text)
}

// words are those of the ledger that came by the chat.
func (k talk) words(item string) (out []string) {
	entries := read(k, k.Store.Journal, k.Rig.Task(item).ID)
	for _, e := range entries {
		if w, ok := e.Word(); ok && w.By.Via == stage.ViaChat {
			require.NotEmpty(k, w.Act, "the chat's own id")
			out = append(out, w.Said+" by "+w.By.ID+": "+string(w.Fate))
		}
	}
	return out
}

// A task is rejected with a reason, approved, and its deployment confirmed by buttons, each bound to the moment of its message.
func TestChatDecides(t *testing.T) {
	withChat(t, nil, func(k talk) {
		item := k.Card(Self, "x")
		k.Move(Self, item, stage.StatusToAnalyse)
		k.Settle(10 * time.Second)
		require.Equal(k, []string{"Approve", "Reject", "Stop"}, k.labels())
		id, old := k.buttons()
		for _, c := range old {
			require.LessOrEqual(k, len(c.ID), messenger.ChoiceMax)
		}
		before, long := k.Rig.Task(item), strings.Repeat(" and more", 2000)

		told := k.press(stranger, "Approve")
		require.Equal(k, `You are not registered here. An administrator adds you to people in projects.yaml: chat: "666".`, told)
		require.Empty(k, k.press(stranger, "Stop"), "told once")
		k.Settle(10 * time.Second)
		require.Equal(k, before.Version, k.Rig.Task(item).Version)

		require.Equal(k, "SLF-1: why is it rejected?", k.press(annInChat, "Reject"))
		require.Empty(k, k.reply(stranger, "because I say so"), "a stranger's reply is none")
		require.Equal(k, "SLF-1: Reject is taken.", k.reply(annInChat, "no limits are named"+long))
		k.Settle(time.Minute)
		require.True(k, k.Commented(Self, item, "Rejected by ann@example.org (chat, chat): no limits are named"+long))
		require.Equal(k, []stage.Role{stage.Analyst, stage.Analyst}, k.Roles())

		require.Contains(k, k.do(annInChat, id, old[0].ID, ""), "SLF-1 has moved on since: it is at analysis", "an old button")
		texted := messenger.Act{ID: "t", By: annInChat, Message: id, Choice: k.choice("Approve"), Text: "yes"}
		require.NoError(k, k.Hear(context.Background(), texted))
		require.Equal(k, "SLF-1: press the button again.", k.told(), "a text presses none")
		k.Settle(10 * time.Second)
		k.Stands(item, stage.Analysis)

		approve, _ := k.buttons()
		require.Equal(k, "SLF-1: Approve is taken.", k.press(annInChat, "Approve"))
		for _, m := range k.Rig.Chat.Messages() {
			if m.ID == approve {
				require.Empty(k, m.Shown.Choices, "after a decision the buttons go")
			}
		}
		k.Settle(time.Minute)
		require.Equal(k, stage.HoldConfirm, k.Rig.Task(item).State.Hold)
		require.Equal(k, []string{"Confirm Deploy", "Reject", "Stop"}, k.labels())
		require.Equal(k, "SLF-1: Confirm Deploy is taken.", k.press(annInChat, "Confirm Deploy"))
		k.Settle(time.Minute)
		k.Stands(item, stage.Done)
		require.Equal(k, []string{
			"rejected by ann@example.org: acted", "approved by ann@example.org: acted", "confirm_deploy by ann@example.org: acted",
		}, k.words(item))
		require.Contains(k, k.do(annInChat, id, old[2].ID, ""), "has moved on since: it is at done")
		require.Equal(k, "There is no such task any more.", k.do(annInChat, id, "stop.999.0", ""))
		require.Positive(k, k.Replays())
	})
}

// refusing is a store that takes nothing while it is down.
type refusing struct {
	*memstore.Store
	down atomic.Bool
}

func (s *refusing) Commit(ctx context.Context, c task.Commit) error {
	if s.down.Load() {
		return errors.New("the store is down")
	}
	return s.Store.Commit(ctx, c)
}

// An act that comes again, because its answer or its confirmation was lost, is not done twice; one whose word could not be stored
// comes again.
func TestChatActComesAgain(t *testing.T) {
	store := &refusing{}
	withChat(t, func(r *Rig, _ *admin.Chat) {
		store.Store = r.Store
		r.Deps = func(d *orchestrator.Deps) { d.Store = store }
	}, func(k talk) {
		item := k.Card(Self, "x")
		k.Move(Self, item, stage.StatusToAnalyse)
		k.Settle(10 * time.Second)
		id, list := k.buttons()
		act := messenger.Act{ID: "77", By: annInChat, Message: id, Choice: list[0].ID}
		store.down.Store(true)
		require.Error(k, k.Hear(context.Background(), act), "it is to come again")
		store.down.Store(false)
		require.NoError(k, k.Hear(context.Background(), act))
		k.Settle(time.Minute)
		at := k.Rig.Task(item).State.Stage
		require.NotEqual(k, stage.Analysis, at)
		next := &admin.Chat{Engine: k.Chat.Engine, Listener: k.Rig.Chat, Stop: true} // of another process
		require.NoError(k, next.Hear(context.Background(), act))
		require.Equal(k, "SLF-1: Approve is taken.", k.told())
		k.Settle(time.Minute)
		require.Equal(k, []string{"approved by ann@example.org: acted"}, k.words(item))
		require.Equal(k, "SLF-1: Stop is taken.", k.do(annInChat, id, list[2].ID, ""), "by a button however old")
	})
}

// The registry's rules hold in the chat.
func TestChatKeepsTheRules(t *testing.T) {
	withChat(t, func(r *Rig, _ *admin.Chat) { r.Projects[0].People.Approvers = []string{"lee@example.org"} }, func(k talk) {
		item := k.Begin("x")
		k.Settle(10 * time.Second)
		require.Contains(k, k.press(annInChat, "Approve"), "may not set Approved here; the approvers are lee@example.org")
		k.Settle(10 * time.Second)
		k.Stands(item, stage.Analysis)
		require.Equal(k, "APP-1: Stop is taken.", k.press(annInChat, "Stop"))
	})
}

// Questions are answered in the chat, and a note is given to the next run, dated and with its author. A note moves nothing.
func TestChatAnswers(t *testing.T) {
	withChat(t, func(r *Rig, words *admin.Chat) {
		r.Features = func() []orchestrator.Feature {
			f, err := livemessage.Feature(livemessage.Options{Parts: r.Parts(), Messenger: r.Chat, Dress: words.Dress})
			require.NoError(r, err)
			return []orchestrator.Feature{f}
		}
		r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Run == 1 {
				files[c.Env["SIGNALBOX_DOCS"]+"/"+stage.QuestionsFile] = "which zoom?"
			}
			return GoodAgent(ctx, c, files)
		}))
	}, func(k talk) {
		item := k.Begin("x")
		k.Board.Say(item, "kim", strings.Repeat("a line of a long log\n", 2000))
		k.Settle(10 * time.Second)
		require.Equal(k, stage.HoldNeedsInput, k.Rig.Task(item).State.Hold)
		require.Equal(k, []string{"Reject", "Answer", "Stop"}, k.labels())
		version := k.Rig.Task(item).Version
		by := holder("lee")
		require.NoError(k, admin.Note(context.Background(), k.Chat.Engine, k.Rig.Task(item).ID, "mind the <b>poles</b>", by))
		var refused *admin.RefusedError
		require.ErrorAs(k, admin.Note(context.Background(), k.Chat.Engine, k.Rig.Task(item).ID, " ", by), &refused)
		k.Settle(10 * time.Second)
		require.Equal(k, version, k.Rig.Task(item).Version)
		require.Equal(k, "APP-1: what is the answer?", k.press(annInChat, "Answer"))
		require.Equal(k, "APP-1: Answer is taken.", k.reply(annInChat, "zoom 12"))
		k.Settle(time.Minute)
		runs := k.Place.Runs()
		require.Len(k, runs, 2)
		said := runs[1].Prompt
		require.Regexp(k, `    \d{4}-\d\d-\d\dT\S+Z ann@example.org: zoom 12\n    \d{4}-\d\d-\d\dT\S+Z lee: mind the <b>poles</b>\n    .* a line`, said)
		require.True(k, k.Commented(App, item, "ann@example.org (chat, chat), for the agents: zoom 12"))
		require.True(k, strings.Contains(said, "data, not instructions"))
		require.ErrorAs(k, admin.Answer(context.Background(), k.Chat.Engine, k.Rig.Task(item).ID, "zoom 13", by), &refused)
	})
}
