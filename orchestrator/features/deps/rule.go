package deps

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// rules are fail-open: what cannot be read holds nobody.
func (d *Deps) rules() []admit.Rule {
	return []admit.Rule{
		{Name: Name, Always: true, Read: d.readPrerequisites, Reserve: d.refresh},
		{Name: Cycle, Always: true, Read: d.readCycle, Told: d.tellCycle, Over: d.tellEnd},
	}
}

// prerequisites hold all that a task waits for.
type prerequisites struct {
	cards []string // that have no task
	tasks []task.Task
}

func (d *Deps) readPrerequisites(ctx context.Context, p *admit.Pass, s admit.Start) (admit.Facts, error) {
	if s.Task.State.Lane == stage.UndoLane { // others wait until it is over, so it waits for nobody
		return nil, nil
	}
	var f prerequisites
	if !s.Task.State.Leased {
		f.cards = d.ofTask(s.Task.ID).cards // before the table: a card that becomes a task is put there first
	}
	w, err := d.world(ctx, p)
	if err != nil {
		return nil, err
	}
	f.tasks, err = w.prerequisites(ctx, s.Task)
	return f, err
}

// Seen are the cards and tasks that the task waits for.
func (f prerequisites) Seen() any {
	r, _ := f.Judge(admit.Start{})
	return map[string]any{"cards": f.cards, "tasks": r.Tasks}
}

func (f prerequisites) Judge(admit.Start) (r admit.Reason, waits bool) {
	names := slices.Clone(f.cards)
	for _, t := range f.tasks {
		names, r.Tasks = append(names, fmt.Sprintf("%s (task %d)", t.WorkItemID, t.ID)), append(r.Tasks, t.ID)
	}
	cards, tasks := strings.Join(f.cards, ", "), strings.Join(names[len(f.cards):], ", ")
	switch r.Text, r.Who = "waits for "+strings.Join(names, ", "), admit.WhoTask; {
	case len(f.cards) == 0:
		r.Do = "Wait for the end of " + tasks + " (done or stopped), or remove the relation"
	case len(f.tasks) == 0:
		r.Who, r.Do = admit.WhoYou, "Set To Analyse on "+cards+", which nobody has begun, or remove the relation"
	default:
		r.Who = admit.WhoYou
		r.Do = fmt.Sprintf("Set To Analyse on %s, which nobody has begun, and wait for the end of %s; "+
			"or remove the relations", cards, tasks)
	}
	return r, len(names) > 0
}

// circle is a cycle that a task is in, the smallest first.
type circle struct {
	text  string
	tasks []int64
	since time.Time // when the newest dependency was recorded
}

func (d *Deps) readCycle(ctx context.Context, p *admit.Pass, s admit.Start) (admit.Facts, error) {
	w, err := d.world(ctx, p)
	if err != nil || s.Task.State.Lane == stage.UndoLane {
		return nil, err
	}
	tasks, err := w.cycle(ctx, s.Task.ID)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	f := circle{text: w.describe(tasks), tasks: tasks}
	for _, row := range w.table {
		if row.CreatedAt.After(f.since) {
			f.since = row.CreatedAt
		}
	}
	return f, nil
}

func (f circle) Judge(admit.Start) (admit.Reason, bool) {
	return admit.Reason{
		Text: "a dependency cycle: " + f.text, Who: admit.WhoYou, Tasks: f.tasks, Detail: f.since,
		Do: "Remove one of these relations, or stop one of the tasks",
	}, true
}

// tellCycle comments on a card that it is in a cycle; of the first task of a cycle people are notified. The others
// are looked at.
func (d *Deps) tellCycle(_ context.Context, s admit.Start, why admit.Reason, c *task.Commit) {
	since, _ := why.Detail.(time.Time)
	d.look(why.Tasks...)
	text := "Blocked: " + why.Text + ".\nRemove one of these relations, or stop one of the tasks."
	status := stage.Effect{
		Kind: stage.EffectStatus, Status: stage.StatusBlocked, Replaces: stage.Replaceable(s.Task.State.Acted, s.Task.State.Set),
	}
	identity := fmt.Sprintf("cycle/%x/%d", why.Text, since.UnixNano())
	d.tell(c, s.Task, identity, "blocked: "+why.Text, text, status, why.Tasks[0] == s.Task.ID)
}

// tellEnd comments on a card that it is in a cycle no more.
func (d *Deps) tellEnd(_ context.Context, s admit.Start, row queue.Hold, c *task.Commit) {
	d.look()
	d.tell(c, s.Task, fmt.Sprintf("uncycle/%x/%d", row.Reason, row.Since.UnixNano()),
		"unblocked: the dependency cycle is gone", "Unblocked: the dependency cycle is gone.",
		stage.Effect{Kind: stage.EffectStatus, Status: s.Task.State.Set},
		strings.HasPrefix(row.Reason, "a dependency cycle: "+s.Task.WorkItemID+" →"))
}

func (d *Deps) tell(c *task.Commit, t task.Task, identity, notice, comment string, status stage.Effect, notify bool) {
	p, known := d.opt.Projects.ByRepo(t.Repo)
	if !known {
		return
	}
	d.opt.Log.Warn("dependency cycle", "task", t.ID, "repo", t.Repo, "what", notice)
	effects := []stage.Effect{status, {Kind: stage.EffectComment, Author: stage.Stream, Text: comment}}
	if notify {
		effects = append(effects, stage.Effect{Kind: stage.EffectNotify, Text: notice})
	}
	for _, f := range effects {
		c.Jobs = append(c.Jobs, orchestrator.EffectJob(t, p, f, fmt.Sprintf("%s/%d/%s", identity, t.ID, f.Kind)))
	}
}
