package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// heardOf counts the webhooks of the board of an event that had an answer.
func (w *world) heardOf(event string, status int) (n int) {
	for _, d := range w.board.Deliveries() {
		if d.Event == event && d.Status == status {
			n++
		}
	}
	return n
}

// What is no beginning begins nothing: a card that was made, one that QG-0 refuses, a word
// on a card without a task, a comment, a card of a board that nobody has registered.
func TestWhatBeginsATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"QG0_TITLE_MAX": "many", "SERIAL_GATE_ENABLED": "false"}, &place{prefix: "BEG"})
	p := w.places["BEG"].id
	empty, err := w.board.AddItem(p, "Nothing is said", "<p> </p>")
	require.NoError(t, err)
	w.until("the new card is judged", func() bool { return strings.Contains(w.read("server.log"), `msg="work item created" item=`+empty) })
	require.Contains(t, w.read("server.log"), `level=WARN msg="work item created" item=`+empty+` repo=acme/beg qg0=red reason="QG-0: the description is empty"`)
	require.Equal(t, w.board.States(p)[0].Name, w.column(empty))
	w.move(empty, "To Analyse")
	w.until("QG-0 refuses it", func() bool { return w.column(empty) == "Blocked" })
	w.answered(empty, "the description is empty")

	long := w.card("BEG", strings.Repeat("я", 201))
	w.move(long, "To Analyse")
	w.until("a long title is refused", func() bool { return w.column(long) == "Blocked" })
	w.answered(long, "201 characters, the limit is 200")
	word := w.card("BEG", "No task")
	for _, to := range []string{"In Progress", "Approved", "Rejected", "Confirm Deploy"} {
		w.move(word, to)
		w.answered(word, to+" moves nothing")
	}
	foreign := w.board.AddProject("FOR", planetest.StandardStates()...)
	other, err := w.board.AddItem(foreign, "Not ours", "<p>d</p>")
	require.NoError(t, err)
	ignored := w.heardOf("issue", http.StatusOK)
	w.move(other, "To Analyse")
	w.until("it is ignored", func() bool { return w.heardOf("issue", http.StatusOK) > ignored })
	require.NoError(t, w.board.Say(other, "<p>To Analyse</p>"))
	require.NoError(t, w.board.Say(word, "<p>To Analyse</p>"))
	w.until("comments are only noted", func() bool {
		return strings.Contains(w.read("server.log"), `why="comments are only noted"`) && strings.Contains(w.read("server.log"), `why="the project is not registered"`)
	})

	fits := w.card("BEG", strings.Repeat("я", 200))
	w.move(fits, "To Analyse")
	w.until("a title of 200 characters begins", func() bool { return w.column(fits) == "In Review" })
	icon := w.card("BEG", "🚦")
	w.move(icon, "To Analyse")
	w.until("a title without a letter begins", func() bool { return w.column(icon) == "In Review" })
	require.Regexp(t, `^feature/BEG-\d+-untitled$`, w.task(icon).Branch)
	w.until("its branch is at the remote", func() bool { return w.heads("BEG")[w.task(icon).Branch] != "" })
	for _, item := range []string{empty, long, word, other} {
		require.Empty(t, w.tasks(item))
	}
	require.NotContains(t, w.column(other)+w.column(word), "Analysis")
}

// Open questions wait for a person, and what was answered is read; a rejection without a
// comment has a reason too.
func TestQuestionsAndRejections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "ASK"})
	w.write("ASK-1-analyst", `printf '%s\n' "$SIGNALBOX_FEEDBACK" >"$WORLD_DIR/feedback"
if [ "$SIGNALBOX_RUN" = 1 ]; then echo 'Which zoom?' >"$docs/questions.md"; keep; echo done; exit 0; fi
rm -f "$docs/questions.md"; cp "$SIGNALBOX_PROMPT_FILE" "$WORLD_DIR/prompt"
`)
	item := w.card("ASK", "Ask me")
	w.move(item, "To Analyse")
	w.until("questions are open", func() bool { return w.column(item) == "Needs Input" })
	require.Equal(t, []any{stage.Analysis, stage.HoldNeedsInput}, []any{w.task(item).Stage, w.task(item).Hold})
	w.answered(item, "Which zoom?")
	require.NoError(t, w.board.Say(item, "<p>All of them.</p>"))
	w.move(item, "In Progress")
	w.until("they are answered", func() bool { return w.column(item) == "In Review" })
	require.Contains(t, w.read("prompt"), "All of them.")
	w.move(item, "Rejected")
	w.until("the analyst works again", func() bool { return len(w.runs("ASK-1")) == 3 && w.column(item) == "In Review" })
	require.Equal(t, "All of them.\n", w.read("feedback"), "the newest comment of a person")

	quiet := w.card("ASK", "Say nothing")
	w.write("ASK-2-analyst", `printf '%s\n' "$SIGNALBOX_FEEDBACK" >"$WORLD_DIR/feedback"`+"\n")
	w.move(item, "Approved")
	w.until("the first is done", func() bool { return w.isOver(item) })
	w.move(quiet, "To Analyse")
	w.until("the second is ready", func() bool { return w.column(quiet) == "In Review" })
	w.move(quiet, "Rejected")
	w.until("its analyst works again", func() bool { return len(w.runs("ASK-2")) == 2 && w.column(quiet) == "In Review" })
	require.Equal(t, orchestrator.NoReason+"\n", w.read("feedback"))
}

