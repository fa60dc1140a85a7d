package effects

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

// queuedMax is how many minutes may pass between two looks at a merge queue.
const queuedMax = 10

// leave takes a pull request out of a merge queue of the host's. A merge that is under way may put it in once more.
func (d Deps) leave(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	pr, err := d.Host.PullRequest(ctx, p.Repo, t.Branch, p.Main)
	if err == nil && pr.Queue != "" {
		_, err = d.Host.Merge(ctx, githost.Merge{Repo: p.Repo, Number: pr.Number, HeadSHA: e.SHA, Queue: githost.QueueLeave})
	}
	jobs, failed := d.Jobs.Jobs(ctx, queue.Filter{TaskID: e.TaskID, Open: true})
	merges := func(j queue.Job) bool {
		return j.Status == queue.Running && j.Kind != orchestrator.KindEffect+string(e.Kind)
	}
	switch err = cmp.Or(failed, err); {
	case errors.Is(err, githost.ErrUnqueued) && slices.ContainsFunc(jobs, merges):
		return queue.Outcome{Kind: queue.OutcomeRelease, At: d.Now().Add(time.Second), Error: "the merge is under way"}
	case err == nil, errors.Is(err, githost.ErrUnqueued): // a merge that was faster counts when the card is back
		return finished
	default:
		return d.retry(e, err)
	}
}
