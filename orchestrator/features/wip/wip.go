// Package wip bounds how many tasks of a repository are in work at a time: the
// analyst of a further task waits until there is a place.
//
// A task takes a place when its analyst is about to start, so that one which waits for
// another task, a freeze or the budget has none. It gives the place back when it waits
// for a person or has ended, and does not count while a feature holds it. What has begun
// goes on when a person has answered, even when all places are taken: only beginnings wait.
//
// Places, and the tasks that wait for one, are facts, by repository and task. They
// are set and freed in the transaction of the decision that changes them, except for the
// beginning itself: that is admitted when its job is claimed. A place is taken first and
// counted then, so that of two that begin at the same moment at least one gives way, in
// whatever process. When a place is free, a loop gives it to the task that waits longest.
// None of this reads more than the places and the head of the line.
package wip

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Name of the feature, and of the hold of a task that waits for a place, on its analyst.
const Name = "wip"

// Facts of a repository's tasks.
const (
	Waits task.FactKind = "place_wait" // it waits for a place
	Works task.FactKind = "place"      // it has one
)

// Options of a Limit. All up to Projects are required.
type Options struct {
	Store    orchestrator.Storing
	Finder   queue.HoldFinder
	Projects *task.Projects
	Except   func(repo string) bool // repositories in which something else bounds beginnings; nil = none
	// Before puts right what bounds those, at the start and by another registry, before the
	// tasks that waited for a place there are let go; nil = nothing.
	Before func(context.Context) error
	Every  time.Duration // how often all repositories are looked at; default 1 min
	Log    *slog.Logger  // nil discards
}

// Limit is the feature.
type Limit struct {
	opt   Options
	nudge chan struct{}
	amiss atomic.Bool // what is held may be by another registry, or of another process

	mu    sync.Mutex
	moved map[string]bool // repositories in which a place may be free
	all   bool            // look at all of them
}

// New checks the options.
func New(o Options) (*Limit, error) {
	if o.Store == nil || o.Finder == nil || o.Projects == nil {
		return nil, errors.New("wip: Options.Store, Finder and Projects are required")
	}
	if o.Except == nil {
		o.Except = func(string) bool { return false }
	}
	if o.Before == nil {
		o.Before = func(context.Context) error { return nil }
	}
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Limit{opt: o, nudge: make(chan struct{}, 1), moved: map[string]bool{}}
	l.reloaded()
	return l, nil
}

// Feature is the limit for the engine.
func (l *Limit) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name, Doc: "So many tasks of a repository are in work at a time.",
		Facts: func(p task.Project, ev *stage.Event) {
			_, bounded := l.places(p.Repo)
			ev.BranchLater = ev.BranchLater || bounded
		},
		Holds: l.holds, Committed: l.committed, Reloaded: l.reloaded, Admit: l.admit, Words: l.words,
		Loops: []orchestrator.Loop{{Name: "loop", Run: l.loop}},
		Show:  l.show,
	}
}

// places is how many tasks of a repository may be in work; false = any number.
func (l *Limit) places(repo string) (n int, bounded bool) {
	p, ok := l.opt.Projects.ByRepo(repo)
	return p.Places(), ok && !l.opt.Except(repo)
}

// mark is the fact of a task.
func mark(kind task.FactKind, t task.Task) task.Fact {
	return task.Fact{Kind: kind, Of: t.Repo, Task: t.ID, Text: t.WorkItemID}
}

// marked is the task of a fact.
func marked(f task.Fact) task.Task { return task.Task{ID: f.Task, Repo: f.Of, WorkItemID: f.Text} }

// list lists the first facts of a repository.
func (l *Limit) list(ctx context.Context, kind task.FactKind, repo string, limit int) ([]task.Fact, error) {
	return l.opt.Store.Facts(ctx, task.Fact{Kind: kind, Of: repo}, limit)
}

// wait lets a task wait for a place in a transaction, and leave ends that.
func wait(t task.Task, with *task.Commit) {
	with.Hold, with.Facts = append(with.Hold, held(t)), append(with.Facts, mark(Waits, t))
}

func leave(t task.Task, with *task.Commit) {
	with.Free, with.Over = append(with.Free, held(t)), append(with.Over, mark(Waits, t))
}

func held(t task.Task) queue.Hold {
	return queue.Hold{Subject: orchestrator.RoleInTask(stage.Analyst, t.ID), Name: Name, Reason: "waits for a place in " + t.Repo}
}

// begins reports whether the agent that a task waits for may be its beginning. When
// people have said something meanwhile it is not the first run.
func begins(s stage.State) bool {
	return s.Active != "" && s.Failures == 0 && (s.Stage == stage.Analysis || s.Run == 1)
}

