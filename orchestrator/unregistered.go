package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// UnregisteredError reports that work is owed to a repository which the registry does not
// have at present. It is done when the repository is there again.
type UnregisteredError struct{ Repo string }

// Error names the repository.
func (u *UnregisteredError) Error() string {
	return fmt.Sprintf("the repository %s is not registered any more", u.Repo)
}

// Retryable reports true.
func (u *UnregisteredError) Retryable() bool { return true }

// projectOf is the entry of a task's own repository. A STOP is taken where there is none:
// what it removes is owed until the repository is back.
func (e *Engine) projectOf(t task.Task, on stage.Trigger) (task.Project, bool) {
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok && on == stage.OnStop {
		return task.Project{TrackerProject: t.TrackerProjectID, Repo: t.Repo}, true
	}
	return p, ok
}

// IsRegistered reports whether the repository of a task is in the registry.
func (e *Engine) IsRegistered(t task.Task) bool {
	_, ok := e.Projects.ByRepo(t.Repo)
	return ok
}

// Stranded are the live tasks of a repository that is not registered.
type Stranded struct {
	Repo  string
	Tasks []task.Task // at least one, by id
}

// strandedNames is how many tasks a sentence names.
const strandedNames = 10

// String returns one sentence: the tasks, their repository and what to do.
func (s Stranded) String() string {
	var names []string
	for _, t := range s.Tasks[:min(len(s.Tasks), strandedNames)] {
		names = append(names, t.WorkItemID)
	}
	if len(s.Tasks) > strandedNames {
		names = append(names, "…")
	}
	count, them := "1 live task belongs", "STOP it"
	if n := len(s.Tasks); n > 1 {
		count, them = fmt.Sprintf("%d live tasks belong", n), "STOP them"
	}
	return fmt.Sprintf("%s to %s, which is not registered: %s; put it back in the project registry or %s",
		count, s.Repo, strings.Join(names, ", "), them)
}

// Stranded lists the repositories that live tasks belong to and that are not registered,
// by name. It reads all live tasks.
func (e *Engine) Stranded(ctx context.Context) (out []Stranded, err error) {
	byRepo, projects := map[string][]task.Task{}, e.Projects.Now()
	for after := int64(0); ; {
		page, err := e.Store.Tasks(ctx, task.Filter{Live: true, AfterID: after})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, t := range page {
			after = t.ID
			if _, ok := projects.ByRepo(t.Repo); !ok {
				byRepo[t.Repo] = append(byRepo[t.Repo], t)
			}
		}
	}
	for repo, tasks := range byRepo {
		out = append(out, Stranded{Repo: repo, Tasks: tasks})
	}
	slices.SortFunc(out, func(a, b Stranded) int { return cmp.Compare(a.Repo, b.Repo) })
	return out, nil
}

// HoldAccess is the name of holds that keep no job: each records that a neighbour refuses the service at a
// repository, or everywhere (*), of which people were notified. Its reason has a line with what they do.
const HoldAccess = "access"

// strandedTold is the name of holds that keep no job: each records that people were notified of the
// tasks of a repository that is not registered, until it is, or they have ended.
const strandedTold = "stranded_told"

// TellStranded sends one notice of each repository of which people were not notified before.
func (e *Engine) TellStranded(ctx context.Context, list []Stranded) error {
	held, err := e.Jobs.Holds(ctx)
	if err != nil {
		return err
	}
	told := map[string]queue.Hold{}
	for _, h := range held {
		if h.Name == strandedTold {
			told[h.Subject] = h
		}
	}
	var c task.Commit
	for _, s := range list {
		mark := queue.Hold{Subject: strandedTold + "/" + s.Repo, Name: strandedTold, Reason: s.String()}
		if _, known := told[mark.Subject]; known {
			delete(told, mark.Subject)
			continue
		}
		notice := stage.Effect{Kind: stage.EffectNotify, Text: s.String()}
		c.Hold = append(c.Hold, mark)
		key := fmt.Sprintf("%s/%d/%d", mark.Subject, s.Tasks[0].ID, e.Now().Unix())
		c.Jobs = append(c.Jobs, EffectJob(task.Task{Title: "Tasks without a repository"}, task.Project{Repo: s.Repo}, notice, key))
	}
	c.Free = slices.Collect(maps.Values(told))
	if len(c.Hold)+len(c.Free) == 0 {
		return nil
	}
	return e.Store.Commit(ctx, c)
}
