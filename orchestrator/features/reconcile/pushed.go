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

// pushed raises what others have pushed to the branch of a task. Each commit is raised once: whether it can be
// taken in is the engine's matter.
func (r *Reconciler) pushed(ctx context.Context, e *orchestrator.Engine, t task.Task, seen heads) (err error) {
	git, ok := e.Workspaces.(work.Adopter)
	p, known := e.Projects.ByRepo(t.Repo)
	if !ok || !known {
		return nil
	}
	if now := r.opt.Now(); orchestrator.WaitsForReview(p, t) && now.Sub(r.pulls[t.ID]) >= headsEvery {
		r.pulls[t.ID] = now
		_, err = e.Jobs.Put(ctx, orchestrator.HostJob(p, githost.Hook{
			Kind: githost.HookReview, Event: orchestrator.HookReplayed, State: string(githost.ReviewApproved),
			Repo: p.Repo, Branch: t.Branch,
		}))
	}
	if t.State.Pushed == "" || t.State.MergeSHA != "" {
		return err
	}
	list, looked := seen[t.Repo]
	if !looked && r.looks(p) {
		var failed error
		list, failed = git.Heads(ctx, p.Workspace(t))
		err = errors.Join(err, failed)
	}
	seen[t.Repo] = list
	at := list[t.Branch]
	if at == "" || at == t.State.Head || at == t.State.Pushed || r.raised[t.ID] == at {
		return err
	}
	failed := e.Raise(ctx, t, stage.Event{On: stage.OnPushed, At: r.opt.Now()}, fmt.Sprintf("pushed/%d/%s", t.ID, at))
	if failed == nil {
		r.raised[t.ID] = at
	}
	return errors.Join(err, failed)
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
