package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// storyMax bounds the entries of the journal on a task's page.
const storyMax = 200

// Kinds of events in a timeline.
const (
	eventHuman  = "human"
	eventMove   = "move" // the task changed its stage
	eventGate   = "gate"
	eventRun    = "run"
	eventEffect = "effect"
	eventNote   = "note" // anything else that was decided, or noted
)

// event is one line of a timeline.
type event struct {
	Kind    string
	At      time.Time
	Head    string // what happened
	By      string // who did it, when that was a person
	Notes   []string
	State   string         // of an effect or run
	Bad     bool           // it went wrong
	Verdict *gates.Verdict // with its evidence
	Run     *follow.Execution
	Entry   int64       // of the journal: the moment can be looked at
	To      stage.Stage // the task came to it by this
	Small   bool        // an effect that was made, or an event that moved nothing
}

// chapter is the part of a story that was spent at one stage, its events newest first.
type chapter struct {
	N      int // from the first one on
	Stage  stage.Stage
	From   time.Time
	Took   time.Duration
	Cost   task.Cost
	Events []event
	Small  []event
	Open   bool
}

// chaptersOf divides a story, the newest event first, by the stages that it has come to; so are the chapters. The event that
// ends a stage belongs to it.
func chaptersOf(story []event, now time.Time, over bool) (out []chapter) {
	for _, e := range slices.Backward(story) {
		if len(out) == 0 {
			out = append(out, chapter{Stage: e.To, From: e.At})
		}
		at := &out[len(out)-1]
		if e.Small {
			at.Small = append(at.Small, e)
		} else {
			at.Events = append(at.Events, e)
		}
		if e.Run != nil && !e.Run.Live {
			at.Cost.Add(e.Run.Cost())
		}
		if at.Took = max(now.Sub(at.From), 0); e.To == "" || e.To == at.Stage {
			continue
		}
		at.Took = e.At.Sub(at.From)
		out = append(out, chapter{N: len(out), Stage: e.To, From: e.At})
	}
	for i := range out {
		slices.Reverse(out[i].Events)
		slices.Reverse(out[i].Small)
	}
	if n := len(out) - 1; n >= 0 {
		out[n].Open = !over
	}
	slices.Reverse(out)
	return out
}

// timeline puts a task's facts in one order, the newest first.
func timeline(runs []follow.Execution, verdicts []task.GateResult, jobs []queue.Job, journal []task.JournalEntry) (out []event) {
	given := map[int]bool{}
	for _, e := range journal {
		if e.Kind == task.KindWord || e.Kind == task.KindHolding { // they have a list of their own, and what holds is shown
			continue
		}
		ev := eventOf(e)
		for i, g := range verdicts {
			if !given[i] && judged(e, g) {
				ev.Verdict, given[i] = &g.Verdict, true
				break
			}
		}
		if ev.Verdict != nil && ev.Kind == eventNote {
			ev.Kind, ev.Small = eventGate, false
		}
		out = append(out, ev)
	}
	for i, r := range runs {
		bad := !r.Live && r.Status != "ok"
		head := fmt.Sprintf("%s at work (run %d, attempt %d)", r.Role, r.Run, r.Attempt)
		out = append(out, event{Kind: eventRun, At: r.Started, Head: head, State: r.Status, Bad: bad, Run: &runs[i]})
	}
	for _, j := range jobs {
		if orchestrator.IsEffect(j) {
			out = append(out, effectOf(j))
		}
	}
	slices.SortStableFunc(out, func(a, b event) int { return b.At.Compare(a.At) })
	return out
}

// judged reports whether a verdict is that of a decision: they were written in the
// same commit, and the decision's edge leaves the stage that was judged.
func judged(e task.JournalEntry, g task.GateResult) bool {
	r, err := e.Recorded()
	return err == nil && g.At.Equal(e.At) && fromOf(r.Decision.Edge) == cmp.Or(string(g.Stage), "(none)")
}

// eventOf reads an entry of the journal.
func eventOf(e task.JournalEntry) event {
	ev := event{Kind: eventNote, At: e.At, Entry: e.ID, Head: e.Kind}
	if r, err := e.Recorded(); err == nil {
		return decisionOf(ev, r)
	}
	if a, err := e.Acted(); err == nil {
		ev.Kind, ev.Head, ev.By = eventHuman, "asked for: "+a.What(), a.By.String()
		return ev
	}
	if left, err := e.Left(); err == nil {
		ev.Head = "left uncommitted"
		ev.Notes = []string{"What the attempt before had not committed is kept in the mirror as " + left.Ref + "."}
		return ev
	}
	if result := e.Result(); result != "" {
		ev.Notes = []string{result}
		return ev
	}
	ev.Notes = []string{string(e.Payload[:min(len(e.Payload), 500)])}
	return ev
}

func decisionOf(ev event, r task.Recorded) event {
	d := r.Decision
	ev.Notes, ev.By = d.Notes, r.Event.By.String()
	ev.Head = string(r.Event.On)
	if info, ok := stage.StatusNamed(stage.Status(r.Event.On)); ok {
		ev.Kind, ev.Head = eventHuman, "set "+info.Name
		ev.By = cmp.Or(ev.By, "a person")
	}
	ev.Small = ev.Kind == eventNote && !d.Moved && r.Event.Reason == "" && r.Event.Denied == ""
	if r.Event.Reason != "" {
		ev.Notes = append([]string{r.Event.Reason}, ev.Notes...)
	}
	if from, to := fromOf(d.Edge), d.State.Stage; d.Moved && to != "" && from != string(to) {
		if ev.Kind == eventNote {
			ev.Kind = eventMove
		}
		ev.To = to
		ev.Head = fmt.Sprintf("%s: %s → %s", ev.Head, from, to)
	}
	return ev
}

// fromOf is the stage that an edge, as it prints itself, leaves.
func fromOf(edge string) string {
	from, _, _ := strings.Cut(edge, " --")
	return from
}

// effectOf is a debt to the outside world, made or not.
func effectOf(j queue.Job) event {
	ev := event{Kind: eventEffect, At: j.CreatedAt, Head: strings.TrimPrefix(j.Kind, "effect/"), State: string(j.Status)}
	ev.Bad = j.Status == queue.Failed || j.Status == queue.Queued && j.Error != ""
	if !j.FinishedAt.IsZero() {
		ev.At = j.FinishedAt
	}
	var e orchestrator.Effect
	if json.Unmarshal(j.Payload, &e) == nil {
		ev.Head = effectHead(e)
	}
	if ev.Small = !ev.Bad; j.Error != "" {
		ev.Notes = []string{j.Error}
	}
	if j.Attempt > 1 {
		ev.State = fmt.Sprintf("%s, attempt %d", ev.State, j.Attempt)
	}
	return ev
}

// textMax bounds the text of an effect in a line.
const textMax = 160

func effectHead(e orchestrator.Effect) string {
	text, _, _ := strings.Cut(strings.TrimSpace(e.Text), "\n")
	if runes := []rune(text); len(runes) > textMax {
		text = string(runes[:textMax]) + "…"
	}
	switch {
	case e.Kind == stage.EffectStatus:
		return "status: " + statusName(e.Status)
	case e.Kind == stage.EffectComment && e.Author != "":
		return fmt.Sprintf("comment (%s): %s", e.Author, text)
	case (e.Kind == stage.EffectPublish || e.Kind == stage.EffectMerge) && e.SHA != "":
		return string(e.Kind) + " " + short(e.SHA)
	case text != "" && !strings.HasPrefix(text, "{"):
		return string(e.Kind) + ": " + text
	}
	return string(e.Kind)
}
