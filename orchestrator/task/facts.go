package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Fact is something that is so until it is taken back, beside the rows of tasks: that people were
// notified, who has a place, by which task a repository is frozen. Kind, Of and Task are its identity.
type Fact struct {
	Kind  FactKind
	Of    string    // a repository, a board, a neighbour: as its kind has it
	Task  int64     // the task that it is about; 0 = none
	Text  string    // for people
	Since time.Time // set by the store, and kept when the text changes
}

// FactKind names what a fact says.
type FactKind string

// FactPlace says that a task is in work in a repository. The journal tells of it: see Tell.
const FactPlace FactKind = "place"

// Holding is the payload of an entry of kind "holding": what a task takes and leaves, what comes to hold its agents,
// and what was read when that was judged.
type Holding struct {
	Took  []string          `json:"took,omitempty"` // as "place acme/app"
	Left  []string          `json:"left,omitempty"`
	Held  map[string]string `json:"held,omitempty"` // reasons by rule
	Freed []string          `json:"freed,omitempty"`
	Saw   map[string]any    `json:"saw,omitempty"` // by rule
}

// Tell adds to a commit the entry about what it takes, leaves, holds and frees of a task, if anything. freed are rows
// that there are.
func (c *Commit) Tell(t Task, at time.Time, freed []queue.Hold) {
	var h Holding
	list := func(from []Fact) (out []string) {
		for _, f := range from {
			if f.Kind == FactPlace {
				out = append(out, string(f.Kind)+" "+f.Of)
			}
		}
		return out
	}
	h.Took, h.Left, h.Saw = list(c.Facts), list(c.Over), c.Saw
	for _, row := range c.Hold {
		if h.Held == nil {
			h.Held = map[string]string{}
		}
		h.Held[row.Name] = row.Reason
	}
	for _, row := range freed {
		h.Freed = append(h.Freed, row.Name)
	}
	if payload, _ := json.Marshal(h); len(payload) > len("{}") { // it has texts and numbers alone
		c.Journal = append(c.Journal, JournalEntry{TaskID: t.ID, Seq: t.State.Seq, At: at, Kind: KindHolding, Payload: payload})
	}
}

// Is reports whether two facts have the same identity.
func (f Fact) Is(o Fact) bool { return f.Kind == o.Kind && f.Of == o.Of && f.Task == o.Task }

// Like reports whether a fact is of the kind that is wanted, and has its Of and its Task where these
// are given.
func (f Fact) Like(want Fact) bool {
	return f.Kind == want.Kind && (want.Of == "" || f.Of == want.Of) && (want.Task == 0 || f.Task == want.Task)
}

// Facts reads what is so. Commit changes it.
type Facts interface {
	// Facts lists those like the given one, by Of and Task; limit 0 = all. Its cost does not grow with
	// what else is so.
	Facts(ctx context.Context, like Fact, limit int) ([]Fact, error)
}
