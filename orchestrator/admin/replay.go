package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Replayed holds the result of deciding a task's journal again.
type Replayed struct {
	TaskID    int64        `json:"task_id"`
	Decisions int          `json:"decisions"`         // that were decided again
	Differ    []difference `json:"differ,omitempty"`  // in the order of the journal
	Other     int          `json:"other,omitempty"`   // by another policy, or from before these were kept: what was concluded stands
	Unknown   []Unknown    `json:"unknown,omitempty"` // decided by what was concluded then
	Broken    string       `json:"broken,omitempty"`  // an entry that cannot be read: nothing behind it was decided again
}

// Unknown is an entry in whose place facts are lacking, and which.
type Unknown struct {
	EntryID int64    `json:"entry_id"`
	Lacks   []string `json:"lacks"`
}

// First is the first difference, or the entry that cannot be read, for people; empty
// when every decision was decided again as it is recorded.
func (r Replayed) First() string {
	if len(r.Differ) > 0 {
		return r.Differ[0].String()
	}
	return r.Broken
}

// At returns the difference at an entry, if there is one.
func (r Replayed) At(entryID int64) (difference, bool) {
	i := slices.IndexFunc(r.Differ, func(d difference) bool { return d.EntryID == entryID })
	if i < 0 {
		return difference{}, false
	}
	return r.Differ[i], true
}

// difference is a decision of a journal that is decided otherwise now.
type difference struct {
	EntryID  int64          `json:"entry_id"`
	At       time.Time      `json:"at"`
	Event    stage.Event    `json:"event"`
	Recorded stage.Decision `json:"recorded"`
	Now      stage.Decision `json:"now"`
	What     []string       `json:"what"` // each value that differs, as "state.stage: "review" was recorded, "testing" is decided now"
}

// String is the difference for people, in several lines.
func (d difference) String() string {
	return fmt.Sprintf("entry %d, %s at %s:\n  recorded: %s\n  now:      %s\n  %s", d.EntryID, d.Event.On, d.At.UTC().Format(time.RFC3339),
		summary(d.Recorded), summary(d.Now), strings.Join(d.What, "\n  "))
}

// summary is a decision in one line.
func summary(d stage.Decision) string {
	text := "stays at "
	if d.Moved {
		text = "goes on at "
	}
	text += string(d.State.Stage)
	if d.State.Hold != "" {
		text += " (" + string(d.State.Hold) + ")"
	}
	return text + ": " + strings.Join(d.Notes, "; ")
}

// Replay decides every decision of a task's journal again, with the pipeline, the
// features and the settings of this engine. Each is decided on the state that the one
// before has recorded, not on what would be decided now: one difference makes no
// others behind it. Entries of other kinds are passed over.
func Replay(ctx context.Context, e *orchestrator.Engine, taskID int64) (Replayed, error) {
	out := Replayed{TaskID: taskID}
	broken, err := decideAgain(ctx, e, taskID, false, func(entry task.JournalEntry, _ stage.State, r task.Recorded, again decided) {
		if what := differences(r.Decision, again.Decision); len(what) > 0 {
			out.Differ = append(out.Differ, difference{entry.ID, entry.At, r.Event, r.Decision, again.Decision, what})
		}
		if again.Other {
			out.Other++
		}
		if len(again.Unknown) > 0 {
			out.Unknown = append(out.Unknown, Unknown{entry.ID, again.Unknown})
		}
		out.Decisions++
	})
	out.Broken = broken
	return out, err
}

type decided = orchestrator.Again

// decideAgain decides every decision of a task's journal again. broken is the entry that cannot be read.
func decideAgain(
	ctx context.Context, e *orchestrator.Engine, taskID int64, against bool,
	f func(task.JournalEntry, stage.State, task.Recorded, decided),
) (broken string, err error) {
	row, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return "", err
	}
	entries, err := e.Records.Journal(ctx, taskID)
	if err != nil {
		return "", err
	}
	var s stage.State
	for _, entry := range entries {
		if entry.Kind != task.KindDecision {
			continue
		}
		r, err := entry.Recorded()
		if err != nil {
			return err.Error(), nil
		}
		again, err := orchestrator.DecideAgain(ctx, e, row, s, r, entry.At, against)
		if err != nil {
			return "", err
		}
		f(entry, s, r, again)
		s = r.Decision.State
	}
	return "", nil
}

// differences lists where two decisions differ as they are stored.
func differences(recorded, now stage.Decision) []string {
	a, _ := json.Marshal(recorded) // decisions always encode
	b, _ := json.Marshal(now)
	if bytes.Equal(a, b) {
		return nil
	}
	was, is := map[string]string{}, map[string]string{}
	flatten("", a, was)
	flatten("", b, is)
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if was[key] != is[key] {
			out = append(out, fmt.Sprintf("%s: %s was recorded, %s is decided now", key, value(was[key]), value(is[key])))
		}
	}
	return out
}

func value(text string) string {
	return cmp.Or(text, "nothing")
}

// flatten lists the values in a JSON text by their paths, such as effects.0.kind.
func flatten(path string, text json.RawMessage, out map[string]string) {
	below := func(name string, v json.RawMessage) { flatten(strings.TrimPrefix(path+"."+name, "."), v, out) }
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(text, &object) == nil && object != nil:
		for name, v := range object {
			below(name, v)
		}
	case json.Unmarshal(text, &list) == nil && list != nil:
		for i, v := range list {
			below(fmt.Sprint(i), v)
		}
	default:
		out[path] = string(text)
	}
}
