package orchestrator

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// What a task waits for, in words for people: on its card, in its message and in answers. Who ends it and how
// is the matter of package explain.

// waitText is the reason of a hold for people: other tasks by the names of their work items.
func waitText(r queue.Reason) string {
	text := taskNumber.ReplaceAllString(ReasonText(r), "")
	if strings.HasPrefix(text, "waits for ") {
		return text
	}
	return "waits: " + text
}

var taskNumber = regexp.MustCompile(` \(task \d+\)`)

// ReasonText returns the reason of a hold, without its name.
func ReasonText(r queue.Reason) string {
	return strings.TrimSuffix(r.Text, fmt.Sprintf(" (%s)", strings.ReplaceAll(r.Name, "_", " "))) // as package queue writes it
}

// HeldBy returns what holds a job, in words, and since when.
func HeldBy(w queue.Wait) (texts []string, since time.Time) {
	for _, r := range w.Reasons {
		if r.Kind != queue.ReasonHold {
			continue
		}
		if texts = append(texts, waitText(r)); since.IsZero() || r.Since.Before(since) {
			since = r.Since
		}
	}
	return texts, since
}

// Waits reads what the jobs wait for that a task goes on by: its agents', and those on its branch.
func Waits(ctx context.Context, e *Engine) (out []queue.Wait, err error) {
	pools := e.opt.Places.pools([]string{LaneGit.Pool(), LaneHost.Pool()})
	for _, pool := range append([]string{queue.PoolAgents}, pools...) {
		list, err := e.Jobs.Waiting(ctx, queue.Filter{Pool: pool, Limit: waitsMax})
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// waitsMax bounds the jobs of a pool that are looked at.
const waitsMax = 100_000

// DescribeWait returns that the agent of a task is not at work and what it waits for, for who sets a
// status meanwhile; empty when it is at work.
func DescribeWait(ctx context.Context, e *Engine, t task.Task) (string, error) {
	waits, err := e.Waiting(ctx, queue.Filter{TaskID: t.ID})
	for _, w := range waits {
		if w.Job.Kind != KindAgent || w.Job.Status == queue.Running {
			continue
		}
		what, begun := "waits for a free agent", "has not begun"
		if len(w.Reasons) > 0 {
			what = waitText(w.Reasons[0])
		}
		if w.Job.Attempt > 0 {
			begun = "is not at work"
		}
		return fmt.Sprintf("the %s %s: it %s", t.State.Active, begun, what), nil
	}
	return "", err
}

// Kinds of facts.
const (
	FactWait   task.FactKind = "wait_comment" // the card of a task says that it waits, in this text
	FactFreeze task.FactKind = "freeze"       // a repository is frozen because of a task
	FactAccess task.FactKind = "access"       // a neighbour refuses the service: the text has a second line with what people do
)

// WaitSaid is the fact that the card of a task says that it waits; its text may be another.
func WaitSaid(taskID int64) task.Fact {
	return task.Fact{Kind: FactWait, Of: strconv.FormatInt(taskID, 10), Task: taskID}
}

// WaitOver returns what the card of a task says when it waits no more.
func WaitOver(t task.Task) string {
	if t.State.Stage.Terminal() {
		return "Waits no more: the task is " + string(t.State.Stage) + "."
	}
	return "Goes on."
}
