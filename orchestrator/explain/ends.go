package explain

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// ReasonSlot is the kind of the engine's own reason beside the queue's: the job
// could be claimed, and all agents are busy.
const ReasonSlot = "slot"

// reasons lists what a job waits for: what the queue says, else a free slot.
func reasons(e *orchestrator.Engine, w queue.Wait, running int64) []queue.Reason {
	if len(w.Reasons) > 0 || w.Job.Pool != queue.PoolAgents || running < int64(e.Concurrency()) {
		return w.Reasons
	}
	return []queue.Reason{{Kind: ReasonSlot, Text: fmt.Sprintf("all %d agent slots are taken", e.Concurrency()), Since: w.Job.CreatedAt}}
}

// busy counts running agent jobs.
func busy(ctx context.Context, e *orchestrator.Engine) (int64, error) {
	depth, err := e.Jobs.Depth(ctx)
	return Busy(depth), err
}

// Busy is how many agents are at work, by the depth of the queue.
func Busy(depth []queue.Depth) int64 {
	for _, d := range depth {
		if d.Pool == queue.PoolAgents && d.Status == queue.Running {
			return d.Count
		}
	}
	return 0
}

// endOf returns who ends what a task's job waits for, and how.
func endOf(t task.Task, r queue.Reason) (Who, string) {
	switch r.Kind {
	case queue.ReasonDelay:
		return WhoService, fmt.Sprintf("Wait until %s, or try at once: Retry on the task's page, or POST /tasks/%d/retry",
			r.Until.UTC().Format(time.RFC3339), t.ID)
	case queue.ReasonOrder:
		return WhoService, fmt.Sprintf("Wait for the end of job %d, which is before it", r.JobID)
	case ReasonSlot:
		return WhoTask, "Wait for an agent that ends, or raise ORCH_MAX_CONCURRENCY and restart the service"
	case queue.ReasonHold:
		return endOfHold(r)
	default:
		return WhoService, "Wait for the end of the job"
	}
}

// endOfHold returns who ends a hold of the features that come with the service, and how.
func endOfHold(r queue.Reason) (Who, string) {
	reason := orchestrator.ReasonText(r)
	others, waits := strings.CutPrefix(reason, "waits for ")
	switch {
	case r.Name == "serial_gate":
		_, before, _ := strings.Cut(strings.TrimSuffix(reason, " is before it"), ", and ")
		return WhoTask, "Wait until " + before + " is done, or stop it"
	case r.Name == "wip":
		return WhoTask, "Wait until one of them is done or waits for a person, stop one, or raise wip of the repository in projects.yaml"
	case r.Name == "task_deps" && waits && strings.HasPrefix(others, "the card "):
		return WhoYou, endOfCards(others)
	case r.Name == "task_deps" && waits:
		return WhoTask, "Wait for the end of " + others + " (done or stopped), or remove the relation"
	case r.Name == "task_deps":
		latest := r.Since.Add(time.Minute).UTC().Format(time.TimeOnly)
		return WhoOutside, "Wait for the tracker's answer: the card starts without it at " + latest + " UTC at the latest"
	case r.Name == "task_deps_cycle":
		return WhoYou, "Remove one of these relations, or stop one of the tasks"
	case r.Name == "freeze":
		_, repo, _ := strings.Cut(r.Subject, "@")
		return WhoYou, fmt.Sprintf("Run signalbox unfreeze %s, or press Unfreeze on the dashboard (Repositories)", repo)
	case r.Name == "budget":
		return WhoYou, endOfBudget(reason)
	case r.Name == orchestrator.HoldPause:
		_, repo, _ := strings.Cut(r.Subject, "/")
		return WhoYou, strings.TrimSpace("Run signalbox unpause " + repo)
	case r.Name == "agent_pause":
		return endOfPause(others)
	default:
		return WhoService, "Wait for the end of " + strings.ReplaceAll(r.Name, "_", " ")
	}
}

// endOfCards returns how a wait ends for cards without a task, which are named before tasks.
func endOfCards(others string) string {
	last := strings.LastIndex(others, "\"")
	if tasks, more := strings.CutPrefix(others[last+1:], ", "); more {
		return fmt.Sprintf("Set To Analyse on %s, which nobody has begun, and wait for the end of %s; or remove the relations",
			others[:last+1], tasks)
	}
	return "Set To Analyse on " + others + ", which nobody has begun, or remove the relation"
}

// endOfBudget returns how the caps are raised that a reason names.
func endOfBudget(reason string) string {
	var caps []string
	day := ""
	if strings.Contains(reason, " for a task") {
		caps = append(caps, "ORCH_BUDGET_TASK_USD")
	}
	if strings.Contains(reason, " for a repository and day") {
		caps, day = append(caps, "ORCH_BUDGET_REPO_DAY_USD"), "; the cap of a day ends with the day (UTC)"
	}
	return "Raise " + strings.Join(caps, " and ") + " and restart the service" + day
}

// endOfPause returns who ends the pause of an agent: nobody need where it has said when it
// can work again.
func endOfPause(agent string) (Who, string) {
	what, _, _ := strings.Cut(agent, ": ")
	agent, _, limited := strings.Cut(what, " until ")
	agent, _, _ = strings.Cut(agent, " with the model ")
	if strings.Contains(agent, " ") { // a command line
		agent = strconv.Quote(agent)
	}
	resume := "to try at once, run signalbox resume " + agent + ", or press Resume on the dashboard (Queue)"
	if limited {
		return WhoOutside, "Wait, it ends by itself; " + resume
	}
	return WhoYou, "Mend the agent: the notice in the chat and the queue page say how. It is tried again by itself; " + resume
}
