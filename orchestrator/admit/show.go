package admit

import (
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Bounds of what people are shown.
const (
	freshMax = 200 // tasks that are judged anew
	listMax  = 10_000
)

// Fresh judges the tasks anew whose jobs wait by rows, and puts the reasons of today in the place of the rows. It
// returns them by task. The rows stay beyond the first 200 tasks, and where a task is about to be let go.
func (d *Desk) Fresh(ctx context.Context, waits []queue.Wait) map[int64][]Reason {
	out, passes := map[int64][]Reason{}, map[string]*Pass{}
	for i, w := range waits {
		if !slices.ContainsFunc(w.Reasons, isRow) || len(out) == freshMax {
			continue
		}
		t, err := d.Store.Task(ctx, w.Job.TaskID)
		if err != nil {
			continue
		}
		if passes[t.Repo] == nil {
			passes[t.Repo] = newPass()
		}
		s := Start{Task: t, Begins: d.Begins(t), Queued: true}
		if out[t.ID] = Admit(d.read(ctx, passes[t.Repo], s, d.Rules), s); len(out[t.ID]) > 0 {
			waits[i].Reasons = freshen(w.Reasons, out[t.ID])
		}
	}
	return out
}

// freshen puts reasons of today in the place of rows.
func freshen(had []queue.Reason, fresh []Reason) (out []queue.Reason) {
	for _, why := range fresh {
		i := slices.IndexFunc(had, func(r queue.Reason) bool { return isRow(r) && r.Name == why.Rule })
		if i < 0 { // it waited for something else until now
			i = slices.IndexFunc(had, isRow)
		}
		r := queue.Held(queue.Hold{Subject: had[i].Subject, Name: why.Rule, Reason: why.Text, Since: had[i].Since})
		r.Until = why.Until
		out = append(out, r)
	}
	return append(out, slices.DeleteFunc(slices.Clone(had), isRow)...)
}

func isRow(r queue.Reason) bool {
	_, _, ok := Parse(r.Subject)
	return ok
}

// Waiting is a task that waits by a rule, for blocks of /queue.
type Waiting struct {
	TaskID int64     `json:"task_id"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// ListWaiting lists the tasks that wait by a rule; an empty repository: in all of them.
func ListWaiting(ctx context.Context, jobs queue.HoldFinder, r Rule, repo string) ([]Waiting, error) {
	from := r.prefix()
	if repo != "" {
		from += repo + "/"
	}
	out := []Waiting{}
	rows, err := jobs.HoldsIn(ctx, from, end(from), listMax)
	for _, h := range rows {
		if _, id, ok := Parse(h.Subject); ok && h.Name == r.Name {
			out = append(out, Waiting{TaskID: id, Reason: h.Reason, Since: h.Since})
		}
	}
	return out, err
}
