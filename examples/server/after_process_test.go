package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
)

// After the end, a card answers: what it has merged into a real repository is taken back by a task that no agent makes, a
// person approves, and a kill in the middle of does not double; then the card is followed up, and knows what was before.
func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain %v", plain), func(t *testing.T) {
			settings := map[string]string{"MONITOR_ENABLED": "false"}
			more := ""
			if plain {
				settings["GIT_POLL"], more = "200ms", `, ci: [["true"]]`
			}
			w := newWorld(t, settings, &place{prefix: "AFT", plain: plain, more: more})
			w.write("AFT-1-developer", "mkdir -p src; echo new >src/new.txt\n")
			item := w.card("AFT", "The work")
			onMain := func() string { return w.git(w.places["AFT"].bare, "ls-tree", "-r", "--name-only", "main") }
			w.move(item, "To Analyse")
			w.approve(item)
			w.ends(item)
			require.Contains(t, onMain(), "src/new.txt")
			first := w.task(item)

			require.Contains(t, w.page("/dashboard/tasks/1"), "Undo…")
			out, errs, code := w.command("undo", first.WorkItemID)
			require.Zero(t, code, errs)
			require.Contains(t, out, "undo of AFT-1: queued")
			w.analysed(item)
			u := w.task(item)
			require.Equal(t, "AFT-1-undo", u.WorkItemID)
			_, errs, code = w.command("undo", first.WorkItemID)
			require.NotZero(t, code)
			require.Contains(t, errs, "AFT-1-undo (task 2) of the same card is not finished")
			require.Empty(t, u.Runs)
			require.NotContains(t, w.page("/dashboard/tasks/1"), "Undo…")
			_, errs, code = w.command("review", "aft-1-undo", "--approve")
			require.Zero(t, code, errs)
			w.holds(item, "")
			w.end(syscall.SIGKILL)
			w.start()
			w.ends(item)
			require.NotContains(t, onMain(), "src/new.txt")
			require.Equal(t, 1, strings.Count(w.git(w.places["AFT"].bare, "log", "--format=%B", "main"), "This reverts commit "+first.MergeSHA))

			w.move(item, "To Analyse")
			w.until("the analyst finishes", func() bool {
				t := w.task(item)
				return t.Hold == "approval" && t.WorkItemID == "AFT-1-2" && !owed(t) // it is pushed
			})
			var x explain.Explanation
			require.True(t, w.get(fmt.Sprintf("/tasks/%d/explain", u.ID), &x))
			require.Equal(t, []string{"AFT-1-2"}, x.FollowedBy)
			require.Equal(t, "AFT-1", x.Follows)
			require.Contains(t, w.page("/dashboard/tasks/1"), "AFT-1-undo")
			request := w.git(w.places["AFT"].bare, "grep", "--no-color", "-h", "follow-up", w.task(item).Branch)
			require.Contains(t, request, "AFT-1-2 is a follow-up of AFT-1-undo")
		})
	}
}
