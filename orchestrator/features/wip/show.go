package wip

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// namesMax is how many tasks a reason names.
const namesMax = 10

// words names the tasks that have the places now.
func (l *Limit) words(ctx context.Context, waits []queue.Wait) {
	said := map[string]string{} // by repository
	for _, w := range waits {
		i := slices.IndexFunc(w.Reasons, func(r queue.Reason) bool { return r.Name == Name })
		if i < 0 {
			continue
		}
		text, ok := said[w.Job.Lane]
		if !ok {
			text = l.taken(ctx, w.Job.Lane)
			said[w.Job.Lane] = text
		}
		if text != "" {
			w.Reasons[i].Text = text
		}
	}
}

// taken returns who has the places of a repository; empty when that cannot be said.
func (l *Limit) taken(ctx context.Context, repo string) string {
	n, _ := l.places(repo)
	in, err := l.inWork(ctx, repo)
	if err != nil || len(in) == 0 {
		return ""
	}
	names := strings.Join(in[:min(len(in), namesMax)], ", ")
	if more := len(in) - namesMax; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("waits for a place: %d of %d in work in %s: %s", len(in), n, repo, names)
}

// inWork names the tasks of a repository that are in work.
func (l *Limit) inWork(ctx context.Context, repo string) ([]string, error) {
	rows, err := l.list(ctx, Works, repo, rowsMax)
	if err != nil {
		return nil, err
	}
	tasks, _, err := l.working(ctx, rows)
	names := []string{}
	for _, t := range tasks {
		names = append(names, t.WorkItemID)
	}
	return names, err
}

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

func (l *Limit) show(ctx context.Context) (any, error) {
	v := view{Enabled: true, Repos: []repoView{}}
	for _, p := range l.opt.Projects.All() {
		n, bounded := l.places(p.Repo)
		if !bounded {
			continue
		}
		r, err := l.showRepo(ctx, p, n)
		if err != nil {
			return nil, err
		}
		v.Repos = append(v.Repos, r)
	}
	return v, nil
}

func (l *Limit) showRepo(ctx context.Context, p task.Project, n int) (r repoView, err error) {
	r = repoView{Repo: p.Repo, Places: n, Waiting: []waiting{}}
	if r.InWork, err = l.inWork(ctx, p.Repo); err != nil {
		return r, err
	}
	line, err := l.list(ctx, Waits, p.Repo, batch)
	for _, f := range line {
		r.Waiting = append(r.Waiting, waiting{TaskID: f.Task, WorkItem: f.Text, Since: f.Since})
	}
	return r, err
}
