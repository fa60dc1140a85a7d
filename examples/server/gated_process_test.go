package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// deployed serves what was deployed: it is well until somebody says otherwise.
func deployed(t *testing.T) (address string, sick *atomic.Bool) {
	t.Helper()
	sick = &atomic.Bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if sick.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/health", sick
}

// request sends a request to the server with a token, and returns the status and the body.
func (w *world) request(method, path, token, body string) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, "http://"+w.addr+path, strings.NewReader(body))
	require.NoError(w, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w, err)
	return resp.StatusCode, compact(text)
}

// compact is JSON without blanks; other texts stay.
func compact(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// summary returns the reason why a card's task stands where it stands.
func (w *world) summary(item string) string {
	var x explain.Explanation
	w.get(fmt.Sprintf("/tasks/%d/explain", w.task(item).ID), &x)
	return x.Summary
}

// block is a feature's block of /queue, as text.
func (w *world) block(name string) string {
	var q map[string]json.RawMessage
	w.get("/queue", &q)
	return compact(q[name])
}

// One task of a repository begins at a time, on the main of that moment; a deployment that
// is degraded freezes the repository, over a kill, until an operator ends that.
func TestSerialGateAndFreeze(t *testing.T) {
	t.Parallel()
	address, sick := deployed(t)
	w := newWorld(t, map[string]string{
		"SERIAL_GATE_REPOS": "acme/ser", "MONITOR_WINDOW": "1m", "MONITOR_INTERVAL": "50ms", "TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1",
	}, &place{prefix: "SER", monitor: address}, &place{prefix: "FRE"})
	one, two, other := w.card("SER", "one"), w.card("SER", "two"), w.card("FRE", "elsewhere")
	w.move(one, "To Analyse")
	w.until("the first works", func() bool { return len(w.runs("SER-1")) == 1 })
	w.move(two, "To Analyse")
	w.move(other, "To Analyse")
	w.until("the third, of another repository, works", func() bool { return len(w.runs("FRE-1")) == 1 })
	w.until("the second waits", func() bool {
		return strings.Contains(w.summary(two), "waits for a place: one task at a time in acme/ser, and SER-1 (task 1) is before it")
	})
	require.Less(t, w.task(one).ID, w.task(two).ID, "ids are given in the order of creation")
	require.Contains(t, w.block("serial_gate"), `"enabled":true`)
	require.Contains(t, w.block("serial_gate"), "SER-1 (task 1)")
	require.Empty(t, w.runs("SER-2"))
	require.NotContains(t, w.heads("SER"), w.task(two).Branch, "its branch is not made yet")
	require.NoFileExists(t, w.checkout("SER-2"))

	w.approve(one)
	w.until("the first is done", func() bool { return w.task(one).Stage == stage.Done })
	w.until("the second begins", func() bool { return w.task(two).Hold == stage.HoldApproval && w.column(two) == "In Review" })
	bare, main := w.places["SER"].bare, w.heads("SER")["main"]
	require.Equal(t, w.task(one).MergeSHA, main)
	w.until("its branch is published", func() bool { return w.heads("SER")[w.task(two).Branch] != "" })
	require.Equal(t, main, w.git(bare, "merge-base", main, w.heads("SER")[w.task(two).Branch]), "on the main of that moment")
	require.Contains(t, w.git(bare, "show", w.heads("SER")[w.task(two).Branch]+":docs/work/SER-2/request.md"), "two")

	sick.Store(true)
	w.reaches(one, "Blocked")
	require.Equal(t, stage.Done, w.task(one).Stage)
	w.until("people are told", func() bool { return w.rang("DEGRADED") && w.rang("acme/ser is frozen") })
	w.move(two, "Approved")
	w.until("what has begun goes on", func() bool { return w.task(two).Stage == stage.Done })
	three := w.cardIn("SER", "three", "To Analyse")
	w.until("the third waits", func() bool { return strings.Contains(w.summary(three), "(freeze)") })
	w.end(syscall.SIGKILL)
	require.Equal(t, "analyst@acme/ser", w.saved("select subject from holds where name = 'freeze'"))
	w.start()
	w.until("it waits on", func() bool { return strings.Contains(w.summary(three), "(freeze)") })
	require.Contains(t, w.block("serial_gate"), `"frozen":[{"repo":"acme/ser"`)
	require.Empty(t, w.runs("SER-3"))

	sick.Store(false)
	const path, body = "/serial-gate/unfreeze", `{"repo":"acme/ser"}`
	for token, want := range map[string]int{"": http.StatusUnauthorized, "another token, as long": http.StatusUnauthorized} {
		status, _ := w.request(http.MethodPost, path, token, body)
		require.Equal(t, want, status)
	}
	status, said := w.request(http.MethodPost, path, operatorToken, body)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, said, `"repo":"acme/ser","was_frozen":true,"reason":"`)
	w.until("the third begins", func() bool { return w.task(three).Hold == stage.HoldApproval })
	w.until("people are told that too", func() bool { return w.rang("acme/ser is not frozen any more") })
	_, said = w.request(http.MethodPost, path, operatorToken, body)
	require.JSONEq(t, `{"repo":"acme/ser","was_frozen":false}`, said)
}

