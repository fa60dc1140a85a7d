// Package follow reads what agents do while they do it: which runs a task has had, with the
// one at work, and the steps of a run, from any place on. What it returns of steps is for
// people's eyes: whole characters, bounded, without what steers a terminal or turns the
// direction of a text. It is still what an agent has written.
package follow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Execution is one attempt of an agent run: its record, or of one at work what is known
// before there is a record (no usage, no end).
type Execution struct {
	task.AgentRun
	Live bool
}

// Log names what it prints.
func (x Execution) Log(s work.Stream) work.LogName {
	return work.LogName{TaskID: x.TaskID, Role: x.Role, Run: x.Run, Attempt: x.Attempt, Stream: s}
}

// Steps opens its steps; there are none where nothing is kept, or logs are not shown (nil).
func (x Execution) Steps(ctx context.Context, logs work.Logs) (io.ReadSeekCloser, error) {
	if logs != nil {
		if f, err := logs.OpenLog(ctx, x.Log(work.StreamSteps)); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return struct {
		*bytes.Reader
		io.Closer
	}{bytes.NewReader(nil), io.NopCloser(nil)}, nil
}

// Cost returns what it has cost; of one at work that is not known yet.
func (x Execution) Cost() (c task.Cost) {
	if !x.Live {
		c = task.CostOf(x.AgentRun)
	}
	return c
}

// executions are those of a task, newest first, of its records and its open jobs.
func executions(t task.Task, records []task.AgentRun, jobs []queue.Job) []Execution {
	out := make([]Execution, 0, len(records)+1)
	known := map[[2]int64]bool{}
	for _, r := range records {
		known[[2]int64{r.JobID, int64(r.Attempt)}] = true
		out = append(out, Execution{AgentRun: r})
	}
	for _, j := range jobs {
		if j.Kind == orchestrator.KindAgent && j.Status == queue.Running && !known[[2]int64{j.ID, int64(j.Attempt)}] {
			out = append(out, Execution{Live: true, AgentRun: task.AgentRun{
				TaskID: t.ID, JobID: j.ID, Attempt: j.Attempt, Run: t.State.Run, Stage: t.State.Stage,
				Role: stage.Role(j.Role), Started: j.StartedAt, Status: string(j.Status),
			}})
		}
	}
	slices.SortStableFunc(out, func(a, b Execution) int { return b.Started.Compare(a.Started) })
	return out
}

// Of reads the executions of a run of a task, newest first; run 0 means of all its runs. The
// error is task.ErrNotFound when there is no such task.
func Of(ctx context.Context, e *orchestrator.Engine, taskID, run int64) (task.Task, []Execution, error) {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return t, nil, err
	}
	// Jobs first: a run that ends between the two readings is in both, not in neither.
	jobs, err1 := e.Jobs.Jobs(ctx, queue.Filter{TaskID: taskID, Open: true})
	records, err2 := e.Records.AgentRuns(ctx, taskID)
	list := executions(t, records, jobs)
	return t, slices.DeleteFunc(list, func(x Execution) bool { return run != 0 && x.Run != run }), errors.Join(err1, err2)
}
