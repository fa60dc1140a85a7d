package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// journalMax is how many entries a page of the journal shows.
const journalMax = 60

// journalPage is a part of the journal, newest first.
type journalPage struct {
	Entries []journalLine
	Task    int64 // the only one that is shown; 0 = all
	Older   int64 // cursor; 0 = this is the beginning
	Newest  bool  // this is the end
}

// journalLine is one entry.
type journalLine struct {
	event
	ID   int64
	Task task.Task
}

func (s *server) journal(r *http.Request) (view, error) {
	var p journalPage
	before, err1 := access.Number(r, "before", 0, " must be a whole number.", 0, math.MaxInt64)
	only, err2 := access.Number(r, "task", 0, " must be a whole number.", 0, math.MaxInt64)
	if p.Task = only; err1 != nil || err2 != nil {
		return view{}, cmp.Or(err1, err2)
	}
	entries, err := s.History.JournalBefore(r.Context(), p.Task, before, journalMax+1)
	if err != nil {
		return view{}, err
	}
	if p.Newest = before == 0; len(entries) > journalMax {
		entries = entries[:journalMax]
		p.Older = entries[journalMax-1].ID
	}
	ids := map[int64]bool{}
	for _, e := range entries {
		ids[e.TaskID] = true
	}
	tasks, err := s.tasksOf(r.Context(), ids)
	reader := access.Of(r.Context())
	for _, e := range entries {
		if t, known := tasks[e.TaskID]; !reader.Reads("") && (!known || !reader.Reads(t.Repo)) {
			continue
		}
		p.Entries = append(p.Entries, journalLine{event: eventOf(e), ID: e.ID, Task: tasks[e.TaskID]})
	}
	return view{Name: "journal", Title: "Journal", Nav: "journal", Still: !p.Newest, Data: p}, err
}

// momentPage is an entry of the journal, and where everything stood then.
type momentPage struct {
	Line     journalLine
	Event    string // the event as it was recorded
	Effects  []string
	Replayed string // what the machine decides today; empty: it was no decision
	Same     bool
	What     []string // where it differs
	Columns  []pastColumn
	Live     int
	Before   int64
	After    int64
}

// pastColumn is a stage as it was.
type pastColumn struct {
	Stage stage.Stage
	Cards []pastCard
}

// pastCard is a task as it was.
type pastCard struct {
	ID          int64
	Item, Title string
	State       stage.State
	Note        string // why it stood there
	At          time.Time
	Here        bool // it is the task of the entry
}

func (s *server) moment(r *http.Request) (none view, err error) {
	ctx, id := r.Context(), id(r)
	found, err := s.Engine.Records.JournalSince(ctx, id-1, 2)
	if err != nil {
		return none, err
	}
	if len(found) == 0 || found[0].ID != id {
		return none, notFound("There is no such entry in the journal.")
	}
	p := momentPage{Line: journalLine{event: eventOf(found[0]), ID: id}}
	if len(found) > 1 {
		p.After = found[1].ID
	}
	if before, err := s.History.JournalBefore(ctx, 0, id, 1); err == nil && len(before) > 0 {
		p.Before = before[0].ID
	}
	if err := s.replay(r, found[0], &p); err != nil {
		return none, err
	}
	past, err := s.History.DecisionsAt(ctx, id)
	if err != nil {
		return none, err
	}
	ids := map[int64]bool{found[0].TaskID: true}
	for _, e := range past {
		ids[e.TaskID] = true
	}
	tasks, err := s.tasksOf(ctx, ids)
	if err != nil {
		return none, err
	}
	p.Line.Task = tasks[found[0].TaskID]
	maps.DeleteFunc(tasks, func(_ int64, t task.Task) bool { return !access.Of(ctx).Reads(t.Repo) })
	p.Columns = pastColumns(s.Engine.Machine().Pipeline(), past, tasks, found[0].TaskID)
	for _, c := range p.Columns {
		if !c.Stage.Terminal() {
			p.Live += len(c.Cards)
		}
	}
	return view{Name: "moment", Title: "Journal entry " + strconv.FormatInt(id, 10), Nav: "journal", Still: true, Data: p}, nil
}

// replay decides the entry once more, with its task's whole story before it.
func (s *server) replay(r *http.Request, e task.JournalEntry, p *momentPage) error {
	rec, err := e.Recorded()
	if err != nil {
		return nil // no decision: there is nothing to decide again
	}
	p.Event = pretty(rec.Event)
	for _, f := range rec.Decision.Effects {
		p.Effects = append(p.Effects, effectHead(orchestrator.Effect{Effect: f}))
	}
	again, err := admin.Replay(r.Context(), s.Engine, e.TaskID)
	d, differs := again.At(e.ID)
	switch p.Same = !differs; {
	case differs:
		p.Replayed, p.What = "something else, by the present pipeline, features and settings", d.What
	case again.Broken != "": // nobody can say what stood behind it
		p.Same, p.Replayed = false, "nothing is sure: "+again.Broken
	default:
		p.Replayed = "the same"
	}
	return err
}

func pretty(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return b.String()
}

// pastColumns sorts tasks into the stages at which their last decision left them.
func pastColumns(p stage.Pipeline, past []task.JournalEntry, tasks map[int64]task.Task, here int64) []pastColumn {
	var out []pastColumn
	at := map[stage.Stage]int{}
	for i, info := range p.Stages {
		at[info.Stage] = i
		out = append(out, pastColumn{Stage: info.Stage})
	}
	for _, e := range past {
		r, err := e.Recorded()
		t, known := tasks[e.TaskID]
		n, ok := at[r.Decision.State.Stage]
		if err != nil || !known || !ok {
			continue
		}
		c := pastCard{ID: t.ID, Item: item(t.WorkItemID), Title: t.Title, State: r.Decision.State, At: e.At, Here: t.ID == here}
		if notes := r.Decision.Notes; len(notes) > 0 {
			c.Note = notes[len(notes)-1]
		}
		out[n].Cards = append(out[n].Cards, c)
	}
	return out
}
