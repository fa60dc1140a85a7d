// Package admit decides which agents may start.
//
// Admit is one pure function over what a list of rules has read. There is no other way to keep an agent from
// starting but a freeze or a pause, which people set and end themselves. A Desk uses it when a decision launches
// an agent, when the agent's job is claimed, when something that matters has changed, and for those who look.
//
// A task that may not start has a hold by each rule that says so, because a queue can only leave out what a row
// says. Such a row is derived: it is made and replaced by what Admit returns, and freed in look, nowhere else.
package admit

import (
	"cmp"
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Start is an agent that is to start.
type Start struct {
	Task   task.Task
	Begins bool // it works at the first stage of its task
	Queued bool // it is about to start; else it is at work, or the task waits for no agent

	JobID   int64 // of a job that was claimed; 0 elsewhere
	Attempt int

	// What the decision brings that launches it, and the store does not have yet; nil elsewhere.
	Run  *task.AgentRun
	With *task.Commit
}

// Who ends a wait.
type Who string

// The values of Who.
const (
	WhoYou     Who = "you"          // a person
	WhoService Who = "service"      // this service, by itself
	WhoTask    Who = "another task" // the progress of another task
	WhoOutside Who = "outside"      // a neighbour: the tracker, the git host, CI
)

// Reason keeps an agent from starting.
type Reason struct {
	Rule   string
	Text   string // for people
	Brief  string // Text without what changes all the time; empty = Text
	Who    Who
	Do     string    // what a person does to end it, or can do when it lasts too long: an imperative
	Tasks  []int64   // that it waits for
	Until  time.Time // it ends by itself then, or is looked at again
	Detail any       // of the rule, for its notices
}

func (r Reason) words() string { return cmp.Or(r.Brief, r.Text) }

// Facts hold all that a rule has read about a start.
type Facts interface {
	// Judge returns the reason against it, if there is one. It reads nothing else.
	Judge(Start) (r Reason, waits bool)
}

// Snapshot holds the facts of all rules about a start, in their order.
type Snapshot []struct {
	Rule  string
	Facts Facts
}

// seen returns the facts for the journal, by rule, of those that have a method Seen.
func (s Snapshot) seen() map[string]any {
	out := map[string]any{}
	for _, read := range s {
		if f, tells := read.Facts.(interface{ Seen() any }); tells {
			out[read.Rule] = f.Seen()
		}
	}
	return out
}

// Admit returns the reasons why an agent may not start; none lets it.
func Admit(s Snapshot, start Start) (out []Reason) {
	for _, read := range s {
		if r, waits := read.Facts.Judge(start); waits {
			r.Rule = read.Rule
			out = append(out, r)
		}
	}
	return out
}

// unread stands for the facts of a rule that could not be read, and that fails closed.
type unread string

func (u unread) Judge(Start) (Reason, bool) {
	return Reason{Text: string(u), Who: WhoService, Do: "Wait: it is read again in a moment"}, true
}

// Rule says which agents may start, as one of many.
type Rule struct {
	Name string
	// Read reads what a start is judged by; nil facts: the rule does not apply.
	Read func(context.Context, *Pass, Start) (Facts, error)
	// While Read fails nothing starts, for this reason; empty: everything does.
	Closed string
	Line   bool // who is behind a task that waits, in its repository, waits for the same
	// First is the task that is first of a repository's line; 0 or nil: the one with the smallest number.
	First   func(ctx context.Context, repo string) (taskID int64, err error)
	Always  bool // it holds tasks that no agent is about to start for, too
	Hinders bool // a run that ended by a work.Trouble is its matter, and no failure of the task

	// Reserve takes what an agent is going to use whose job was claimed, before the rule reads: of two that
	// are claimed at the same moment at least one gives way, in whatever process.
	Reserve func(context.Context, Start) (undo func(context.Context) error, err error)
	// Admitted adds to the transaction that lets an agent start what it takes, and counts it in the pass.
	Admitted func(*Pass, Start, *task.Commit)
	// Told adds notices to the transaction in which a reason becomes a row, Over to that which frees it.
	Told func(context.Context, Start, Reason, *task.Commit)
	Over func(context.Context, Start, queue.Hold, *task.Commit)
	// Tend looks after the rule's own facts before those who wait are judged; what is stored may be of a former process
	// or by another registry. It reports whether all are to be judged, and when it is to look again.
	Tend func(ctx context.Context, started, reloaded bool) (all bool, next time.Time, err error)
}

// Pass keeps what is the same for all starts of a repository that are judged together.
type Pass struct {
	read map[any]any    // until a task is let go, or kept
	sums map[any]*int64 // of what those take who were let go
}

// newPass begins a pass.
func newPass() *Pass { return &Pass{map[any]any{}, map[any]*int64{}} }

// Once reads something once, as long as nobody is let go or kept by it. An error is not kept.
func Once[T any](p *Pass, key any, read func() (T, error)) (T, error) {
	if had, ok := p.read[key]; ok {
		return had.(T), nil
	}
	v, err := read()
	if err == nil {
		p.read[key] = v
	}
	return v, err
}

// Sum is a sum of a rule's own, from 0 in each pass.
func (p *Pass) Sum(key any) *int64 {
	if p.sums[key] == nil {
		p.sums[key] = new(int64)
	}
	return p.sums[key]
}
