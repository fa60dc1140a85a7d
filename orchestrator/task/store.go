package task

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Store keeps tasks and their story. A call that returns nil is durable.
// Implementations are safe for concurrent use and share one database with the
// queue: Commit and Receive change both in one transaction.
type Store interface {
	// NewTaskID reserves the next task id; ids rise and are never used twice.
	NewTaskID(ctx context.Context) (int64, error)
	// Task reads one task, or ErrNotFound.
	Task(ctx context.Context, id int64) (Task, error)
	// Tasks lists tasks by id.
	Tasks(ctx context.Context, f Filter) ([]Task, error)
	// Commit applies a decision. ErrConflict on a version mismatch, on a taken
	// (repo, work item) or (repo, branch), on a (tracker project, issue) that another
	// unfinished task has, and when Commit.Line or Commit.Unclaimed is not so any more.
	Commit(ctx context.Context, c Commit) error
	// Receive records a delivery and puts its job, both or neither. It reports
	// true, and does nothing, for one that is known by (source, id) or by
	// (source, body hash), for as long as that is kept: see Pruner.
	Receive(ctx context.Context, d Delivery, job queue.Job) (duplicate bool, err error)
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
	Journal  []JournalEntry
	Contents []Content // that entries of the journal name; those that are kept already stay
	Gates    []GateResult
	Runs     []AgentRun
	Jobs     []queue.Job // put
	// CancelPools: unfinished jobs of the task in these pools become cancelled,
	// except the claim's own.
	CancelPools []string
	// CancelQueued: the same for jobs that are not running; what runs is finished.
	CancelQueued []string
	Hold         []queue.Hold
	Free         []queue.Hold
	Saw          map[string]any // what rules have read that hold or free the task's agents, by rule: see Tell
	Facts        []Fact         // are so from now on, or have another text
	Over         []Fact         // are so no more
	// Pauses are new, or replace the row of their agent and model; Resumed are removed.
	// Versions are compared as that of Task is: ErrConflict.
	Pauses  []Pause
	Resumed []Pause
	// Line, when not nil, is between which unfinished tasks of its repository the
	// decision about Task was made: ErrConflict when they are others by now.
	Line *Line
	// Unclaimed are jobs that nobody has begun when the decision was made: ErrConflict when one has been begun or has ended by now.
	Unclaimed []int64
	// Claim, when set, is finished as Done in the same transaction, with Why as the error
	// of its job; queue.ErrLost when it is no longer held, and then nothing happens.
	Claim *queue.Claim
	Why   string
}

// Line is the place of a task among the unfinished ones of its repository, in the
// order of their ids: the ids of its neighbours in that order; 0 = none.
type Line struct{ Ahead, Behind int64 }

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

// Dependency records that a task waits for another to be finished.
type Dependency struct {
	TaskID    int64     `json:"task_id"`
	On        int64     `json:"depends_on_task_id"`
	Source    string    `json:"source"` // db or tracker
	CreatedAt time.Time `json:"created_at"`
}

// Dependencies keeps the local table of dependencies.
type Dependencies interface {
	// Dependencies lists those of a task, or all for 0, by task and prerequisite.
	Dependencies(ctx context.Context, taskID int64) ([]Dependency, error)
	// SetDependencies makes a task's dependencies from a source what is given.
	// One that another source has named already stays that source's.
	SetDependencies(ctx context.Context, taskID int64, source string, on []int64) error
	// Depend adds one dependency, which is there already if any source has named it.
	Depend(ctx context.Context, d Dependency) error
	// Undepend removes one, if it is there from that source.
	Undepend(ctx context.Context, d Dependency) error
}

// Around finds the tasks of the same card that a task comes after, and that come after it.
func Around(ctx context.Context, s Store, t Task) (before, after []Task, err error) {
	if !t.State.Stage.Terminal() && t.State.Follows == "" {
		return nil, nil, nil
	}
	list, err := s.Tasks(ctx, Filter{TrackerIssueID: OriginalKey(t.TrackerIssueID), Repo: t.Repo})
	for _, o := range list {
		switch {
		case o.WorkItemID == t.State.Follows:
			before = append(before, o)
		case o.State.Follows == t.WorkItemID:
			after = append(after, o)
		}
	}
	return before, after, err
}
