package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Sentinels of the Store.
var (
	// ErrConflict says that the task is not at the version that was expected, or
	// that a name it wants is taken: load again and decide again.
	ErrConflict = errors.New("orchestrator: the task has changed in the meantime")
	// ErrNotFound says that there is no such task.
	ErrNotFound = errors.New("orchestrator: no such task")
)

// Task is one pipeline run of one board issue: the row that the store keeps.
type Task struct {
	ID               int64
	WorkItemID       string // <PREFIX>-<NNN>, unique per repo
	TrackerProjectID string
	TrackerIssueID   string // a tombstone once the task is cancelled
	Repo             string // owner/name
	Branch           string // unique per repo
	Slug             string
	Title            string
	Description      string
	State            stage.State // where it stands; State.Stage is the stage
	TrackerMessageID string      // of the live messenger message, or what package livemessage notes while it sends one

	BRDReviewStartedAt time.Time
	BRDReviewEndedAt   time.Time
	ApprovedAt         time.Time
	ApprovedBy         string
	CancelRequestedAt  time.Time
	CancelledAt        time.Time
	CreatedAt          time.Time
	UpdatedAt          time.Time
	StageEnteredAt     time.Time
	Version            int64 // optimistic concurrency; 0 = not stored yet
}

// Delivery is one received webhook.
type Delivery struct {
	Source     string // "plane", "github", …
	ID         string // the sender's delivery id; may be empty
	BodyHash   string // hex sha-256 of the raw body
	Event      string
	ReceivedAt time.Time
	Outcome    string // "queued", or why it was not
}

// JournalEntry is one line of a task's story. It is never changed.
type JournalEntry struct {
	ID      int64
	TaskID  int64
	Seq     int64 // State.Seq after the entry; it is no name: entries of one commit share it, and events that changed nothing
	At      time.Time
	Kind    string // KindDecision, KindOperator, or a feature's own
	Payload []byte // JSON
}

// GateResult is a verdict that moved (or held) a task.
type GateResult struct {
	ID      int64
	TaskID  int64
	Stage   stage.Stage
	Verdict gates.Verdict
	At      time.Time
}

// AgentRun is the record of one execution of an agent.
type AgentRun struct {
	ID       int64
	TaskID   int64
	JobID    int64
	Attempt  int // JobID with Attempt is unique: recording one again replaces it
	Run      int64
	Stage    stage.Stage
	Role     stage.Role
	Usage    work.Usage
	Status   string // a work.Result kind
	ExitCode int
	Started  time.Time
	Finished time.Time
	LogPath  string
	Summary  string
}

// Commit is everything that one decision changes. It happens whole or not at all.
type Commit struct {
	// Task is the new row, or nil when the event concerns no task. Its Version
	// is the one that was loaded: the store compares it, and stores it plus one.
	// Version 0 inserts the row under Task.ID, which NewTaskID gave.
	Task *Task
	// Unchanged: Task, which is stored already, is at the version that was loaded, and
	// its row stays as it is. The version is compared all the same.
	Unchanged bool
	// Journal entries that come with a Task stand in the order of its versions: behind
	// those of the commit that made the version which was compared, before those of
	// the next.
	Journal []JournalEntry
	Gates   []GateResult
	Runs    []AgentRun
	Jobs    []queue.Job // put
	// CancelPools: unfinished jobs of the task in these pools become cancelled,
	// except the claim's own.
	CancelPools []string
	// CancelQueued: the same for jobs that are not running; what runs is finished.
	CancelQueued []string
	Hold         []queue.Hold
	Free         []queue.Hold
	// Line, when not nil, is between which unfinished tasks of its repository the
	// decision about Task was made: ErrConflict when they are others by now.
	Line *Line
	// Claim, when set, is finished as Done in the same transaction;
	// queue.ErrLost when it is no longer held, and then nothing happens.
	Claim *queue.Claim
}

// Line is the place of a task among the unfinished ones of its repository, in the
// order of their ids: who stands right before it and right behind it; 0 = nobody.
type Line struct{ Ahead, Behind int64 }

// TaskFilter selects tasks. Zero fields select all.
type TaskFilter struct {
	TrackerIssueID string
	Repo           string
	Branch         string
	WorkItemID     string
	Stage          stage.Stage
	Live           bool  // only tasks that are not terminal
	Cancelled      bool  // TrackerIssueID and WorkItemID name cancelled tasks too, whose names are tombstones
	AfterID        int64 // cursor: only larger ids
	BeforeID       int64 // only smaller ids, the largest first
	Limit          int   // 0 = 100
}

