// Package wip bounds how many tasks of a repository are in work at a time: the
// analyst of a further task waits until there is a place.
//
// A task takes a place when its analyst is about to start, so that one which waits for
// another task, a freeze or the budget has none. It gives the place back when it waits
// for a person or has ended, and does not count while a rule holds it. What has begun
// goes on when a person has answered, even when all places are taken: only beginnings wait.
//
// Places are facts, by repository and task: an index of the tasks that are in work, which is
// changed in the transactions of decisions and of package admit. The rule fails closed, so
// that there are never more tasks in work than places.
package wip

import (
	"context"
	"errors"
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

// Name of the feature, and of its rule.
const Name = "wip"

// Works is the fact of a repository's task that has a place.
const Works = task.FactPlace

// Options of a Limit.
type Options struct {
	orchestrator.Parts

	Except func(repo string) bool // repositories in which something else bounds beginnings; nil = none
	// Cards tells in which order people have put them; nil, or of a board without one: tasks begin by their numbers, as
	// do those of cards that it does not list.
	Cards interface {
		Order(ctx context.Context, project string) (cards []string, err error)
	}
}

// Limit is the feature.
type Limit struct {
	opt Options
}

// New checks the options.
func New(o Options) (*Limit, error) {
	if err := o.Complete("wip"); err != nil {
		return nil, err
	}
	if o.Except == nil {
		o.Except = func(string) bool { return false }
	}
	return &Limit{o}, nil
}

// Feature is the limit for the engine.
func (l *Limit) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name,
		On:   l.on, Admission: []admit.Rule{l.rule()}, Show: l.show,
	}
}

func (l *Limit) rule() admit.Rule {
	return admit.Rule{
		Name: Name, Line: true, Closed: "waits until the places of its repository can be counted",
		Tend: l.tend, Reserve: l.reserve, Read: l.read, First: l.first,
		Admitted: func(_ *admit.Pass, s admit.Start, c *task.Commit) {
			if _, bounded := l.places(s.Task.Repo); bounded && begins(s.Task.State) && s.JobID == 0 { // else it is reserved
				c.Facts = append(c.Facts, place(s.Task))
			}
		},
	}
}

// places is how many tasks of a repository may be in work; false = any number.
func (l *Limit) places(repo string) (n int, bounded bool) {
	p, ok := l.opt.Projects.ByRepo(repo)
	return p.Places(), ok && !l.opt.Except(repo)
}

// place is the fact that a task has a place.
func place(t task.Task) task.Fact {
	return task.Fact{Kind: Works, Of: t.Repo, Task: t.ID, Text: t.WorkItemID}
}

// begins reports whether the agent that a task waits for may be its beginning. When
// people have said something meanwhile it is not the first run. An undo waits for no place: it holds up the merges of those who have them.
func begins(s stage.State) bool {
	return s.Active != "" && s.Failures == 0 && s.Lane != stage.UndoLane && (s.Stage == stage.Analysis || s.Run == 1)
}

// on has the branch of a task made when it has a place, and takes and gives back the place of one that has begun.
func (l *Limit) on(_ context.Context, m any) error {
	if b, begins := m.(orchestrator.Beginning); begins {
		_, bounded := l.places(b.Project.Repo)
		b.Event.BranchLater = b.Event.BranchLater || bounded
	}
	c, _ := m.(orchestrator.Change)
	if _, bounded := l.places(c.Task.Repo); c.With == nil || !bounded && !c.Ended() || c.Began() {
		return nil
	}
	before := c.Before.Hold != stage.HoldNone
	switch after := c.Task.State.Hold != stage.HoldNone; {
	case c.Ended() || after && !before:
		c.With.Over = append(c.With.Over, place(c.Task))
	case before && !after:
		c.With.Facts = append(c.With.Facts, place(c.Task))
	}
	return nil
}