// Without the switch a degraded deployment is Blocked and freezes nothing.
func TestFreezeSwitchedOff(t *testing.T) {
	t.Parallel()
	address, sick := deployed(t)
	sick.Store(true)
	w := newWorld(t, map[string]string{"SERIAL_GATE_FREEZE_ENABLED": "false", "MONITOR_INTERVAL": "50ms"}, &place{prefix: "NOF", monitor: address})
	item := w.cardIn("NOF", "one", "To Analyse")
	w.approve(item)
	w.until("it is degraded", func() bool { return w.task(item).Stage == stage.Done && w.column(item) == "Blocked" })
	next := w.cardIn("NOF", "two", "To Analyse")
	w.until("the next one begins", func() bool { return w.task(next).Hold == stage.HoldApproval })
	require.Contains(t, w.block("serial_gate"), `"frozen":[]`)
}

// A source of dependencies that is not named is not read: neither cards' relations nor the
// table.
func TestSourcesOfDependencies(t *testing.T) {
	t.Parallel()
	for source, status := range map[string]int{"db": http.StatusOK, "tracker": http.StatusNotFound} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string]string{"SERIAL_GATE_ENABLED": "false", "TASK_DEPS_SOURCE": source}, &place{prefix: "SRC"})
			w.write("SRC-1-analyst", "await $WORLD_DIR/go\n")
			one, two := w.card("SRC", "one"), w.card("SRC", "two")
			w.board.Block(two, one)
			w.move(one, "To Analyse")
			w.until("the first works", func() bool { return len(w.runs("SRC-1")) == 1 })
			w.move(two, "To Analyse")
			if source == "db" {
				w.until("the relation is not read", func() bool { return w.task(two).Hold == stage.HoldApproval })
			} else {
				w.until("the relation is read", func() bool { return strings.Contains(w.summary(two), "waits for SRC-1 (task 1)") })
			}
			got, said := w.request(http.MethodPost, fmt.Sprintf("/tasks/%d/deps", w.task(two).ID), operatorToken, `{"on":1}`)
			require.Equal(t, status, got, said)
			if source == "db" {
				w.move(two, "Approved")
				w.until("the table is read", func() bool {
					return w.task(two).Stage == stage.Architecture && strings.Contains(w.summary(two), "SRC-1 (task 1)")
				})
			}
			require.Empty(t, w.runs("SRC-2")[min(1, len(w.runs("SRC-2"))):], "it waits")
			w.write("go", "")
			w.approve(one)
			w.until("it goes on", func() bool { return w.isOver(one) && (w.isOver(two) || w.task(two).Hold == stage.HoldApproval) })
		})
	}
}
