package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// JournalEntry is one line of a task's story. It is never changed.
type JournalEntry struct {
	ID      int64
	TaskID  int64
	Seq     int64 // State.Seq after the entry; it is no name: entries of one commit share it, and events that changed nothing
	At      time.Time
	Kind    string // KindDecision, KindOperator, or a feature's own
	Payload []byte // JSON
}

// Kinds of journal entries. A feature may have others.
const (
	KindDecision = "decision" // the payload is a Recorded
	KindOperator = "operator" // the payload is an Act
	KindLeft     = "left"     // the payload is a work.Left
	KindPrompt   = "prompt"   // the payload is a Note
	KindHook     = "hook"     // the payload is a Note
	KindText     = "text"     // the card was edited: the payload is a Note
	KindWord     = "word"     // the payload is a Word
	KindHolding  = "holding"  // the payload is a Holding
	// KindCredential: a secret was minted for a run, or revoked; the payload is a Note.
	KindCredential = "credential"
)

// Note is the payload of an entry that is a sentence for people.
type Note struct {
	Result string `json:"result"`
}

// Recorded is the payload of a journal entry of kind "decision": enough to make
// the decision again.
type Recorded struct {
	Event    stage.Event    `json:"event"` // what happened
	Decision stage.Decision `json:"decision"`
	// Derived holds the conclusions of the policy from the event. Entries of before have them in the event.
	Derived *stage.Derived `json:"derived,omitempty"`
	Subject string         `json:"subject,omitempty"` // the Content with the gates.Frozen that the gates have judged
	Policy  string         `json:"policy,omitempty"`  // the Content with the settings, registry and pipeline in force
	Word    int64          `json:"word,omitempty"`    // the number of the person's word that the event is
}

// Payload is the record as an entry keeps it.
func (r Recorded) Payload() []byte {
	d := r.Event.Derived
	r.Event.Derived, r.Derived = stage.Derived{}, &d
	payload, _ := json.Marshal(r) // it has texts, numbers and times alone
	return payload
}

// Recorded decodes a journal entry of kind "decision".
func (j JournalEntry) Recorded() (Recorded, error) {
	var r Recorded
	if j.Kind != KindDecision {
		return r, fmt.Errorf("journal entry %d is a %s, not a decision", j.ID, j.Kind)
	}
	if err := json.Unmarshal(j.Payload, &r); err != nil {
		return r, fmt.Errorf("journal entry %d is no record of a decision: %w", j.ID, err)
	}
	if r.Derived != nil {
		r.Event.Derived, r.Derived = *r.Derived, nil
	}
	return r, nil
}

// Acts of an operator.
const (
	ActRetry    = "retry"
	ActStop     = "stop"
	ActUndo     = "undo"
	ActUnfreeze = "unfreeze"
	ActHasten   = "hasten"
	ActAgain    = "again"
	ActDepend   = "depend"
	ActUndepend = "undepend"
	ActReload   = "reload"
	ActResume   = "resume"
	ActPause    = "pause"
	ActUnpause  = "unpause"
	ActApprove  = "approve"
	ActReject   = "reject"
	ActConfirm  = "confirm"
	ActNote     = "note"   // for the next run
	ActAnswer   = "answer" // to questions; the run begins

	ActTokenAdd      = "add token"
	ActTokenRevoke   = "revoke token"
	ActSessionRevoke = "end sessions"

	ActTracksHide    = "hide tracks"
	ActTracksUnhide  = "unhide tracks"
	ActTracksRemove  = "remove tracks"
	ActTracksReadmit = "readmit tracks"
)

// Act is a request of an operator. It is in the journal before anything is
// done about it.
type Act struct {
	Act  string          `json:"act"`
	By   stage.Principal `json:"by"`
	Repo string          `json:"repo,omitempty"` // of an act that concerns no task
	Lane string          `json:"lane,omitempty"` // of one that concerns a lane
	Job  int64           `json:"job,omitempty"`  // the effect that is made again
	On   int64           `json:"on,omitempty"`   // the task that is waited for
	Use  string          `json:"use,omitempty"`  // the agent whose pause ends
	Name string          `json:"name,omitempty"` // of a token, with its right, of sessions, or of a zone or tracks
	Why  string          `json:"why,omitempty"`  // in the operator's words
}

// What is the act and what it concerns beside the task.
func (a Act) What() string {
	words := a.Act
	for _, more := range []string{a.Repo, a.Lane, a.Use, a.Name} {
		if more != "" {
			words += " " + more
		}
	}
	if a.Job != 0 {
		words += fmt.Sprintf(" effect %d", a.Job)
	}
	if a.On != 0 {
		words += fmt.Sprintf(" on task %d", a.On)
	}
	return words
}

// ActEntry is the journal entry of an act that concerns no task.
func ActEntry(at time.Time, a Act) JournalEntry {
	payload, _ := json.Marshal(a) // it has texts and numbers alone
	return JournalEntry{At: at, Kind: KindOperator, Payload: payload}
}

// Acted decodes a journal entry of kind "operator".
func (j JournalEntry) Acted() (Act, error) {
	var a Act
	if j.Kind != KindOperator {
		return a, fmt.Errorf("journal entry %d is a %s, not an operator's act", j.ID, j.Kind)
	}
	err := json.Unmarshal(j.Payload, &a)
	return a, err
}

// Result returns what a feature wrote down of a task on its own account, such as what
// the monitor saw after the deployment.
func (j JournalEntry) Result() string {
	var r struct{ Result, Last string }
	if j.Kind == KindDecision || j.Kind == KindOperator || json.Unmarshal(j.Payload, &r) != nil || r.Result == "" {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", j.Kind, r.Result, r.Last), ": ")
}

// Records reads what happened.
type Records interface {
	// Journal lists a task's entries, oldest first: see Commit.Journal.
	Journal(ctx context.Context, taskID int64) ([]JournalEntry, error)
	// JournalSince lists entries of all tasks with larger ids than after, oldest
	// first, at most limit; after -1 it lists the newest entry alone.
	JournalSince(ctx context.Context, after int64, limit int) ([]JournalEntry, error)
	GateResults(ctx context.Context, taskID int64) ([]GateResult, error)
	// AgentRuns lists the runs of tasks, or of all of them for none.
	AgentRuns(ctx context.Context, taskIDs ...int64) ([]AgentRun, error)
	// LastDelivery is when a sender's newest delivery came; zero = never.
	LastDelivery(ctx context.Context, source string) (time.Time, error)
}

// Left decodes a journal entry of kind "left".
func (j JournalEntry) Left() (work.Left, error) {
	var l work.Left
	if j.Kind != KindLeft {
		return l, fmt.Errorf("journal entry %d is a %s, not what an attempt has left", j.ID, j.Kind)
	}
	err := json.Unmarshal(j.Payload, &l)
	return l, err
}