// A board without the column Confirm Deploy deploys nothing, whatever else is set on it.
func TestWithoutConfirmDeploy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "CLS", self: true})
	p := w.places["CLS"].id
	w.board.RemoveState(p, "Confirm Deploy")
	item := w.card("CLS", "Closed")
	w.move(item, "To Analyse")
	w.approve(item)
	w.until("the deployment is prepared", func() bool { return w.task(item).Hold == stage.HoldConfirm && w.column(item) == "Awaiting Deploy" })
	for _, to := range []string{"Approved", "In Progress", "To Analyse", "Done"} {
		w.move(item, to)
		w.until("the column goes back", func() bool { return w.column(item) == "Awaiting Deploy" })
	}
	require.Zero(t, w.host.Merges())
	require.Empty(t, w.read("deployed-CLS-1"))
	require.Equal(t, stage.HoldConfirm, w.task(item).Hold)
	w.board.AddState(p, "Confirm Deploy")
	w.move(item, "Confirm Deploy")
	w.until("it is deployed", func() bool { return w.isOver(item) })
	require.Equal(t, w.task(item).MergeSHA+"\n", w.read("deployed-CLS-1"))
}

// Each feature that is switched off is as if it were not there.
func TestSwitchesOfTheServer(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1", "RECONCILE_INTERVAL": "50ms"}
	for _, name := range []string{"STOP_STATUS", "SERIAL_GATE", "TASK_DEPS", "MERGE_GATE", "MONITOR", "LIVE_MESSAGE", "RECONCILE_TRACKER"} {
		settings[name+"_ENABLED"] = "false"
	}
	w := newWorld(t, settings, &place{prefix: "OFF", self: true})
	one, two := w.card("OFF", "one"), w.card("OFF", "two")
	w.board.Block(two, one)
	w.move(one, "To Analyse")
	w.until("the first is taken up", func() bool { return len(w.tasks(one)) == 1 })
	w.move(two, "To Analyse")
	for _, item := range []string{one, two} {
		w.until("both are ready: no serial gate, no dependencies", func() bool { return w.task(item).Hold == stage.HoldApproval && w.column(item) == "In Review" })
	}
	for _, block := range []string{"stop", "serial_gate", "task_deps", "monitor"} {
		require.Equal(t, `{"enabled":false}`, w.block(block), block)
	}
	require.Contains(t, w.block("merge_gate"), `"enabled":false`)
	require.Contains(t, w.block("reconcile"), `"enabled":true,"tracker":false`)
	taken := w.heardOf("issue", http.StatusAccepted)
	w.move(one, "STOP")
	w.until("STOP is heard", func() bool { return w.heardOf("issue", http.StatusAccepted) > taken && w.waiting() == 0 })
	require.Equal(t, []any{stage.Analysis, stage.HoldApproval}, []any{w.task(one).Stage, w.task(one).Hold})
	require.Equal(t, http.StatusNotFound, w.post("/tasks/1/stop"))
	w.move(one, "Approved")
	w.until("Confirm Deploy is waited for", func() bool { return w.task(one).Hold == stage.HoldConfirm && w.column(one) == "Awaiting Deploy" })
	require.Empty(t, w.holder(), "no merge gate")
	w.move(one, "Confirm Deploy")
	w.until("it is done", func() bool { return w.isOver(one) && w.column(one) == "Monitoring after Deploy" })
	for _, m := range w.chat.Messages() {
		require.False(t, m.Silent, "no live message")
	}

	w.board.SetHookURL("")
	w.move(two, "Approved")
	passes := func() (n int64) {
		var q struct{ Reconcile struct{ Passes int64 } }
		w.get("/queue", &q)
		return q.Reconcile.Passes
	}
	before := passes()
	w.until("the reconciler has looked", func() bool { return passes() > before+3 })
	require.Equal(t, stage.HoldApproval, w.task(two).Hold, "it reads no board")
	require.Equal(t, "Monitoring after Deploy", w.column(one), "nobody watches")
}
