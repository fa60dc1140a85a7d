package main

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
)

// A live task whose repository has left the registry is found and said, it can be stopped,
// and goes on where it was when the repository is back.
func TestARepositoryThatLeavesTheRegistry(t *testing.T) {
	w := newWorld(t, map[string]string{"TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1"}, &place{prefix: "GPX"})
	first, second := w.card("GPX", "goes on"), w.card("GPX", "is stopped")
	for _, item := range []string{first, second} {
		w.move(item, "To Analyse")
		w.until("the analyst finishes", func() bool { return w.task(item).Hold == "approval" && w.column(item) == "In Review" })
	}
	require.NotContains(t, w.checks()["registry"], "warning")

	registry := w.read("projects.yaml")
	w.end(syscall.SIGTERM)
	w.write("projects.yaml", strings.Replace(registry, "repo: acme/gpx,", "repo: acme/moved,", 1))
	w.start()
	const said = "2 live tasks belong to acme/gpx, which is not registered: "
	w.until("readiness warns", func() bool {
		check := w.checks()["registry"]
		return strings.HasPrefix(check, "warning: "+said) && strings.Contains(check, "put it back in the project registry or STOP them")
	})
	w.until("the chat says so", func() bool { return w.rang(said) })
	var x explain.Explanation
	require.True(t, w.get(fmt.Sprintf("/tasks/%d/explain", w.task(first).ID), &x))
	require.Equal(t, "Waits: nothing is done: the repository acme/gpx is not registered", x.Summary)
	require.Equal(t, "Put acme/gpx back into projects.yaml and reload it (signalbox reload), or set STOP on the card", x.Blockers[0].Do)

	w.move(first, "Approved")
	require.Equal(t, http.StatusAccepted, w.post(fmt.Sprintf("/tasks/%d/stop", w.task(second).ID)))
	w.until("the other one is stopped", func() bool { return w.task(second).Stage == "cancelled" })
	time.Sleep(10 * 300 * time.Millisecond) // many passes of the reconciler
	require.Equal(t, "analysis", string(w.task(first).Stage))
	require.NotContains(t, w.checks()["reconcile"], "warning", "nothing is wrong with webhooks")
	require.Len(t, filtered(w.chat.Messages(), said), 1)

	w.end(syscall.SIGTERM)
	w.write("projects.yaml", registry)
	w.start()
	w.until("the word on its card is found", func() bool { return w.isOver(first) })
	require.NotContains(t, w.checks()["registry"], "warning")
}

// filtered are the messages with some words.
func filtered(list []telegramtest.Message, words string) (out []telegramtest.Message) {
	for _, m := range list {
		if strings.Contains(m.Text, words) {
			out = append(out, m)
		}
	}
	return out
}
