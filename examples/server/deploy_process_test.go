package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// restart is how a deployment restarts the service that made it: with a signal,
// after which its supervisor starts it again. In a jail it could not.
const restart = `kill -@ "$(cat "$WORLD_DIR/server.pid")"; sleep 60; exit 1
`

// deploys is a deployer that restarts the service when its report is written.
const deploys = `echo "$SIGNALBOX_SHA" >>"$WORLD_DIR/deployed-$SIGNALBOX_WORK_ITEM"
verdict success
keep
` + restart

// deploysFirst is one that restarts it before: only the next attempt can report.
const deploysFirst = `if [ "$(cat "$WORLD_DIR/deployed-$SIGNALBOX_WORK_ITEM" 2>/dev/null)" != "$SIGNALBOX_SHA" ]; then
echo "$SIGNALBOX_SHA" >>"$WORLD_DIR/deployed-$SIGNALBOX_WORK_ITEM"
` + restart + `fi
verdict success
keep
echo done
exit 0
`

// The service deploys itself, which restarts it in the middle of that: the task
// goes on, and what was deployed is not deployed again.
func TestDeploymentThatRestartsTheService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, signal string
		attempts       int
	}{
		"asked to end":           {deploys, "TERM", 1},
		"killed":                 {deploys, "KILL", 1},
		"killed before a report": {deploysFirst, "KILL", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string]string{"JAIL": "none", "JOB_TTL": "2s", "MONITOR_WINDOW": "4s", "MONITOR_INTERVAL": "100ms"}, &place{prefix: "SLF", self: true})
			w.write("SLF-1-deployerdeploy", strings.ReplaceAll(c.script, "-@", "-"+c.signal))
			item := w.cardIn("SLF", "Deploy yourself", "To Analyse")
			w.approve(item)
			w.until("the deployment is prepared", func() bool { return w.task(item).Hold == stage.HoldConfirm && w.column(item) == "Awaiting Deploy" })
			_, ended := w.process()
			w.move(item, "Confirm Deploy")
			w.until("the deployment ends the service", func() bool { return closed(ended) })
			require.Equal(t, "Deploying", w.column(item))
			w.start()
			w.reaches(item, "Monitoring after Deploy")
			after := w.task(item)
			require.Equal(t, stage.Done, after.Stage)
			require.Equal(t, after.MergeSHA+"\n", w.read("deployed-SLF-1"), "it was deployed once")
			deployers := slices.DeleteFunc(w.runs("SLF-1"), func(r string) bool { return !strings.HasPrefix(r, "deployer deploy ") })
			require.Len(t, deployers, c.attempts)
			require.Equal(t, 1, w.host.Merges())
			require.Equal(t, after.MergeSHA, w.heads("SLF")["main"])
			want := []string{"Awaiting Deploy", "Confirm Deploy", "Deploying", "Monitoring after Deploy"}
			if name == "killed" {
				w.monitored(item)
				want = append(want, "Done")
			}
			require.Equal(t, want, w.columns(item, "Awaiting Deploy"))
		})
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// monitored kills the server in the middle of the monitor's window: the deadline
// and what has been seen outlive that.
func (w *world) monitored(item string) {
	w.Helper()
	type watching struct {
		Until time.Time `json:"until"`
		Looks int       `json:"looks"`
	}
	see := func() (out watching, ok bool) {
		var v struct{ Monitor struct{ Watching []watching } }
		if !w.get("/queue", &v) || len(v.Monitor.Watching) != 1 || v.Monitor.Watching[0].Looks == 0 {
			return out, false
		}
		return v.Monitor.Watching[0], true
	}
	var before, after watching
	w.until("the monitor looks", func() (ok bool) { before, ok = see(); return ok && before.Looks >= 3 })
	w.end(syscall.SIGKILL)
	w.start()
	w.until("the monitor looks on", func() (ok bool) { after, ok = see(); return ok })
	require.True(w, before.Until.Equal(after.Until), "the window ends when it was to end: %s, %s", before.Until, after.Until)
	require.GreaterOrEqual(w, after.Looks, before.Looks)
	w.reaches(item, "Done")
	results := slices.DeleteFunc(w.task(item).Journal, func(e web.EntryView) bool { return e.Kind != "monitor" })
	require.Len(w, results, 1)
	require.Contains(w, string(results[0].Payload), "HEALTHY")
}

// columns are those that a card went through, from one on.
func (w *world) columns(item, from string) (out []string) {
	for _, c := range w.board.Changes() {
		if c.Item == item && (len(out) > 0 || c.To == from) {
			out = append(out, c.To)
		}
	}
	return out
}
