package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/queue"
)

// ReasonSlot is the kind of the engine's own reason beside the queue's: the job
// could be claimed, and all agents are busy.
const ReasonSlot = "slot"

// ReasonRequests means that the requests which the tracker allows are used up or kept for what comes first.
const ReasonRequests queue.ReasonKind = "requests"

// reasons lists what a job waits for: what the queue says, else a free slot.
func reasons(e *orchestrator.Engine, w queue.Wait, running int64) []queue.Reason {
	if i := slices.IndexFunc(w.Reasons, func(r queue.Reason) bool { return r.Kind == queue.ReasonDelay }); i >= 0 {
		if _, since, waits := orchestrator.WaitsForRequests(w.Job); waits {
			w.Reasons = slices.Clone(w.Reasons)
			w.Reasons[i].Kind, w.Reasons[i].Text, w.Reasons[i].Since = ReasonRequests, orchestrator.RequestsText(w.Job), since
		}
	}
	if len(w.Reasons) > 0 || w.Job.Pool != queue.PoolAgents || running < int64(e.Concurrency()) {
		return w.Reasons
	}
	return []queue.Reason{{Kind: ReasonSlot, Text: fmt.Sprintf("all %d agent slots are taken", e.Concurrency()), Since: w.Job.CreatedAt}}
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

// endOf returns who ends what a task's job waits for, and how; what is so with the tasks that it waits for comes with it.
func (a account) endOf(r queue.Reason) (who admit.Who, do, more string) {
	i := slices.IndexFunc(a.fresh[a.ID], func(why admit.Reason) bool { return r.Kind == queue.ReasonHold && why.Rule == r.Name })
	_, _, rule := admit.Parse(r.Subject)
	switch {
	case i >= 0:
		why := a.fresh[a.ID][i]
		for _, id := range why.Tasks {
			if h, gone := a.gone[id]; gone {
				do, _ := orchestrator.MendCard(h, id)
				return admit.WhoYou, fmt.Sprintf("Task %d: %s", id, do), fmt.Sprintf("; task %d is held for its card", id)
			}
		}
		return why.Who, why.Do, ""
	case rule:
		return admit.WhoService, "Wait: it is looked at again in a moment", ""
	case r.Kind == queue.ReasonDelay:
		return admit.WhoService, fmt.Sprintf("Wait until %s, or try at once: Retry on the task's page, or POST /tasks/%d/retry",
			r.Until.UTC().Format(time.RFC3339), a.ID), ""
	case r.Kind == ReasonRequests:
		return admit.WhoService, "Wait: people's words go first, then new events, effects, listings and retries", ""
	case r.Kind == queue.ReasonOrder:
		return admit.WhoService, fmt.Sprintf("Wait for the end of job %d, which is before it", r.JobID), ""
	case r.Kind == ReasonSlot:
		return admit.WhoTask, "Wait for an agent that ends, or raise ORCH_MAX_CONCURRENCY and restart the service", ""
	case r.Name == "freeze":
		_, repo, _ := strings.Cut(r.Subject, "@")
		return admit.WhoYou, fmt.Sprintf("Run signalbox unfreeze %s, or press Unfreeze on the dashboard (Repositories)", repo), ""
	case strings.HasPrefix(r.Name, "undo/"):
		return admit.WhoTask, fmt.Sprintf("Wait until %s is over: a person sets Approved or STOP on its card", r.Name[5:]), ""
	case r.Name == orchestrator.HoldPause:
		_, repo, _ := strings.Cut(r.Subject, "/")
		return admit.WhoYou, strings.TrimSpace("Run signalbox unpause " + repo), ""
	case r.Subject == orchestrator.MergeTurn(a.ID):
		_, before, _ := strings.Cut(orchestrator.ReasonText(r), ", behind ")
		return admit.WhoTask, "Wait until " + before + " is merged or sent back, or stop it", ""
	case r.Kind == queue.ReasonHold:
		return admit.WhoService, "Wait for the end of " + strings.ReplaceAll(r.Name, "_", " "), ""
	}
	return admit.WhoService, "Wait for the end of the job", ""
}