// Store keeps tasks and their story. A call that returns nil is durable.
// Implementations are safe for concurrent use and share one database with the
// queue: Commit and Receive change both in one transaction.
type Store interface {
	// NewTaskID reserves the next task id; ids rise and are never used twice.
	NewTaskID(ctx context.Context) (int64, error)
	// Task reads one task, or ErrNotFound.
	Task(ctx context.Context, id int64) (Task, error)
	// Tasks lists tasks by id.
	Tasks(ctx context.Context, f TaskFilter) ([]Task, error)
	// Commit applies a decision. ErrConflict on a version mismatch, on a taken
	// (tracker project, issue), (repo, work item) or (repo, branch), and when
	// Commit.Line is not so any more.
	Commit(ctx context.Context, c Commit) error
	// Receive records a delivery and puts its job, both or neither. It reports
	// true, and does nothing, for one that is known by (source, id) or by
	// (source, body hash), for as long as that is kept: see Pruner.
	Receive(ctx context.Context, d Delivery, job queue.Job) (duplicate bool, err error)
}

// Pruner removes what is over. Tasks, the journal, gate results, agent runs and
// reservations stay. A call is short, and safe beside everything else.
type Pruner interface {
	// PruneJobs looks at the next limit jobs with larger ids than after and removes
	// those that ended before a moment. Jobs of tasks that have not ended stay, and those
	// that a reservation names. It returns how many it has removed and the id to go on
	// after, 0 when nothing that is old enough lies behind. An id never comes back.
	PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error)
	// PruneDeliveries removes those of the limit oldest deliveries that came before a
	// moment. When one of them comes again it counts as new.
	PruneDeliveries(ctx context.Context, before time.Time, limit int) (removed int, err error)
}

// Dependency says that a task waits for another to be finished.
type Dependency struct {
	TaskID    int64     `json:"task_id"`
	On        int64     `json:"depends_on_task_id"`
	Source    string    `json:"source"` // db or tracker
	CreatedAt time.Time `json:"created_at"`
}

// Dependencies keeps the local table of dependencies.
type Dependencies interface {
	// Dependencies lists all of them, by task and prerequisite.
	Dependencies(ctx context.Context) ([]Dependency, error)
	// SetDependencies makes a task's dependencies from a source what is given.
	// One that another source has named already stays that source's.
	SetDependencies(ctx context.Context, taskID int64, source string, on []int64) error
	// Depend adds one dependency, which is there already if any source has named it.
	Depend(ctx context.Context, d Dependency) error
	// Undepend removes one, if it is there from that source.
	Undepend(ctx context.Context, d Dependency) error
}

// Reservation is what an attempt of an agent is taken to cost until its record
// says what it did cost.
type Reservation struct {
	TaskID   int64
	JobID    int64
	Attempt  int // JobID with Attempt is unique: reserving again replaces
	Repo     string
	MicroUSD int64 // millionths of a dollar
	At       time.Time
}

// Ledger keeps what agents are taken to cost, and what they did cost. The record
// of an attempt (Commit.Runs) ends its reservation in the same transaction. An
// attempt that was interrupted has no record, so that its reservation stays.
type Ledger interface {
	// Reserve keeps a reservation.
	Reserve(ctx context.Context, r Reservation) error
	// Reservations lists them by job and attempt: of a repository, or all for "".
	Reservations(ctx context.Context, repo string) ([]Reservation, error)
	// Forget removes reservations, known by job and attempt.
	Forget(ctx context.Context, rs ...Reservation) error
	// RunsSince lists the runs in a repository that finished at or after a
	// moment, oldest record first.
	RunsSince(ctx context.Context, repo string, since time.Time) ([]AgentRun, error)
}

// Story reads what happened.
type Story interface {
	// Journal lists a task's entries, oldest first: see Commit.Journal.
	Journal(ctx context.Context, taskID int64) ([]JournalEntry, error)
	// JournalSince lists entries of all tasks with larger ids than after, oldest
	// first, at most limit; after -1 it lists the newest entry alone.
	JournalSince(ctx context.Context, after int64, limit int) ([]JournalEntry, error)
	GateResults(ctx context.Context, taskID int64) ([]GateResult, error)
	// AgentRuns lists the runs of a task, or of all tasks for id 0.
	AgentRuns(ctx context.Context, taskID int64) ([]AgentRun, error)
	// LastDelivery is when a sender's newest delivery came; zero = never.
	LastDelivery(ctx context.Context, source string) (time.Time, error)
}
