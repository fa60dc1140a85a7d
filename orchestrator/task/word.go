package task

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Fate names what became of a person's word.
type Fate string

// The values of Fate. A word that was not judged yet has none.
const (
	FateActed      Fate = "acted"      // it has moved the task
	FateSuperseded Fate = "superseded" // another word stands by now
	FateRefused    Fate = "refused"    // who said it may not, or a gate is not green
	FateRepeated   Fate = "repeated"   // it was heard before, by another way
	FateNothing    Fate = "nothing"    // it means nothing where the task is
)

// Word is an act of a person that concerns a card, as it was heard: a status set on the board, a review, a push, or what
// was decided on a page, by the API or in a chat. It is durable, as a job, before it is acted on, and has one fate,
// which is written down in the transaction that ends the job.
type Word struct {
	Number  int64           `json:"number"` // the job's id: it rises in the order in which words are heard
	Card    string          `json:"card"`   // the tracker's id of the work item
	Said    string          `json:"said"`   // a status, another trigger, or the name of a column
	By      stage.Principal `json:"by"`
	Act     string          `json:"act,omitempty"`    // the source's own id of it, such as that of the entry in the tracker's log
	SaidAt  time.Time       `json:"said_at,omitzero"` // by the source's clock
	HeardAt time.Time       `json:"heard_at"`
	Fate    Fate            `json:"fate,omitempty"`
	Of      int64           `json:"of,omitempty"`       // the word that it repeats, or that stands in its place, where that has a number
	Seq     int64           `json:"decision,omitempty"` // State.Seq of the decision that answers it
	Why     string          `json:"why,omitempty"`      // a sentence
}

// Entry is the line of the journal about a word.
func (w Word) Entry(t Task, seq int64, at time.Time) JournalEntry {
	payload, _ := json.Marshal(w) // it has texts, numbers and times alone
	return JournalEntry{TaskID: t.ID, Seq: seq, At: at, Kind: KindWord, Payload: payload}
}

// Word decodes a journal entry of kind "word"; ok is false for another.
func (j JournalEntry) Word() (w Word, ok bool) {
	return w, j.Kind == KindWord && json.Unmarshal(j.Payload, &w) == nil
}

// String is the word and its fate for people.
func (w Word) String() string {
	said := w.Said
	if info, known := stage.StatusNamed(stage.Status(w.Said)); known {
		said = info.Name
	}
	text := fmt.Sprintf("%d. %s by %s, heard %s: ", w.Number, cmp.Or(said, "a move"), w.By, w.HeardAt.UTC().Format(time.RFC3339))
	of := ""
	if w.Of != 0 {
		of = fmt.Sprintf(" (%d)", w.Of)
	}
	switch w.Fate {
	case FateActed:
		text += "acted on"
	case FateSuperseded:
		text += "another word stands by now" + of
	case FateRefused:
		text += "refused"
	case FateRepeated:
		text += "heard before" + of
	case FateNothing:
		text += "means nothing here"
	default:
		text += "not judged yet"
	}
	if w.Why != "" {
		text += ": " + w.Why
	}
	return text
}
