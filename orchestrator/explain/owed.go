package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Owed is an effect that is not made: it is owed still, or was given up.
type Owed struct {
	JobID   int64            `json:"job_id"`
	Kind    stage.EffectKind `json:"kind"`
	Text    string           `json:"text"` // what it waits for, or why it was given up and what to do
	Attempt int              `json:"attempt"`
	Next    time.Time        `json:"next,omitzero"`
	Error   string           `json:"error,omitempty"`
	GivenUp bool             `json:"given_up,omitempty"`

	brief string // Text without what to do and when
	sick  bool   // its destination does not answer
	put   time.Time
}

// situation holds what a task's explanation is made of, beside its row.
type situation struct {
	waits   []queue.Wait                     // its unfinished jobs
	heard   []queue.Job                      // webhooks of its card that are not taken in
	failed  []queue.Job                      // its effects that were given up
	refused []task.Fact                      // access that a neighbour refuses
	gone    map[int64]queue.Hold             // marks of tasks whose cards are gone, by task
	fresh   map[int64][]admit.Reason         // why agents may not start, by task
	running int64                            // agents at work, of all tasks
	sick    map[string]orchestrator.Sickness // the lanes whose destination does not answer, by pool
	now     time.Time
}

// owed lists the effects that the outside world has not had.
func (s situation) owed(t task.Task) []Owed {
	out := []Owed{}
	for _, j := range s.failed {
		f, _ := orchestrator.EffectOf(j)
		blocks := orchestrator.IsNeeded(f.Kind)
		if blocks && t.State.Hold != stage.HoldBlocked { // the stage was started again since
			continue
		}
		todo := fmt.Sprintf("make it again: the queue page, or POST /effects/%d/again", j.ID)
		if blocks {
			todo = "start the stage again: In Progress on the board, or an operator's retry"
		}
		brief := fmt.Sprintf("%s was refused for good: %s", f.Describe(), j.Error)
		out = append(out, Owed{
			JobID: j.ID, Kind: f.Kind, Attempt: j.Attempt, Error: j.Error, GivenUp: true, put: j.CreatedAt,
			brief: brief, Text: brief + "; when the cause is gone, " + todo,
		})
	}
	for _, w := range s.waits {
		if orchestrator.IsEffect(w.Job) {
			out = append(out, s.waiting(w.Job))
		}
	}
	return out
}

// waiting returns what an effect waits for that is owed still.
func (s situation) waiting(j queue.Job) Owed {
	f, _ := orchestrator.EffectOf(j)
	what := f.Describe()
	o := Owed{JobID: j.ID, Kind: f.Kind, Attempt: j.Attempt, Next: j.AvailableAt, Error: j.Error, put: j.CreatedAt}
	lane, sick := s.sick[j.Pool]
	if sick && lane.Next.After(o.Next) {
		o.Next = lane.Next
	}
	next := "now"
	if o.Next.After(s.now) {
		next = "at " + o.Next.UTC().Format("15:04:05 UTC")
	}
	_, _, waits := orchestrator.WaitsForRequests(j)
	switch {
	case sick:
		o.sick = true
		o.brief = fmt.Sprintf("%s waits for %s, which has not answered since %s, try %d",
			what, lane.Neighbour, orchestrator.Moment(s.now, lane.Since), lane.Failures)
		o.Text = o.brief + "; next try " + next
		return o
	case j.Status == queue.Running:
		o.Text = fmt.Sprintf("%s is being made, try %d", what, j.Attempt)
	case waits:
		o.Text = fmt.Sprintf("%s %s; next try %s", what, orchestrator.RequestsText(j), next)
	case j.Error != "":
		o.Text = fmt.Sprintf("%s is tried again %s; try %d ended with: %s", what, next, j.Attempt, j.Error)
	default:
		o.Text = what + " is about to be made"
	}
	o.brief = o.Text
	return o
}

// unsent names the effects that are to say to a person what a task waits for and have not
// been made: those that are owed, and those of its stage that were given up.
func unsent(t task.Task, list []Owed) (out []string) {
	for _, o := range list {
		tells := slices.Contains([]stage.EffectKind{stage.EffectComment, stage.EffectStatus, stage.EffectNotify}, o.Kind)
		if tells && (!o.GivenUp || !o.put.Before(t.StageEnteredAt)) && !slices.Contains(out, o.brief) {
			out = append(out, o.brief)
		}
	}
	return out
}
