package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// atWork starts a card whose developer works for hours, and returns the name of what that
// prints and the address of its run.
func (w *world) atWork() (work.LogName, string) {
	w.Helper()
	id := w.card(project, nowSleep)
	w.move(project, id, stage.StatusApproved)
	w.Settle(time.Minute)
	t := w.Task(id)
	return work.LogName{TaskID: t.ID, Role: stage.Developer, Run: t.State.Run, Attempt: 1}, fmt.Sprintf("/tasks/%d/runs/%d/1", t.ID, t.State.Run)
}

func (w *world) step(n work.LogName, kind work.StepKind, tool, path, text string, micro int64) {
	s := work.Step{At: time.Now(), Kind: kind, Tool: tool, Path: path, Text: text}
	if micro > 0 {
		s.Usage = &work.Usage{Model: "m1", MicroUSD: micro}
	}
	w.logs.Step(n, s)
}

// A run at work is shown as steps, with what it has cost so far, and can be followed: what
// has grown is sent again, and what is new behind it.
func TestSteps(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		name, path := w.atWork()
		body := w.get(path).body
		require.NotContains(w, body, `id="steps"`, "without steps the log is shown")
		require.Contains(w, body, `data-log="../../../../tasks/1/runs/3/1/log?" data-next="0"`)

		w.step(name, work.StepText, "", "", "I read first.\nThen I write.", 0)
		for i := range 9 {
			w.step(name, work.StepTool, "Read", "", fmt.Sprintf("file%d.go", i), 0)
		}
		w.step(name, work.StepTool, "Edit", "", "the last call", 0)
		w.step(name, work.StepFile, "", "cmd/main.go", "", 410_000)
		w.Settle(3 * time.Second)
		a := w.get(path)
		page := plain(a.body)
		require.Contains(w, page, "Cost so far $0.41")
		require.Contains(w, page, "Model m1")
		require.Contains(w, page, "1 file, 10 tool calls, $0.41 so far")
		require.Contains(w, page, "says I read first. Then I write.")
		require.Regexp(w, `Read ×9 .*Edit the last call .*file cmd/main.go \$0.41`, page)
		require.Contains(w, page, "Output and errors, as they were printed")
		require.Equal(w, 1, strings.Count(a.body, "<details id=\"s"), "calls in a row are folded")

		_, rest, _ := strings.Cut(a.body, `id="steps" class="steps" tabindex="0" aria-label="Steps" data-keep data-log="../../../../tasks/1/runs/3/1/steps?" data-next="`)
		from, _, _ := strings.Cut(rest, `"`)
		require.NotEmpty(w, from)
		more := w.get(path + "/steps?from=" + from)
		require.Equal(w, []string{from, "true", "text/html; charset=utf-8"}, []string{more.header.Get("X-Log-Next"), more.header.Get("X-Log-Live"), more.header.Get("Content-Type")})
		require.Contains(w, a.body, more.body, "what is there already is sent as it is there")
		w.step(name, work.StepTool, "Bash", "", "go test ./...", 0)
		w.step(name, work.StepNote, "", "", "The budget is used up.", 0)
		more = w.get(path + "/steps?from=" + from)
		require.Regexp(w, `Read ×9, Edit .*file cmd/main.go .*Bash go test ./... \$0.41 .*note The budget is used up.`, plain(more.body))
		require.Contains(w, more.body, `id="s`+from+`"`)
		require.NotEqual(w, from, more.header.Get("X-Log-Next"))
		require.Equal(w, http.StatusNotFound, w.get("/tasks/1/runs/1/1/steps").status, "nothing was kept")
		require.Equal(w, http.StatusBadRequest, w.get(path+"/steps?from=-1").status)
		require.Contains(w, w.get("/tasks/1/runs/1/1").body, "Nothing was kept.", "a run that has left nothing")
	})
}

// Strangers' steps are words: no element, no link, no colour of a terminal, no flood.
func TestHostileSteps(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		name, path := w.atWork()
		steps := name
		steps.Stream = work.StreamSteps
		w.logs.Print(steps, "no JSON </ol><script>alert(1)</script>\n")
		for _, kind := range []work.StepKind{work.StepText, work.StepTool, work.StepFile, work.StepNote} {
			w.step(name, kind, evil, evil, evil+" task 1 https://evil.example.org \x00\u202e"+strings.Repeat("x", 50_000), 1)
		}
		w.Settle(3 * time.Second)
		for _, at := range []string{path, path + "/steps", "/tasks/1"} {
			a := w.get(at)
			require.Equal(w, http.StatusOK, a.status)
			p := read(w.T, at, a.body)
			require.Contains(w, p.text, "<script>alert(1)</script> task 1", at)
			for _, link := range p.links {
				require.NotContains(w, link, "evil", at)
			}
			if at != "/tasks/1" { // where the board's words are as they came
				require.NotRegexp(w, "[\u202e\x1b\x00]", a.body, at)
			}
			require.Less(w, len(a.body), 60_000, at)
		}
		require.Empty(w, read(w.T, path, w.get(path+"/steps").body).links)
	})
}

