package queue

import (
	"context"
	"errors"
	"time"
)

// ErrNotFailed means that a job is not at status failed. Nothing was changed.
var ErrNotFailed = errors.New("queue: the job has not failed, or was put again already")

// ErrLost means that a claim is no longer the caller's: it was reaped, cancelled
// or finished. Nothing was changed.
var ErrLost = errors.New("queue: the claim is no longer held")

// Status of a job.
type Status string

// Job statuses. Done, Failed and Cancelled are terminal.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Done      Status = "done"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Terminal reports whether a job at this status will never run again.
func (s Status) Terminal() bool { return s == Done || s == Failed || s == Cancelled }

// The pools of the orchestrator. A pool is only a name: users may have others.
const (
	PoolEvents  = "events"
	PoolAgents  = "agents"
	PoolEffects = "effects"
)

// Job is a unit of durable work. The fields from ID on are the queue's.
type Job struct {
	Pool        string   // who takes it
	Kind        string   // what it is, for the taker
	Key         string   // jobs with the same non-empty key run one at a time, in order of id
	TaskID      int64    // 0 for work that is not tied to a task
	Lane        string   // repo; for display and filters
	Role        string   // for display and filters
	Holds       []string // subjects: the job is not claimable while one of them is held
	Payload     []byte   // opaque
	Priority    int      // smaller is sooner, within a pool
	AvailableAt time.Time
	MaxAttempts int    // 0 = no bound
	DedupeKey   string // at most one unfinished job has it; putting a second is a no-op

	ID          int64
	Status      Status
	Attempt     int // 1 for the first claim
	Worker      string
	HeartbeatAt time.Time // end of the present claim's time to live minus the TTL; zero when not running
	LeaseUntil  time.Time // when a running job may be reaped
	CreatedAt   time.Time
	StartedAt   time.Time
	FinishedAt  time.Time
	Error       string // of the last attempt
}

// Claim is a job that was taken. Job.ID with Job.Attempt is its fence.
type Claim struct{ Job Job }

// OutcomeKind names what becomes of a claim.
type OutcomeKind string

// The values of OutcomeKind. The zero value is not an outcome.
const (
	OutcomeDone    OutcomeKind = "done"
	OutcomeRetry   OutcomeKind = "retry"
	OutcomeDead    OutcomeKind = "dead"    // failed for good
	OutcomeRelease OutcomeKind = "release" // given back unharmed: the attempt does not count
)

// Outcome records how a claim ended.
type Outcome struct {
	Kind  OutcomeKind
	At    time.Time // of a retry or release: not before
	Error string
	Cause error // what Error says, by type; queues do not store it
	Then  []Job // put in the same transaction
}

// Hold keeps jobs from being claimed: those that name its subject in Job.Holds.
// A subject may be held under several names; it is free when none is left.
type Hold struct {
	Subject string    // e.g. "task/42" or "repo/acme/app"
	Name    string    // who holds it, e.g. "serial_gate", "freeze"
	Reason  string    // for people
	Since   time.Time // set by the queue
}

// Wait records what one unfinished job waits for. Reasons is empty exactly when
// the job would be claimed by the next Take with room.
type Wait struct {
	Job     Job
	Reasons []Reason
}

// ReasonKind is a kind of thing that a job waits for.
type ReasonKind string

// The values of ReasonKind.
const (
	ReasonDelay   ReasonKind = "delay"   // not due yet
	ReasonOrder   ReasonKind = "order"   // an earlier job with the same key is unfinished
	ReasonHold    ReasonKind = "hold"    // a subject is held
	ReasonRunning ReasonKind = "running" // it is being worked on
)

// Reason is one thing that a job waits for.
type Reason struct {
	Kind    ReasonKind `json:"kind"`
	Text    string     `json:"text"`              // a sentence for people
	Until   time.Time  `json:"until,omitzero"`    // delay: when it ends
	JobID   int64      `json:"job_id,omitempty"`  // order: which job is before it
	Subject string     `json:"subject,omitempty"` // hold
	Name    string     `json:"name,omitempty"`    // hold
	Since   time.Time  `json:"since,omitzero"`
}

