package simulate

import (
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// decision is an entry of the journal with what it records.
type decision struct {
	entry task.JournalEntry
	said  task.Recorded
	err   error
}

// recorded are the decisions that a commit stores.
func recorded(c task.Commit) (out []decision) {
	for _, e := range c.Journal {
		if e.Kind == task.KindDecision {
			said, err := e.Recorded()
			out = append(out, decision{e, said, err})
		}
	}
	return out
}

// describe is a commit in a few words, for the trace.
func describe(c task.Commit, said []decision) string {
	var b strings.Builder
	if c.Task != nil {
		b.WriteString(c.Task.WorkItemID + " " + string(c.Task.State.Stage) + " v" + id(c.Task.State.Seq))
		if c.Task.State.Hold != "" {
			b.WriteString(" (" + string(c.Task.State.Hold) + ")")
		}
	}
	for _, d := range said {
		b.WriteString(" on " + string(d.said.Event.On))
		if !d.said.Decision.Moved {
			b.WriteString(", nothing")
		}
	}
	if len(c.Jobs) > 0 {
		b.WriteString(", puts " + kinds(c.Jobs))
	}
	return b.String()
}

func kinds(jobs []queue.Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.Kind)
	}
	return strings.Join(out, " ")
}

// finishing is the end of a claim in a few words, for the trace.
func finishing(c queue.Claim, o queue.Outcome) string {
	text := c.Job.Kind + " " + id(c.Job.ID) + "." + id(int64(c.Job.Attempt)) + " " + string(o.Kind)
	if o.Error != "" {
		text += " (" + o.Error + ")"
	}
	return text
}
