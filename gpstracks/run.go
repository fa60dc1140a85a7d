package gpstracks

import (
	"context"
	"time"
)

// Run is one run of the collector.
type Run struct {
	ID         int64
	Source     string
	Region     string
	DryRun     bool
	StartedAt  time.Time
	FinishedAt time.Time // zero while it runs
	Status     RunStatus
	Requests   int
	Fetched    int // tracks that the source gave
	Inserted   int
	Updated    int
	Duplicates int
	Rejected   int
	Bytes      int64 // read from the source, before decompression
	Error      string
	Cursor     string // where to go on after a break

	RejectedFor Tally // why tracks were rejected: together Rejected
	ChangedFor  Tally // why tracks were not kept as the source gave them; one may count for several reasons
}

// RunStatus records how a run ended.
type RunStatus string

// The statuses of a run.
const (
	StatusRunning     RunStatus = "running"
	StatusDone        RunStatus = "done"
	StatusFailed      RunStatus = "failed"
	StatusRefused     RunStatus = "refused"     // no accepted licence record, or switched off: nothing was requested
	StatusBrokenOff   RunStatus = "broken off"  // somebody ended it
	StatusInterrupted RunStatus = "interrupted" // its process died; a later run noticed
)

// RunFilter selects runs. Empty fields select all.
type RunFilter struct {
	Source, Region string
	Status         RunStatus
	Limit          int // at most this many; 0 = all
}

// RunStore keeps the runs of the collector. It is safe for concurrent use.
type RunStore interface {
	// SaveRun keeps a run: a new one if its ID is 0, else in place of the one of
	// that id. It returns the id.
	SaveRun(ctx context.Context, r Run) (int64, error)
	// LastRuns is the latest run of each source that had one, by source.
	LastRuns(ctx context.Context) ([]Run, error)
	// Runs are the runs that pass, the latest first.
	Runs(ctx context.Context, f RunFilter) ([]Run, error)
}
