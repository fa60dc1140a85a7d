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
	w.until("the first is degraded", func() bool { return w.column(one) == "Blocked" })
	require.Equal(t, stage.Done, w.task(one).Stage)
	w.until("people are told", func() bool { return w.rang("DEGRADED") && w.rang("acme/ser is frozen") })
	w.move(two, "Approved")
	w.until("what has begun goes on", func() bool { return w.task(two).Stage == stage.Done })
	three := w.card("SER", "three")
	w.move(three, "To Analyse")
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
	item := w.card("NOF", "one")
	w.move(item, "To Analyse")
	w.approve(item)
	w.until("it is degraded", func() bool { return w.task(item).Stage == stage.Done && w.column(item) == "Blocked" })
	next := w.card("NOF", "two")
	w.move(next, "To Analyse")
	w.until("the next one begins", func() bool { return w.task(next).Hold == stage.HoldApproval })
	require.Contains(t, w.block("serial_gate"), `"frozen":[]`)
}

// What waits for another task takes no slot; dependencies come of cards' relations and of
// the table; a circle is Blocked, and reported once.
func TestDependenciesBetweenBoards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{
		"SERIAL_GATE_ENABLED": "false", "MAX_CONCURRENCY": "1", "TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1",
	}, &place{prefix: "AAA"}, &place{prefix: "BBB"})
	// An agent that runs beside another says so.
	for _, who := range []string{"AAA-1-analyst", "AAA-2-analyst", "BBB-1-analyst", "BBB-2-analyst", "BBB-3-analyst"} {
		w.write(who, `mkdir "$WORLD_DIR/slot" || echo two >>"$WORLD_DIR/crowd"; sleep 0.1; rmdir "$WORLD_DIR/slot"`+"\n")
	}
	first, behind, free := w.card("AAA", "first"), w.card("BBB", "behind"), w.card("AAA", "free")
	w.board.Block(behind, first)
	w.move(first, "To Analyse")
	w.until("the first is taken up", func() bool { return len(w.tasks(first)) == 1 })
	w.move(behind, "To Analyse")
	w.until("the second waits", func() bool { return strings.Contains(w.summary(behind), "waits for AAA-1 (task 1)") })
	w.move(free, "To Analyse")
	w.until("one that depends on nothing has the slot", func() bool { return w.task(free).Hold == stage.HoldApproval })
	require.Empty(t, w.runs("BBB-1"))
	require.Contains(t, w.block("task_deps"), `"source":"tracker"`)

	table := fmt.Sprintf("/tasks/%d/deps", w.task(free).ID)
	status, _ := w.request(http.MethodPost, table, "", `{"on":1}`)
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = w.request(http.MethodPost, table, operatorToken, `{"on":1}`)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, w.block("task_deps"), `"source":"db"`)
	w.move(free, "Approved")
	w.until("its architect waits", func() bool {
		return w.task(free).Stage == stage.Architecture && strings.Contains(w.summary(free), "AAA-1 (task 1)")
	})
	require.Len(t, w.runs("AAA-2"), 1)
	w.approve(first)
	w.until("all go on", func() bool {
		return w.task(first).Stage == stage.Done && w.task(free).Stage == stage.Done && w.task(behind).Hold == stage.HoldApproval
	})

	two, three := w.card("BBB", "two"), w.card("BBB", "three")
	w.board.Block(two, three)
	w.board.Block(three, two)
	w.move(two, "To Analyse")
	w.move(three, "To Analyse")
	w.until("the circle is Blocked", func() bool { return w.column(two) == "Blocked" && w.column(three) == "Blocked" })
	w.until("people are told", func() bool { return w.rang("a dependency cycle: ") })
	require.Empty(t, w.runs("BBB-2"), w.runs("BBB-3"))
	require.Empty(t, w.read("crowd"), "one agent at a time")
}

// With the merge gate a branch is brought onto main before it is merged; of two tasks the
// second waits for the lease, whose file names who has it, and lands on the first.
func TestMergeGateOfTwo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"SERIAL_GATE_ENABLED": "false", "MERGE_GATE_REPOS": "*"}, &place{prefix: "TWO"})
	one, two := w.card("TWO", "one"), w.card("TWO", "two")
	w.write("TWO-2-tester", "await $WORLD_DIR/test\n")
	for _, item := range []string{one, two} {
		w.move(item, "To Analyse")
		w.approve(item)
	}
	w.until("the second is tested", func() bool { return w.task(two).Active == stage.Tester })
	release := w.holdMerges("TWO")
	w.write("test", "")
	w.until("one of them merges", func() bool {
		return w.holder() != "" && (w.task(one).Phase == stage.PhaseMerge || w.task(two).Phase == stage.PhaseMerge)
	})
	w.until("the other waits for the lease", func() bool {
		return strings.Contains(w.summary(one)+w.summary(two), "2nd in line to merge in acme/two, behind TWO-")
	})
	require.Contains(t, w.block("merge_gate"), w.holder())
	require.Zero(t, w.host.Merges())
	release()
	w.until("both are done", func() bool { return w.isOver(one) && w.isOver(two) })
	bare := w.places["TWO"].bare
	first, second := w.task(one), w.task(two)
	if second.MergeSHA != w.heads("TWO")["main"] {
		first, second = second, first
	}
	require.Equal(t, second.MergeSHA, w.heads("TWO")["main"])
	require.Equal(t, first.MergeSHA, w.git(bare, "rev-parse", second.MergeSHA+"^1"), "on top of the first")
	require.Equal(t, first.MergeSHA, w.git(bare, "merge-base", first.MergeSHA, second.MergeSHA+"^2"), "what was merged stands on it")
	w.until("the lease is free", func() bool { return w.holder() == "" })
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
