package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// shows waits for a message of a work item that has a button of none of the questions answered so far, and returns the newest
// that does: a message may show the buttons of the question before while the service is busy or away.
func (w *world) shows(workItem, button string) (shown telegramtest.Message) {
	w.Helper()
	w.until(fmt.Sprintf("%s of %s is shown", button, workItem), func() bool {
		for _, m := range slices.Backward(w.chat.Messages()) {
			has := slices.ContainsFunc(m.Buttons, func(b telegramtest.Button) bool {
				return b.Text == button && !slices.Contains(w.decided, b)
			})
			if has && strings.Contains(telegramtest.Plain(m.Text), workItem+":") {
				shown = m
				return true
			}
		}
		return false
	})
	return shown
}

// asks presses a button of a work item, waits for the question that comes of it, and answers it.
func (w *world) asks(by telegramtest.User, workItem, button, text string, meanwhile func()) {
	w.Helper()
	list := w.chat.Messages()
	newest := list[len(list)-1].ID
	m := w.shows(workItem, button)
	require.True(w, w.chat.Press(by, m.ID, button))
	w.decided = append(w.decided, m.Buttons...)
	meanwhile()
	w.until("there is a question", func() bool {
		for _, m := range slices.Backward(w.chat.Messages()) {
			if m.Forced && m.ID > newest {
				w.chat.Reply(by, m.ID, text)
				return true
			}
		}
		return false
	})
}

// chatWords are the words of a card that came by the chat, with their fates.
func (w *world) chatWords(item string) (out []string) {
	for _, e := range w.task(item).Journal {
		if word, ok := (task.JournalEntry{Kind: e.Kind, Payload: e.Payload}).Word(); ok && word.By.Via == stage.ViaChat {
			require.NotEmpty(w, word.Act)
			out = append(out, word.String())
		}
	}
	return out
}

// People decide, answer and stop in the chat of the real server, which is killed between what they do and what comes of it:
// nothing is lost, and nothing is done twice.
func TestChatWords(t *testing.T) {
	w := newWorld(t, map[string]string{"TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1"}, &place{prefix: "APP"})
	w.write("projects.yaml", "people: [{name: ann@example.org, telegram: 12345}]\n"+w.registry)
	require.Equal(t, 200, w.post("/admin/reload"))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("toasts: %v\nmessages: %v", w.chat.Toasts(), w.chat.Messages())
		}
	})
	ann, mal := telegramtest.User{ID: 12345, Name: "Ann & <b>"}, telegramtest.User{ID: 666, Name: "Mal"}
	w.write("APP-1-analyst", `if [ "$SIGNALBOX_RUN" = 1 ]; then echo 'which zoom?' >"$docs/questions.md"; keep; exit 0; fi
rm -f "$docs/questions.md"`)
	item := w.cardIn("APP", "decided in the chat", "To Analyse")

	require.True(t, w.chat.Press(mal, w.shows("APP-1", "Answer").ID, "Answer"))
	w.until("a stranger is refused", func() bool {
		told := w.chat.Toasts()
		return len(told) == 1 && told[0].Alert && strings.HasPrefix(told[0].Text, "You are not registered here.")
	})
	w.asks(ann, "APP-1", "Answer", "zoom 12", func() {})

	const rejections = 4
	for n := range rejections {
		w.holds(item, "approval")
		w.shows("APP-1", "Approve")
		w.asks(ann, "APP-1", "Reject", fmt.Sprintf("reason %d", n), func() {
			if n == 0 { // the server is not there when the button is pressed
				w.end(syscall.SIGKILL)
				w.start()
			}
		})
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
		w.end(syscall.SIGKILL)
		w.start()
		w.until("the analyst runs again", func() bool { return len(w.runs("APP-1")) >= n+3 })
		w.until("the update is confirmed", func() bool { return w.chat.Waiting() == 0 })
	}
	w.holds(item, "approval")
	id := w.shows("APP-1", "Approve").ID
	require.True(t, w.chat.Press(ann, id, "Approve"))
	w.chat.Expire() // the answer comes too late, and the word counts
	w.end(syscall.SIGKILL)
	w.start()
	w.until("it is approved", func() bool { return w.task(item).Stage == "done" })
	first := slices.IndexFunc(w.runs("APP-1"), func(r string) bool { return strings.HasPrefix(r, "architect") })
	require.Contains(t, w.runs("APP-1")[first], fmt.Sprintf(" run=%d ", 3+rejections), "each word was acted on once")
	said := w.chatWords(item)
	require.Len(t, said, 2+rejections, said)
	for _, word := range said {
		require.Contains(t, word, "acted on")
	}
	w.until("the buttons of what is decided go", func() bool {
		for _, m := range w.chat.Messages() {
			if m.ID == id {
				return len(m.Buttons) == 0 || m.Buttons[0].Text != "Approve"
			}
		}
		return false
	})

	w.write("APP-2-analyst", "await \"$WORLD_DIR/never\"")
	other := w.cardIn("APP", "stopped in the chat", "To Analyse")
	require.True(t, w.chat.Press(ann, w.shows("APP-2", "Stop").ID, "Stop"))
	w.until("it is stopped", func() bool { return w.task(other).Stage == "cancelled" })
	log := w.read("server.log")
	require.NotContains(t, log, chatToken)
}