// Queue serves producers and workers. Implementations are safe for
// concurrent use and durable when a call returns.
type Queue interface {
	// Put adds jobs, all or none, and returns their ids in order. A job whose
	// DedupeKey an unfinished job has is not added: its id is that job's.
	Put(ctx context.Context, jobs ...Job) ([]int64, error)
	// Take claims up to n claimable jobs of a pool, smallest priority and id
	// first, for ttl. Its cost does not grow with jobs that cannot run.
	Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]Claim, error)
	// Extend is the heartbeat: it prolongs a claim, or returns ErrLost.
	Extend(ctx context.Context, c Claim, ttl time.Duration) error
	// Finish ends a claim, or returns ErrLost and changes nothing. A retry whose
	// attempts are used up becomes failed.
	Finish(ctx context.Context, c Claim, o Outcome) error
	// FinishTake is Finish and then Take, in one commit. A claim that was lost keeps nobody
	// from the next jobs: they are returned with ErrLost.
	FinishTake(ctx context.Context, c Claim, o Outcome, pool, worker string, n int, ttl time.Duration) ([]Claim, error)
}

// Filter selects jobs. Zero fields select all.
type Filter struct {
	ID     int64
	Pool   string
	TaskID int64
	Key    string // the ordering key; with Open its cost does not grow with other jobs
	Open   bool   // only queued and running
	Failed bool   // only failed; its cost does not grow with jobs that ended otherwise. Not with Open
	Limit  int    // 0 = 1000
}

// Admin serves operators, features and background loops.
type Admin interface {
	// Cancel makes every unfinished job of a task in the given pools (none =
	// all) cancelled, running ones too, and returns them.
	Cancel(ctx context.Context, taskID int64, pools ...string) ([]Job, error)
	// Reap gives back running jobs whose time to live has passed: queued again
	// when attempts are left, failed otherwise. It returns them as they are now.
	Reap(ctx context.Context) ([]Job, error)
	// Hold and Free change what subjects are held. Both are idempotent.
	Hold(ctx context.Context, holds ...Hold) error
	Free(ctx context.Context, holds ...Hold) error
}

// Restarter brings back jobs that have failed.
type Restarter interface {
	// Hasten makes jobs due now that wait for their time since an attempt failed: of
	// a pool, of a task, or of a task in a pool. It returns how many.
	Hasten(ctx context.Context, pool string, taskID int64) (int, error)
	// Repeat puts a failed job again, once: see Anew. It returns the new one's id, or
	// ErrNotFailed.
	Repeat(ctx context.Context, id int64) (int64, error)
}

// Inspector reads jobs back.
type Inspector interface {
	// Jobs lists jobs by id, oldest first; failed ones by their end, newest first.
	Jobs(ctx context.Context, f Filter) ([]Job, error)
	// Waiting lists unfinished jobs with what each waits for, in claim order.
	Waiting(ctx context.Context, f Filter) ([]Wait, error)
	// Holds lists what is held, oldest first.
	Holds(ctx context.Context) ([]Hold, error)
	// Depth counts unfinished jobs by pool and status, from small tables.
	Depth(ctx context.Context) ([]Depth, error)
	// Wake returns a channel that receives a hint when a pool may have become
	// claimable; it is a hint only, polling is the truth. A Take of any pool sees the
	// jobs of all pools that have come due, and hints theirs.
	Wake(pool string) <-chan struct{}
}

// HoldFinder reads a part of what is held.
type HoldFinder interface {
	// HoldsIn lists what is held of the subjects from one up to, and without, another
	// (byte by byte), by subject and name, at most limit. Its cost does not grow with
	// what else is held.
	HoldsIn(ctx context.Context, from, before string, limit int) ([]Hold, error)
}

// Depth is a count of jobs.
type Depth struct {
	Pool   string `json:"pool"`
	Status Status `json:"status"`
	Count  int64  `json:"count"`
}