// A long run shows its end, and leads to the rest; calls in a row fold in bounded items, and
// a page that follows comes past any of them.
func TestManySteps(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		name, path := w.atWork()
		for i := range 400 {
			w.step(name, work.StepText, "", "", fmt.Sprintf("word %d.", i), 0)
		}
		body := w.get(path).body
		require.Equal(w, 300, strings.Count(body, `<li id="s`))
		require.Contains(w, plain(body), "the end of them · show all")
		require.NotContains(w, body, "word 99.")
		require.Equal(w, 400, strings.Count(w.get(path+"?steps=all").body, `<li id="s`))
		for range 1000 {
			w.step(name, work.StepTool, "Read", "", "x", 0)
			w.step(name, work.StepUsage, "", "", "", 5)
		}
		w.step(name, work.StepText, "", "", "the end", 0)
		last := ""
		for from, before := "0", ""; before != from; {
			before = from
			a := w.get(path + "/steps?from=" + from)
			require.Less(w, strings.Count(a.body, "<p class"), 310)
			from, last = a.header.Get("X-Log-Next"), a.body
		}
		require.Contains(w, last, "the end")
	})
}

// The page of a task shows what its run does, and comes up to date while it goes on: every
// two seconds at most.
func TestStepsOnTheTask(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		name, _ := w.atWork()
		w.step(name, work.StepTool, "Bash", "", "make check", 410_000)
		w.Settle(3 * time.Second)
		body := w.get("/tasks/1").body
		require.Contains(w, plain(body), "Follow run 3 1 tool call, $0.41 so far Bash make check")
		_, rest, _ := strings.Cut(body, `data-rev="`)
		rev, rest, _ := strings.Cut(rest, `"`)
		require.True(w, strings.HasPrefix(rest, ` data-watch="1/3/1"`), rest[:40])

		c := Serve(w.T, w.pages)()
		send(w.T, c, "/changes?rev="+rev+"&run=1/3/1")
		status, stream := receive(w.T, c)
		require.Equal(w, http.StatusOK, status)
		begin := time.Now()
		go func() {
			for range 100 {
				w.step(name, work.StepTool, "Read", "", "x", 0)
				time.Sleep(100 * time.Millisecond)
			}
		}()
		for range 5 {
			event, data := event(w.T, stream)
			require.Equal(w, "change", event)
			require.NotEqual(w, rev, data["rev"])
			rev = data["rev"]
		}
		require.GreaterOrEqual(w, time.Since(begin), 8*time.Second)
		time.Sleep(10 * time.Second)
	})
}

// The head of a run's page has what its record has.
func TestHeadOfARun(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		runs, err := w.Store.AgentRuns(context.Background(), 1)
		require.NoError(w, err)
		r := runs[0]
		r.Measured = &work.Measured{Told: work.Usage{MicroUSD: 2500}, Estimated: true}
		r.Agent, r.Vendor, r.Session, r.Prompt, r.Trouble = "claude", "anthropic", "session "+evil, "0123456789ab", work.TroubleCredit
		r.Refused = []work.Refusal{{Host: "evil.example.org:443", Times: 3}, {Host: "x:80", Times: 1, Why: "it is " + evil}}
		require.NoError(w, w.Store.Commit(context.Background(), task.Commit{Runs: []task.AgentRun{r}}))
		page := read(w.T, "/tasks/1/runs/1/1", w.get("/tasks/1/runs/1/1").body)
		text := words(page.text)
		for _, want := range []string{"Agent claude", "Vendor anthropic", "Session session </title></pre></script>", "Prompt 0123456789ab", "Cost $0.0015", "Measured by the model gateway, an answer that was cut off by its length", "The tool says $0.0025", "Every run of this agent would meet the same: its account is empty.",
			"The network refused 2 hosts", "evil.example.org:443 (3 times)", "x:80: it is </title>"} {
			require.Contains(w, text, want)
		}
		require.Len(w, page.scripts, 3)
		script := w.get("/" + strings.TrimLeft(page.scripts[2], "./"))
		require.LessOrEqual(w, len(script.body), 3_000, "the script is small")
	})
}
