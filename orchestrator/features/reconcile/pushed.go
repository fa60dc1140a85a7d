package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// headsEvery is how often the branches of a repository are listed whose host sends webhooks of pushes.
const headsEvery = 5 * time.Minute

// heads are the branches of repositories as one pass has seen them; nil = not looked at.
type heads map[string]map[string]string

// pushed raises what others have pushed to the branches of tasks. Each commit is raised once: whether it can be
// taken in is the engine's matter.
func (r *Reconciler) pushed(ctx context.Context, e *orchestrator.Engine) (err error) {
	git, ok := e.Workspaces.(work.Adopter)
	if !ok {
		return nil
	}
	seen := heads{}
	for after := int64(0); ; {
		page, failed := e.Store.Tasks(ctx, task.Filter{Live: true, AfterID: after})
		if failed != nil || len(page) == 0 {
			return errors.Join(err, failed)
		}
		for _, t := range page {
			after = t.ID
			p, known := e.Projects.ByRepo(t.Repo)
			if now := r.opt.Now(); known && orchestrator.WaitsForReview(p, t) && now.Sub(r.pulls[t.ID]) >= headsEvery {
				r.pulls[t.ID] = now
				_, failed := e.Jobs.Put(ctx, orchestrator.HostJob(p, githost.Hook{
					Kind: githost.HookReview, Event: orchestrator.HookReplayed, State: string(githost.ReviewApproved),
					Repo: p.Repo, Branch: t.Branch,
				}))
				err = errors.Join(err, failed)
			}
			if !known || t.State.Pushed == "" || t.State.MergeSHA != "" {
				continue
			}
			list, looked := seen[t.Repo]
			if !looked && r.looks(p) {
				list, failed = git.Heads(ctx, p.Workspace(t))
				err = errors.Join(err, failed)
			}
			seen[t.Repo] = list
			at := list[t.Branch]
			if at == "" || at == t.State.Head || at == t.State.Pushed || r.raised[t.ID] == at {
				continue
			}
			failed = e.Raise(ctx, t, stage.Event{On: stage.OnPushed, At: r.opt.Now()}, fmt.Sprintf("pushed/%d/%s", t.ID, at))
			if err = errors.Join(err, failed); failed == nil {
				r.raised[t.ID] = at
			}
		}
	}
}

// looks reports whether it is time to list the branches of a project's repository.
func (r *Reconciler) looks(p task.Project) bool {
	now := r.opt.Now()
	if !p.Plain() && now.Sub(r.looked[p.Repo]) < headsEvery {
		return false
	}
	r.looked[p.Repo] = now
	return true
}
