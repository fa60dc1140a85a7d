package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

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
