package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Stranded are the live tasks of a repository that is not registered, or whose boards are not.
type Stranded struct {
	Repo  string
	Tasks []task.Task // at least one, by id
}

// strandedNames is how many tasks a sentence names.
const strandedNames = 10

// String returns one sentence: the tasks, their repository and what to do. A word on such a card is not heard.
func (s Stranded) String() string {
	var names []string
	for _, t := range s.Tasks[:min(len(s.Tasks), strandedNames)] {
		names = append(names, t.WorkItemID)
	}
	if len(s.Tasks) > strandedNames {
		names = append(names, "…")
	}
	count, them := "1 live task belongs", "it"
	if n := len(s.Tasks); n > 1 {
		count, them = fmt.Sprintf("%d live tasks belong", n), "them"
	}
	return fmt.Sprintf("%s to a board or repository that is not registered (of %s): %s; put that back in the project registry, "+
		"or stop %s by signalbox stop or the page", count, s.Repo, strings.Join(names, ", "), them)
}

// FindStranded lists, by name, the repositories that live tasks belong to which are not registered, or whose boards are not.
// It reads all live tasks.
func FindStranded(ctx context.Context, e *orchestrator.Engine) (out []Stranded, err error) {
	byRepo, projects := map[string][]task.Task{}, e.Projects.Now()
	for t, err := range task.Each(ctx, e.Store, task.Filter{Live: true}) {
		if err != nil {
			return nil, err
		}
		p, known := projects.ByRepo(t.Repo)
		if _, heard := projects.ByTracker(p.On(t.TrackerProjectID).TrackerProject); !known || !heard {
			byRepo[t.Repo] = append(byRepo[t.Repo], t)
		}
	}
	for repo, tasks := range byRepo {
		out = append(out, Stranded{Repo: repo, Tasks: tasks})
	}
	slices.SortFunc(out, func(a, b Stranded) int { return cmp.Compare(a.Repo, b.Repo) })
	return out, nil
}

// strandedTold: people were notified of the stranded tasks of a repository, until there are none.
const strandedTold task.FactKind = "stranded_told"

// TellStranded sends one notice of each repository of which people were not notified before.
func TellStranded(ctx context.Context, e *orchestrator.Engine, list []Stranded) error {
	told, err := e.Store.Facts(ctx, task.Fact{Kind: strandedTold}, 0)
	if err != nil {
		return err
	}
	var c task.Commit
	for _, s := range list {
		mark := task.Fact{Kind: strandedTold, Of: s.Repo, Text: s.String()}
		if i := slices.IndexFunc(told, mark.Is); i >= 0 {
			told = slices.Delete(told, i, i+1)
			continue
		}
		notice := stage.Effect{Kind: stage.EffectNotify, Text: s.String()}
		c.Facts = append(c.Facts, mark)
		key := fmt.Sprintf("%s/%s/%d/%d", mark.Kind, mark.Of, s.Tasks[0].ID, e.Now().Unix())
		none := task.Task{Title: "Tasks of what is not registered"}
		c.Jobs = append(c.Jobs, orchestrator.EffectJob(none, task.Project{Repo: s.Repo}, notice, key))
	}
	if c.Over = told; len(c.Facts)+len(c.Over) == 0 {
		return nil
	}
	return e.Store.Commit(ctx, c)
}
