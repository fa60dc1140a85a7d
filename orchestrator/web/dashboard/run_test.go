package dashboard_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A log can be followed from where the page ends, byte for byte, also when a
// character was half written; what colours a terminal and what was cut out is
// left out.
func TestFollowLog(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		id := w.card(project, nowSleep)
		w.move(project, id, stage.StatusApproved)
		w.Settle(time.Minute)
		run := w.Task(id).State.Run
		name := work.LogName{TaskID: 1, Role: stage.Developer, Run: run, Attempt: 1}
		path := fmt.Sprintf("/tasks/1/runs/%d/1", run)
		w.shows(path, "at work for")
		require.Contains(w, w.get(path).body, `data-next="0"`, "what is not there yet can be followed")
		early := w.get(path + "/log?from=0")
		require.Equal(w, []string{"true", "0", ""}, []string{early.header.Get("X-Log-Live"), early.header.Get("X-Log-Next"), early.body})
		whole := "first \x00\x00line\nПривет 🛒 <b>\n"
		got, from := "", "0"
		for end := range len(whole) + 1 {
			w.logs.Replace(name, whole[:end])
			a := w.get(path + "/log?from=" + from)
			require.Equal(w, "true", a.header.Get("X-Log-Live"))
			require.Equal(w, "text/plain; charset=utf-8", a.header.Get("Content-Type"))
			got, from = got+a.body, a.header.Get("X-Log-Next")
		}
		require.Equal(w, "first line\nПривет 🛒 <b>\n", got)
		require.Equal(w, strconv.Itoa(len(whole)), from)
		require.Contains(w, w.get(path).body, `data-next="`+from+`"`)
		require.Equal(w, whole, w.get(path+"/log?all=1").body)
		w.logs.Replace(name, "\x1b[1;31mred\x1b[0m \x1b]0;title\x07and \xff\xfe broken")
		require.Equal(w, "red and \uFFFD broken", w.get(path+"/log").body)
		ended := "/tasks/1/runs/1/1"
		w.shows(ended, "Nothing was kept.")
		require.Equal(w, http.StatusNotFound, w.get(ended+"/log").status)
	})
}

// A long log begins with a whole line near its end, and says so.
func TestLongLog(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		var b strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&b, "line %d\n", i)
		}
		w.logs.Replace(work.LogName{TaskID: 1, Role: stage.Analyst, Run: 1, Attempt: 1}, b.String())
		body := w.get("/tasks/1/runs/1/1").body
		require.Contains(w, body, "the end of it")
		require.Contains(w, body, "line 19999\n</pre>")
		require.Regexp(w, `<pre[^>]*>line \d+\n`, body)
		require.Less(w, len(body), 80<<10)
	})
}

// A run's page shows what its hooks have printed, and by which text the agent worked.
func TestRunShowsHooksAndPrompt(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.Place.PutOnMain(repo, ".signalbox/analyst.md", "Write.")
		w.card(project, "x")
		body := plain(w.get("/tasks/1/runs/1/1").body)
		require.Contains(w, body, "Prompt "+prompt.Hash("Write."))
		require.NotContains(w, body, "Hooks")
		require.Equal(w, http.StatusNotFound, w.get("/tasks/1/runs/1/1/log?hooks=1").status)
		w.logs.Replace(orchestrator.HookLog(1, 1, 1), "$ npm ci # after_create\nadded <b>\n")
		body = w.get("/tasks/1/runs/1/1").body
		require.Contains(w, body, "$ npm ci # after_create\nadded &lt;b&gt;\n</pre>")
		require.Contains(w, body, `/tasks/1/runs/1/1/log?all=1&amp;hooks=1"`)
		w.logs.Replace(work.LogName{TaskID: 1, Role: stage.Analyst, Run: 1, Attempt: 1, Stream: work.StreamErrors}, "an error\n")
		w.has("/tasks/1/runs/1/1", `/tasks/1/runs/1/1/log?all=1&amp;errors=1"`)
		require.Equal(w, "an error\n", w.get("/tasks/1/runs/1/1/log?all=1&errors=1").body)
		require.Equal(w, "$ npm ci # after_create\nadded <b>\n", w.get("/tasks/1/runs/1/1/log?hooks=1").body)
	})
}