// tend gives places to the tasks that had begun before there was a limit.
func (l *Limit) tend(ctx context.Context, started, reloaded bool) (all bool, next time.Time, err error) {
	if !started && !reloaded {
		return false, next, nil
	}
	var c task.Commit
	for t, err := range task.Each(ctx, l.opt.Store, task.Filter{Live: true}) {
		if err != nil {
			return false, next, err
		}
		if _, bounded := l.places(t.Repo); !bounded || t.State.Hold != stage.HoldNone || begins(t.State) && t.State.Run == 1 {
			continue
		}
		rows, err := admit.Rows(ctx, l.opt.Store, t.Repo, t.ID)
		if err != nil {
			return false, next, err
		}
		if !slices.ContainsFunc(rows, func(h queue.Hold) bool { return h.Name == Name }) { // else it waits, and has not begun
			c.Facts = append(c.Facts, place(t))
		}
	}
	if len(c.Facts) > 0 {
		err = l.opt.Store.Commit(ctx, c)
	}
	return false, next, err
}

// claimed is the text of a place that a job has taken: whether that was right is not judged by it.
func claimed(s admit.Start) string { return fmt.Sprintf("job %d", s.JobID) }

// reserve takes a place for a task that is to begin, unless it has one.
func (l *Limit) reserve(ctx context.Context, s admit.Start) (undo func(context.Context) error, err error) {
	undo = func(context.Context) error { return nil }
	if _, bounded := l.places(s.Task.Repo); !bounded || !begins(s.Task.State) {
		return undo, nil
	}
	had, err := l.opt.Store.Facts(ctx, place(s.Task), 1)
	if err != nil || len(had) > 0 {
		return undo, err
	}
	own := place(s.Task)
	own.Text = claimed(s)
	told := func(c task.Commit) task.Commit { c.Tell(s.Task, l.opt.Now(), nil); return c }
	err = l.opt.Store.Commit(ctx, told(task.Commit{Task: &s.Task, Unchanged: true, Facts: []task.Fact{own}}))
	return func(ctx context.Context) error {
		return l.opt.Store.Commit(ctx, told(task.Commit{Over: []task.Fact{own}}))
	}, err
}

// facts holds the places of a repository, and who has them.
type facts struct {
	places int
	given  bool      // the task has one
	older  bool      // one that is older waits for a place
	before task.Task // one that people have put before it, and that can begin; zero: none
	now    time.Time
	in     []task.Task
}