// holds takes and gives back the place of a task that has begun.
func (l *Limit) holds(_ context.Context, c orchestrator.Change, with *task.Commit) error {
	if _, bounded := l.places(c.Task.Repo); !bounded && !c.Ended() || c.Began() {
		return nil
	}
	own, before := mark(Works, c.Task), c.Before.Hold != stage.HoldNone
	switch after := c.Task.State.Hold != stage.HoldNone; {
	case c.Ended() || after && !before:
		leave(c.Task, with)
		with.Over = append(with.Over, own)
	case before && !after:
		with.Facts = append(with.Facts, own)
	}
	return nil
}

// committed wakes the loop when a place may be free: an agent that is launched may be
// held from the start.
func (l *Limit) committed(c orchestrator.Change) {
	if c.Ended() || c.Launched() || c.Before.Hold == stage.HoldNone && c.Task.State.Hold != stage.HoldNone {
		l.requestPass(c.Task.Repo)
	}
}

// Look has all repositories looked at soon: what holds tasks has changed, or how many
// places there are.
func (l *Limit) Look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = true
	run.Hint(l.nudge)
}

func (l *Limit) requestPass(repo string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved[repo] = true
	run.Hint(l.nudge)
}

// admit lets a task begin that has a place, or finds one. Others wait.
func (l *Limit) admit(ctx context.Context, s orchestrator.Start) (why string) {
	n, bounded := l.places(s.Task.Repo)
	if !bounded || !begins(s.Task.State) {
		return ""
	}
	in, err := l.take(ctx, s.Task, n)
	if err == nil && !in {
		with := task.Commit{Over: []task.Fact{mark(Works, s.Task)}}
		wait(s.Task, &with)
		err = l.change(ctx, s.Task, with)
		l.requestPass(s.Task.Repo) // a place may have become free before it was in the line
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, task.ErrConflict) {
		l.opt.Log.Error("the places of a repository could not be counted; the task tries again",
			"task", s.Task.ID, "repo", s.Task.Repo, "err", err)
	}
	if in {
		return ""
	}
	return "waits for a place"
}

// take takes a place for a task, if one is free and no older task waits.
func (l *Limit) take(ctx context.Context, t task.Task, n int) (in bool, err error) {
	given, room, err := l.room(ctx, t, n)
	switch {
	case err != nil:
		return false, err
	case given && t.State.Run > 1: // it has begun
		return true, nil
	case given || !room:
		return room, nil
	}
	line, err := l.list(ctx, Waits, t.Repo, 1)
	if err != nil || len(line) > 0 && line[0].Task < t.ID {
		return false, err
	}
	if err := l.change(ctx, t, task.Commit{Facts: []task.Fact{mark(Works, t)}}); err != nil {
		return false, err
	}
	_, room, err = l.room(ctx, t, n)
	return room, err
}

// changeMax is how often a change is tried while others change the task.
const changeMax = 5

// change changes what a task has that still waits for its beginning: one that was stopped
// meanwhile gets nothing.
func (l *Limit) change(ctx context.Context, t task.Task, c task.Commit) (err error) {
	for range changeMax {
		c.Task, c.Unchanged = &t, true
		err = l.opt.Store.Commit(ctx, c)
		if !errors.Is(err, task.ErrConflict) {
			return err
		}
		if t, err = l.opt.Store.Task(ctx, t.ID); err != nil || !begins(t.State) {
			return errors.Join(err, task.ErrConflict)
		}
	}
	return err
}

// room reports whether a task has a place already, and whether fewer than n others of its
// repository are in work.
func (l *Limit) room(ctx context.Context, t task.Task, n int) (given, room bool, err error) {
	rows, err := l.list(ctx, Works, t.Repo, rowsMax)
	others := slices.DeleteFunc(slices.Clone(rows), func(f task.Fact) bool { return f.Task == t.ID })
	if given = len(others) < len(rows); err != nil || len(others) < n {
		return given, err == nil, err
	}
	working, _, err := l.working(ctx, others)
	return given, err == nil && len(working) < n, err
}

// rowsMax bounds how many places are looked at.
const rowsMax = 10_000

// working are those of the tasks with a place that are in work: they live, wait for
// nobody, and nothing holds them. over are the rows of tasks that have ended.
func (l *Limit) working(ctx context.Context, rows []task.Fact) (in []task.Task, over []task.Fact, err error) {
	for _, f := range rows {
		t, err := l.opt.Store.Task(ctx, f.Task)
		if errors.Is(err, task.ErrNotFound) || err == nil && t.State.Stage.Terminal() {
			over = append(over, f)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		held, err := l.held(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		if t.State.Hold == stage.HoldNone && !held {
			in = append(in, t)
		}
	}
	return in, over, nil
}

// held reports whether a feature holds a task by itself, this one too.
func (l *Limit) held(ctx context.Context, t task.Task) (bool, error) {
	for _, subject := range []string{"task/" + strconv.FormatInt(t.ID, 10), orchestrator.RoleInTask(stage.Analyst, t.ID)} {
		if held, err := l.opt.Finder.HoldsIn(ctx, subject, subject+" ", 1); err != nil || len(held) > 0 {
			return true, err
		}
	}
	return false, nil
}
