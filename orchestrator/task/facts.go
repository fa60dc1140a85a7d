package task

import (
	"context"
	"time"
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