func (l *Limit) read(ctx context.Context, p *admit.Pass, s admit.Start) (admit.Facts, error) {
	n, bounded := l.places(s.Task.Repo)
	if !bounded || !begins(s.Task.State) {
		return nil, nil
	}
	f, repo := facts{places: n, now: l.opt.Now()}, s.Task.Repo
	had, err := l.opt.Store.Facts(ctx, place(s.Task), 1)
	if err != nil {
		return nil, err
	}
	f.given = len(had) > 0 && had[0].Text != claimed(s)
	if s.With != nil { // a person may have answered
		f.given = f.given || slices.ContainsFunc(s.With.Facts, place(s.Task).Is)
	}
	working, err := admit.Once(p, l, func() ([]task.Task, error) { return l.working(ctx, repo) })
	if err != nil {
		return nil, err
	}
	for _, t := range working {
		if t.ID != s.Task.ID {
			f.in = append(f.in, t)
		}
	}
	if !f.given && len(f.in) < n {
		board := s.Task.TrackerProjectID
		order, err := admit.Once(p, inOrder(board), func() ([]string, error) { return l.order(ctx, board) })
		if err != nil {
			return nil, err
		}
		at := slices.Index(order, s.Task.TrackerIssueID)
		if at < 0 {
			line := func(id int64) string { return admit.Subjects(repo, id)[1] }
			older, err := l.opt.Store.HoldsIn(ctx, line(0), line(s.Task.ID), 1)
			if err != nil {
				return nil, err
			}
			f.older, at = len(older) > 0, len(order)
		}
		if f.before, err = l.ready(ctx, repo, order[:at], false); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Seen is how many places there are, who has them, and who is before the task.
func (f facts) Seen() any {
	in := []int64{}
	for _, t := range f.in {
		in = append(in, t.ID)
	}
	return map[string]any{"places": f.places, "in": in, "before": f.before.ID, "older": f.older}
}

func (f facts) Judge(s admit.Start) (r admit.Reason, waits bool) {
	if f.given && s.Task.State.Run > 1 || len(f.in) < f.places && !f.older && f.before.ID == 0 { // the first: it has begun
		return r, false
	}
	if b := f.before; b.ID != 0 {
		return admit.Reason{
			Text: fmt.Sprintf("waits for its turn: %s (task %d) is before it on the board", b.WorkItemID, b.ID), Who: admit.WhoTask,
			Do: "Wait until " + b.WorkItemID + " has begun, or put the card before it", Tasks: []int64{b.ID}, Until: f.now.Add(turn),
		}, true
	}
	r = admit.Reason{
		Brief: "waits for a place in " + s.Task.Repo, Who: admit.WhoTask,
		Do: "Wait until one of them is done or waits for a person, stop one, or raise wip of the repository in projects.yaml",
	}
	var names []string
	for _, t := range f.in {
		if r.Tasks = append(r.Tasks, t.ID); len(names) < namesMax {
			names = append(names, t.WorkItemID)
		}
	}
	text := strings.Join(names, ", ")
	if more := len(f.in) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if r.Text = r.Brief; text != "" {
		r.Text = fmt.Sprintf("waits for a place: %d of %d in work in %s: %s", len(f.in), f.places, s.Task.Repo, text)
	}
	return r, true
}

// turn is how often a task is looked at that may begin once another has.
const turn = 5 * time.Second

// inOrder names the order of a project in a pass.
type inOrder string

func (l *Limit) order(ctx context.Context, project string) ([]string, error) {
	if l.opt.Cards == nil {
		return nil, nil
	}
	return l.opt.Cards.Order(ctx, project)
}

// ready finds the first task of a line's cards that can begin, or does once there is a place; held: that waits for that.
func (l *Limit) ready(ctx context.Context, repo string, items []string, held bool) (none task.Task, err error) {
	for _, item := range items {
		list, err := l.opt.Store.Tasks(ctx, task.Filter{TrackerIssueID: item, Repo: repo, Live: true, Limit: 1})
		if err != nil {
			return none, err
		}
		if len(list) == 0 || list[0].State.Run > 1 || !begins(list[0].State) {
			continue
		}
		waits, err := l.opt.Store.Waiting(ctx, queue.Filter{Pool: queue.PoolAgents, TaskID: list[0].ID})
		if err != nil {
			return none, err
		}
		soon := l.opt.Now().Add(turn)
		other := func(r queue.Reason) bool { // what waits for its turn is looked at within that time
			return r.Name != Name && (r.Kind != queue.ReasonDelay || r.Until.After(soon))
		}
		for _, w := range waits {
			if !slices.ContainsFunc(w.Reasons, other) && (!held || len(w.Reasons) > 0) {
				return list[0], nil
			}
		}
	}
	return none, nil
}

// first is the task that people have put first, on the first board that has one, of those that wait for a place; else 0.
func (l *Limit) first(ctx context.Context, repo string) (int64, error) {
	for _, p := range l.opt.Projects.Boards() {
		if p.Repo != repo {
			continue
		}
		items, err := l.order(ctx, p.TrackerProject)
		if err != nil {
			return 0, err
		}
		if t, err := l.ready(ctx, repo, items, true); err != nil || t.ID != 0 {
			return t.ID, err
		}
	}
	return 0, nil
}

// namesMax is how many tasks a reason names.
const namesMax = 10

// rowsMax bounds how many places are looked at.
const rowsMax = 10_000

// working are those of the tasks with a place that are in work: they live, wait for
// nobody, and nothing holds them.
func (l *Limit) working(ctx context.Context, repo string) (in []task.Task, err error) {
	rows, err := l.opt.Store.Facts(ctx, task.Fact{Kind: Works, Of: repo}, rowsMax)
	for _, f := range rows {
		t, failed := l.opt.Store.Task(ctx, f.Task)
		if errors.Is(failed, task.ErrNotFound) || failed == nil && (t.State.Stage.Terminal() || t.State.Hold != stage.HoldNone) {
			continue
		}
		held, failed2 := admit.Rows(ctx, l.opt.Store, repo, f.Task)
		if err = errors.Join(err, failed, failed2); err == nil && len(held) == 0 {
			in = append(in, t)
		}
	}
	return in, err
}
