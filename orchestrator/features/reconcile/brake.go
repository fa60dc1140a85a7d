package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// brakeShare: more than one in so many of a board's cards do not lose their
// webhooks at once; a board that was restored from a backup looks like that.
const brakeShare = 4

// brake returns why nothing of a project is replayed; empty when it is not too much. People
// are notified of it once, until a pass finds less.
func (r *Reconciler) brake(
	ctx context.Context, e *orchestrator.Engine, p task.Project, lost []tracker.Item, listed int,
) (why string, err error) {
	mark := task.Fact{Kind: BrakeTold, Of: p.TrackerProject}
	stored, err := e.Store.Facts(ctx, mark, 1)
	told := len(stored) > 0
	if len(lost) <= r.opt.Brake || len(lost)*brakeShare <= listed {
		if told && err == nil {
			err = e.Store.Commit(ctx, task.Commit{Over: stored})
		}
		return "", err
	}
	why = fmt.Sprintf("%d work items of %s would change at once, of %d that stand where a person asks for something; "+
		"nothing is replayed (at most %d are, or one in %d)",
		len(lost), p.Repo, listed, r.opt.Brake, brakeShare)
	r.opt.Log.Error("the reconciler brakes", "repo", p.Repo, "items", len(lost), "listed", listed, "brake", r.opt.Brake)
	if told || err != nil {
		return why, err
	}
	var newest time.Time
	for _, item := range lost {
		if item.UpdatedAt.After(newest) {
			newest = item.UpdatedAt
		}
	}
	text := fmt.Sprintf("%d cards, of %d that stand where a person asks for something, were not acted on and are not now: "+
		"so many webhooks are not lost at once. "+
		"Look at the board and put back what nobody wants, as after a restored backup. "+
		"At most %d that are left are acted on by themselves. "+
		"While webhooks come, a card that is moved out of its column and back is acted on at once.", len(lost), listed, r.opt.Brake)
	mark.Text = why
	key := fmt.Sprintf("brake/%s/%d/%d", p.TrackerProject, len(lost), newest.UnixMicro()) // replicas that see the same say it once
	notice := stage.Effect{Kind: stage.EffectNotify, Text: text}
	job := orchestrator.EffectJob(task.Task{Title: "many cards would move at once"}, p, notice, key)
	return why, e.Store.Commit(ctx, task.Commit{Facts: []task.Fact{mark}, Jobs: []queue.Job{job}})
}
