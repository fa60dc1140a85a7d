package work

import (
	"context"
	"time"
)

// Remains are something that lies on this machine's disk for a task: a checkout, the
// mark of a run, its logs.
type Remains struct {
	Task int64     // 0 = not known
	Name string    // by which the Disk finds it
	Used time.Time // the last time
}

// Disk lists and removes what lies on this machine's disk for tasks.
type Disk interface {
	// Remains lists all of it, of tasks that live too.
	Remains(ctx context.Context) ([]Remains, error)
	// Remove removes something that was listed, unless it was used since. No process
	// may be at work in it. What is half removed is listed again.
	Remove(ctx context.Context, r Remains) error
}

// Mirrors keeps mirrors small.
type Mirrors interface {
	// Maintain packs the mirror of a space's repository and removes what is over there.
	// Called more often than once a day it does nothing.
	Maintain(ctx context.Context, s Workspace, m Maintenance) error
}

// Maintenance defines what may go.
type Maintenance struct {
	LeftBefore time.Time // what attempts had left (see Left) by then; zero = nothing
	// Idle reports that no task of the repository lives: objects that nothing refers to
	// may go. A checkout of one that lives may need them.
	Idle bool
	// Lives reports whether a task of the repository that lives has a work item: what is
	// its own stays. What was handed over for others is removed from the remote when
	// nobody has needed it for a day.
	Lives func(ctx context.Context, workItem string) (bool, error)
}
