package orchestrator

import (
	"context"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Feature is an additive behaviour. The engine has no switch: a feature that
// is off is not given to New, so the program is then built without it.
type Feature struct {
	Name    string
	Doc     string       // one sentence
	Needs   []string     // features that must be there too
	Edges   []stage.Edge // added behind the pipeline's own
	Rules   []stage.Rule
	Gates   []gates.Gate
	Runners map[stage.EffectKind]Runner      // effects of the feature's own, by kind
	Instead map[stage.EffectKind]Runner      // run effects of the engine's own, in the place of its runners
	Facts   func(task.Project, *stage.Event) // adds facts of the repository to the event that starts a task
	Holds   func(context.Context, Change) (hold, free []queue.Hold, err error)
	// Committed receives a change once it is durable. It returns at once: a loop
	// that has to look now is only nudged.
	Committed func(Change)
	// Heard receives a webhook of a work item that is handled. It returns at once too.
	Heard func(tracker.Hook)
	// Reloaded is called when another registry has replaced the one before: what is held by
	// that is to be compared with it, as at a start. It returns at once too.
	Reloaded func()
	// Admit is called when an agent's job is claimed, before the agent starts. An
	// answer that is not empty is the reason why it may not: the job is given back
	// unharmed, and is claimed again when no hold that the feature set is left.
	Admit func(context.Context, Start) (why string)
	// Attempted receives what an agent's attempt came to, which is about to be committed, and
	// adds to that transaction; an error has the attempt taken in again later. With it an
	// attempt that ended by a work.Trouble is the feature's matter and no failure of the task.
	Attempted func(context.Context, Change, stage.Report, *task.Commit) error
	// Words puts what is so now into the texts of reasons that the feature's holds have.
	Words func(ctx context.Context, waits []queue.Wait)
	Loops []Loop                             // background work
	Show  func(context.Context) (any, error) // the feature's block in /queue; nil = none
}

// Change is a task as a decision leaves it. A feature may answer it with holds
// that are set and freed in the transaction of the decision. An error is logged
// and changes nothing: a feature never stops a decision.
type Change struct {
	Task   task.Task
	Before stage.State
	Run    *task.AgentRun // the record of an agent's attempt that the decision brings; the store does not have it yet

	// At the beginning and the end of a task's life: the unfinished tasks of its
	// repository right before and right behind it; nil = none.
	Ahead, Behind *task.Task
	Blind         error // they could not be read
}

// Launched reports whether an agent is to work, for the first time or again
// after a failed attempt.
func (c Change) Launched() bool {
	n := c.Task.State
	return n.Active != "" && (n.Run != c.Before.Run || n.Failures != c.Before.Failures)
}

// Began and Ended report whether the change is the beginning or the end of the
// task's life. They are decided one at a time in a process.
func (c Change) Began() bool { return c.Before.Stage == stage.None }

// Ended reports the end of the task's life.
func (c Change) Ended() bool { return c.Task.State.Stage.Terminal() && !c.Before.Stage.Terminal() }

// Start is an agent that is about to start.
type Start struct {
	Task    task.Task
	JobID   int64
	Attempt int // of the job
}

// Loop is background work that a feature or the engine needs; it ends with ctx.
type Loop struct {
	Name string
	Run  func(ctx context.Context, e *Engine)
}

// Runner makes one kind of effect. It has no error result: a failure is Retry of the
// error, which the engine judges by package fault, or an outcome of its own.
type Runner interface {
	Run(ctx context.Context, e Effect) queue.Outcome
}

// RunnerFunc is a function as a Runner.
type RunnerFunc func(ctx context.Context, e Effect) queue.Outcome

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, e Effect) queue.Outcome { return f(ctx, e) }

// Effect is an effect as it waits in the queue: what to do, and for which task
// and work item. TaskID is 0 when a work item was refused.
type Effect struct {
	stage.Effect
	Key       string `json:"key"` // identity, for the outside world
	TaskID    int64  `json:"task_id,omitempty"`
	ProjectID string `json:"project_id"` // tracker project to write to
	ItemID    string `json:"item_id"`
	WorkItem  string `json:"work_item,omitempty"`
	Title     string `json:"title,omitempty"`
	Repo      string `json:"repo"`
	Board     string `json:"board,omitempty"` // as task.Project has it
	Host      string `json:"host,omitempty"`  // as task.Project.NamedHost
	Attempt   int    `json:"-"`               // of the job
	Killed    bool   `json:"-"`               // the process died that made the attempt before this one
}
