package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Limits of a page's steps.
const (
	stepsMax  = 300
	allMax    = 10_000 // with ?steps=all
	foldMax   = 50     // calls in one item
	shownLast = 2      // calls of an item that are not folded
)

// steps holds what a run has done, as its page shows it.
type steps struct {
	Items []stepItem
	Next  int64 // where the page goes on
	Cut   bool  // there are earlier ones
	All   bool  // as many as can be shown were requested
	Path  string
	Live  bool
}

// stepItem is words of the agent or the service, or calls of tools and changes of files
// in a row.
type stepItem struct {
	ID     string // from the item's place in the stream: a page replaces the item that has grown
	From   int64
	Says   *work.Step // one or the other
	Folded []work.Step
	Calls  []work.Step
	Usage  *work.Usage // of the run up to here; nil = not known
}

// itemsOf puts steps together to items, and returns where to go on: at the last item, which
// may grow.
func itemsOf(lines []follow.Line, next int64, more bool) ([]stepItem, int64) {
	var items []stepItem
	for i, l := range lines {
		call := l.Kind == work.StepTool || l.Kind == work.StepFile
		grows := call && len(items) > 0 && items[len(items)-1].Says == nil && len(items[len(items)-1].Calls) < foldMax
		if l.Kind != work.StepUsage && !grows {
			items = append(items, stepItem{ID: "s" + strconv.FormatInt(l.From, 10), From: l.From})
		}
		if len(items) == 0 {
			continue
		}
		last := &items[len(items)-1]
		if call {
			last.Calls = append(last.Calls, l.Step)
		} else if l.Kind != work.StepUsage {
			last.Says = &lines[i].Step
		}
		if l.Usage != nil {
			last.Usage = l.Usage
		}
	}
	if len(items) > 0 && !more {
		next = items[len(items)-1].From
	}
	for i := range items {
		if n := len(items[i].Calls); n > shownLast+1 {
			items[i].Folded, items[i].Calls = items[i].Calls[:n-shownLast], items[i].Calls[n-shownLast:]
		}
	}
	return items, next
}

// lastSteps reads the end of what a run has done.
func (s *server) lastSteps(r *http.Request, l follow.Execution) (steps, error) {
	out := steps{
		Live: l.Live, All: r.URL.Query().Get("steps") == "all",
		Path: fmt.Sprintf("tasks/%d/runs/%d/%d", l.TaskID, l.Run, l.Attempt),
	}
	f, err := l.Steps(r.Context(), s.Logs)
	if err != nil {
		return out, err
	}
	defer f.Close()
	limit := stepsMax
	if out.All {
		limit = allMax
	}
	lines, next, cut, err := follow.Tail(f, limit, !l.Live)
	out.Items, out.Next = itemsOf(lines, next, false)
	out.Cut = cut
	return out, err
}

