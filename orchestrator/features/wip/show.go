package wip

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
)

// view is the block in /queue.
type view struct {
	Enabled bool       `json:"enabled"`
	Repos   []repoView `json:"repos"` // those with a limit, in the order of the registry
}

type repoView struct {
	Repo    string    `json:"repo"`
	Places  int       `json:"places"`
	InWork  []string  `json:"in_work"` // work items
	Waiting []waiting `json:"waiting"` // the first of the line
}

// waiting is a task that may not begin yet.
type waiting struct {
	TaskID   int64     `json:"task_id"`
	WorkItem string    `json:"work_item"`
	Since    time.Time `json:"since"`
}

// lineMax is how many of a line are shown.
const lineMax = 100

func (l *Limit) show(ctx context.Context) (any, error) {
	v := view{Enabled: true, Repos: []repoView{}}
	for _, p := range l.opt.Projects.All() {
		n, bounded := l.places(p.Repo)
		if !bounded {
			continue
		}
		r := repoView{Repo: p.Repo, Places: n, InWork: []string{}, Waiting: []waiting{}}
		in, err := l.working(ctx, p.Repo)
		if err != nil {
			return nil, err
		}
		for _, t := range in {
			r.InWork = append(r.InWork, t.WorkItemID)
		}
		line, err := admit.ListWaiting(ctx, l.opt.Store, l.rule(), p.Repo)
		if err != nil {
			return nil, err
		}
		for _, w := range line[:min(len(line), lineMax)] {
			t, err := l.opt.Store.Task(ctx, w.TaskID)
			if err != nil {
				return nil, err
			}
			r.Waiting = append(r.Waiting, waiting{TaskID: t.ID, WorkItem: t.WorkItemID, Since: w.Since})
		}
		v.Repos = append(v.Repos, r)
	}
	return v, nil
}
