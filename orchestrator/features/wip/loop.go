package wip

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// again is when is tried again what could not be done.
const again = 30 * time.Second

// loop gives out places: at once where one may have become free, and now and then
// everywhere, for what another process could not do.
func (l *Limit) loop(ctx context.Context, e *orchestrator.Engine) {
	for whole := e.Now(); ; {
		var err error
		if l.amiss.CompareAndSwap(true, false) {
			if err = l.opt.Before(ctx); err == nil {
				err = l.Repair(ctx)
			}
			l.amiss.CompareAndSwap(false, err != nil)
		}
		repos, all := l.toLook()
		if all || !e.Now().Before(whole) {
			whole, repos = e.Now().Add(l.opt.Every), nil
			for _, p := range l.opt.Projects.All() {
				repos = append(repos, p.Repo)
			}
		}
		if l.amiss.Load() {
			repos = nil // not yet
		}
		for _, repo := range repos {
			err = errors.Join(err, l.Give(ctx, repo))
		}
		if err != nil && ctx.Err() == nil {
			whole = e.Now().Add(min(l.opt.Every, again))
			l.opt.Log.Error("places could not be given out", "err", err)
		}
		if e.Wait(ctx, whole.Sub(e.Now()), l.nudge) != nil {
			return
		}
	}
}

// reloaded has the loop look at all repositories, as at a start.
func (l *Limit) reloaded() {
	l.amiss.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = true
	run.Hint(l.nudge)
}

func (l *Limit) toLook() (repos []string, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	repos = slices.Sorted(maps.Keys(l.moved))
	clear(l.moved)
	all, l.all = l.all, false
	return repos, all
}

// batch is how many tasks of a line are looked at at a time.
const batch = 100

// Give gives the free places of a repository to those who wait longest. Where there is
// no limit any more all of them begin.
func (l *Limit) Give(ctx context.Context, repo string) error {
	for {
		line, err := l.list(ctx, Waits, repo, batch)
		if err != nil || len(line) == 0 {
			return err
		}
		room := len(line)
		if n, bounded := l.places(repo); bounded {
			rows, err := l.list(ctx, Works, repo, rowsMax)
			if err != nil {
				return err
			}
			working, over, err := l.working(ctx, rows)
			if err == nil && len(over) > 0 {
				err = l.opt.Store.Commit(ctx, task.Commit{Over: over})
			}
			if err != nil {
				return err
			}
			room = min(room, n-len(working))
		}
		if room <= 0 {
			return nil
		}
		var c task.Commit
		for _, f := range line[:room] {
			t := marked(f)
			leave(t, &c)
			c.Facts = append(c.Facts, mark(Works, t))
		}
		if err := l.opt.Store.Commit(ctx, c); err != nil {
			return err
		}
	}
}

// Repair gives places to the tasks that had begun before there was a limit, and lets
// those begin that wait in repositories that have none any more.
func (l *Limit) Repair(ctx context.Context) error {
	var places []task.Fact
	for after := int64(0); ; {
		page, err := l.opt.Store.Tasks(ctx, task.Filter{Live: true, AfterID: after})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, t := range page {
			after = t.ID
			if _, bounded := l.places(t.Repo); bounded && t.State.Hold == stage.HoldNone && (!begins(t.State) || t.State.Run > 1) {
				places = append(places, mark(Works, t))
			}
		}
	}
	waiting, err := l.opt.Store.Facts(ctx, task.Fact{Kind: Waits}, rowsMax)
	if err != nil {
		return err
	}
	unbounded := map[string]bool{}
	for _, f := range waiting {
		if _, bounded := l.places(f.Of); !bounded {
			unbounded[f.Of] = true
		}
	}
	for _, repo := range slices.Sorted(maps.Keys(unbounded)) {
		err = errors.Join(err, l.Give(ctx, repo))
	}
	if len(places) > 0 {
		err = errors.Join(err, l.opt.Store.Commit(ctx, task.Commit{Facts: places}))
	}
	return err
}