// moreSteps serves the items of a run from an offset on, as the page has them: ?from=. The
// header X-Log-Next is where to go on, at an item that is there already and may have grown.
func (s *server) moreSteps(w http.ResponseWriter, r *http.Request) {
	l, f, from, err := s.openLog(w, r, work.StreamSteps)
	if err != nil {
		s.plain(w, err)
		return
	}
	out := steps{Live: l.Live, Next: from}
	if f != nil {
		defer f.Close()
		lines, next, err := follow.Read(f, from, stepsMax, !l.Live)
		if err != nil {
			s.plain(w, err)
			return
		}
		out.Items, out.Next = itemsOf(lines, next, len(lines) == stepsMax)
	}
	var body bytes.Buffer
	if err := s.pages["run"].ExecuteTemplate(&body, "stepitems", map[string]any{"At": s.Engine.Now(), "Items": out.Items}); err != nil {
		s.plain(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Log-Next", strconv.FormatInt(out.Next, 10))
	_, _ = w.Write(body.Bytes())
}

// progress is how far a run is.
func (s *server) progress(ctx context.Context, l follow.Execution) follow.Progress {
	p, err := s.runs.Progress(ctx, l)
	if err != nil {
		s.Log.Error("the steps of a run cannot be read", "task", l.TaskID, "run", l.Run, "err", err)
	}
	return p
}

// watch has the page updated when a run that works goes on.
func (v *view) watch(l follow.Execution, p follow.Progress) {
	if l.Live {
		v.Watch, v.Seen = fmt.Sprintf("%d/%d/%d", l.TaskID, l.Run, l.Attempt), seenOf(p)
	}
}

func seenOf(p follow.Progress) string { return fmt.Sprintf(".%d", p.Next) }

// watched returns what reads how far the run of ?run= is, as view.Seen.
func (s *server) watched(r *http.Request) func() string {
	none := func() string { return "" }
	var id, run int64
	var attempt int
	if _, err := fmt.Sscanf(r.URL.Query().Get("run"), "%d/%d/%d", &id, &run, &attempt); err != nil {
		return none
	}
	t, list, err := follow.Of(r.Context(), s.Engine, id, run)
	if err != nil || !access.Of(r.Context()).Reads(t.Repo) {
		return none // the page comes again with its own error
	}
	for _, x := range list {
		if x.Live && x.Attempt == attempt {
			return func() string { return seenOf(s.progress(r.Context(), x)) }
		}
	}
	return none
}

// counts sums calls up: "Read ×3, Bash, 2 files".
func counts(calls []work.Step) string {
	var names []string
	n, files := map[string]int{}, map[string]bool{}
	for _, c := range calls {
		if c.Kind == work.StepFile {
			files[c.Path] = true
			continue
		}
		if n[c.Tool]++; n[c.Tool] == 1 {
			names = append(names, c.Tool)
		}
	}
	for i, name := range names {
		if n[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, n[name])
		}
	}
	if len(names) > 6 {
		names = append(names[:6], fmt.Sprintf("%d other tools", len(n)-6))
	}
	if len(files) > 0 {
		names = append(names, countOf(len(files), "file"))
	}
	return strings.Join(names, ", ")
}

// fact is something about a run, in its head.
type fact struct {
	Name, Text string
	Code       bool
}

// factsOf lists what is known of a run: of one at work what its steps say.
func factsOf(l follow.Execution, p follow.Progress) (out []fact) {
	usage := l.Usage
	cost := "Cost"
	if l.Live {
		usage, cost = p.Usage, "Cost so far"
	}
	how, told := measured(l)
	for _, f := range []fact{
		{"Agent", l.Agent, true}, {"Model", usage.Model, false}, {"Vendor", l.Vendor, false},
		{"Session", l.Session, true}, {"Prompt", l.Prompt, true}, {cost, sofar(&usage), false},
		{"Measured", how, false}, {"The tool says", told, false},
	} {
		if f.Text = follow.Clean(f.Text, textMax); f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// measured is how the usage of a run was measured, and what its tool says where that differs.
func measured(l follow.Execution) (how, told string) {
	m := l.Measured
	if m == nil || l.Live {
		return "", ""
	}
	if how = "by the model gateway"; m.Estimated {
		how += ", an answer that was cut off by its length"
	}
	if m.Differs(l.Usage) {
		told = sofar(&m.Told)
	}
	return how, told
}

// doingText is a step in one line.
func doingText(s work.Step) string {
	text, _, _ := strings.Cut(strings.TrimSpace(s.Text), "\n")
	switch s.Kind {
	case work.StepTool:
		text = strings.TrimSpace(s.Tool + " " + text)
	case work.StepFile:
		text = "changes " + s.Path
	}
	return follow.Clean(text, textMax)
}

// agentWords are words of an agent: no links are made of them.
func agentWords(text string) string { return follow.Clean(text, wordsMax) }

// wordsMax bounds the closing words of an agent, and what else it has given, in characters.
const wordsMax = 4000

// sofar renders what a run has cost up to a step; empty when it is not known.
func sofar(u *work.Usage) string {
	if u == nil {
		return ""
	}
	if u.MicroUSD > 0 {
		return stage.Dollars(u.MicroUSD)
	}
	if n := (task.Cost{Usage: *u}).In() + u.Output; n > 0 {
		return tokens(n) + " tokens"
	}
	return ""
}

// did sums up what a run has done: "14 files, 32 tool calls, $0.41 so far".
func did(p follow.Progress, live bool) string {
	var list []string
	if p.Files > 0 {
		list = append(list, countOf(p.Files, "file"))
	}
	if p.Tools > 0 {
		list = append(list, countOf(p.Tools, "tool call"))
	}
	if cost := sofar(&p.Usage); cost != "" {
		list = append(list, cost)
	}
	text := strings.Join(list, ", ")
	if text != "" && live {
		text += " so far"
	}
	return text
}

func countOf(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return stage.Thousands(int64(n)) + " " + what
}
