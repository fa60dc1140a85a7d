// Package retention is the feature that removes what is over, so that nothing grows
// for ever: ended jobs and old deliveries of the store, and what lies on the disk of
// this machine for tasks that have ended. Each replica looks after its own disk. Tasks,
// the journal, gate results and the records of runs stay.
package retention

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// name is the feature's.
const name = "retention"

// Disk is a part of this machine's disk, and how long what lies there is kept when the
// task has ended.
type Disk struct {
	work.Disk
	Name string // for logs
	Keep time.Duration
}

// Options of the feature, which needs Agents too.
type Options struct {
	orchestrator.Parts

	Disks   []Disk
	Mirrors work.Mirrors // nil = none

	// How long is kept; 0 = for ever.
	KeepJobs       Span `env:"KEEP_JOBS" envDefault:"30d" doc:"how long jobs are kept that have ended, once their task has; 0: for ever"`
	KeepDeliveries Span `env:"KEEP_DELIVERIES" envDefault:"90d" doc:"how long a webhook that comes again is known; 0: for ever"`
	KeepLogs       Span `env:"KEEP_LOGS" envDefault:"30d" doc:"how long agents' logs are kept, once their task has ended; 0: for ever"`
	KeepLeft       Span `env:"KEEP_LEFT" envDefault:"90d" doc:"how long is kept what attempts have left uncommitted, once their task has ended; 0: for ever"`

	Every   time.Duration // default 1 h
	Unknown time.Duration // how long what is of no known task stays, default 24 h
}

// Bounds of one call of the store, which other writers wait for, and the pause behind it.
const (
	batch = 200
	pause = 20 * time.Millisecond
)

type sweeper struct{ opt Options }

// Feature makes the feature. An error names what is missing.
func Feature(o Options) (orchestrator.Feature, error) {
	if err := o.Complete("retention"); err != nil {
		return orchestrator.Feature{}, err
	}
	if o.Every <= 0 {
		o.Every = time.Hour
	}
	if o.Unknown <= 0 {
		o.Unknown = 24 * time.Hour
	}
	s := &sweeper{o}
	return orchestrator.Feature{
		Name:  name,
		Loops: []orchestrator.Loop{{Name: "sweep", Run: s.run}},
	}, nil
}

// run sweeps at the start and then again and again. Whatever is interrupted is taken
// up by the next sweep.
func (s *sweeper) run(ctx context.Context, e *orchestrator.Engine) {
	for {
		s.prune(ctx, e)
		for _, d := range s.opt.Disks {
			s.sweep(ctx, d)
		}
		s.maintain(ctx)
		if e.Wait(ctx, s.opt.Every) != nil {
			return
		}
	}
}

// failed logs an error, unless the program is being stopped.
func (s *sweeper) failed(ctx context.Context, err error, what string, args ...any) bool {
	if err != nil && ctx.Err() == nil {
		s.opt.Log.Warn("a part of what is over stays until the next sweep", append(args, "what", what, "err", err)...)
	}
	return err != nil
}

// prune removes what is over from the store, a little at a time.
func (s *sweeper) prune(ctx context.Context, e *orchestrator.Engine) {
	now, jobs, deliveries := s.opt.Now(), 0, 0
	for after, more := int64(0), s.opt.KeepJobs > 0; more; {
		n, next, err := s.opt.Store.PruneJobs(ctx, now.Add(-time.Duration(s.opt.KeepJobs)), after, batch)
		if s.failed(ctx, err, "ended jobs") {
			break
		}
		jobs, after = jobs+n, next
		more = next > 0 && e.Wait(ctx, pause) == nil
	}
	for more := s.opt.KeepDeliveries > 0; more; {
		n, err := s.opt.Store.PruneDeliveries(ctx, now.Add(-time.Duration(s.opt.KeepDeliveries)), batch)
		if s.failed(ctx, err, "old deliveries") {
			break
		}
		deliveries += n
		more = n > 0 && e.Wait(ctx, pause) == nil
	}
	if jobs+deliveries > 0 {
		s.opt.Log.Info("what is over was removed", "jobs", jobs, "deliveries", deliveries)
	}
}

// sweep removes what lies on a disk for tasks that have ended.
func (s *sweeper) sweep(ctx context.Context, d Disk) {
	list, err := d.Remains(ctx)
	if s.failed(ctx, err, d.Name) {
		return
	}
	for _, r := range list {
		over, err := s.over(ctx, r, d.Keep)
		if err == nil && over {
			err = s.remove(ctx, d, r)
		}
		if ctx.Err() != nil {
			return
		}
		s.failed(ctx, err, d.Name, "name", r.Name, "task", r.Task)
	}
}

func (s *sweeper) remove(ctx context.Context, d Disk, r work.Remains) error {
	if r.Task != 0 {
		if err := s.opt.Agents.Quiesce(ctx, r.Task); err != nil {
			return err
		}
	}
	err := d.Remove(ctx, r)
	if err == nil {
		s.opt.Log.Debug("what a task has left on the disk was removed", "disk", d.Name, "name", r.Name, "task", r.Task)
	}
	return err
}

// over reports whether nobody needs remains any more: their task has ended, and
// nothing is to be done for it. The store may be the wrong one, so that what is of no
// task that it has stays for a while.
func (s *sweeper) over(ctx context.Context, r work.Remains, keep time.Duration) (bool, error) {
	age := s.opt.Now().Sub(r.Used)
	if age < keep {
		return false, nil
	}
	t, err := task.Task{}, task.ErrNotFound
	if r.Task != 0 {
		t, err = s.opt.Store.Task(ctx, r.Task)
	}
	switch {
	case errors.Is(err, task.ErrNotFound):
		return age > s.opt.Unknown, nil
	case err != nil || !t.State.Stage.Terminal():
		return false, err
	}
	open, err := s.opt.Store.Jobs(ctx, queue.Filter{TaskID: t.ID, Open: true, Limit: 1})
	return err == nil && len(open) == 0, err
}

// maintain keeps the mirrors small.
func (s *sweeper) maintain(ctx context.Context) {
	if s.opt.Mirrors == nil {
		return
	}
	for _, p := range s.opt.Projects.All() {
		live, err := s.live(ctx, task.Filter{Repo: p.Repo})
		if err == nil {
			m := work.Maintenance{Idle: !live, Lives: func(ctx context.Context, item string) (bool, error) {
				return s.live(ctx, task.Filter{Repo: p.Repo, WorkItemID: item})
			}}
			if s.opt.KeepLeft > 0 {
				m.LeftBefore = s.opt.Now().Add(-time.Duration(s.opt.KeepLeft))
			}
			err = s.opt.Mirrors.Maintain(ctx, p.Workspace(task.Task{}), m)
		}
		s.failed(ctx, err, "a mirror", "repo", p.Repo)
	}
}

// live reports whether a task lives.
func (s *sweeper) live(ctx context.Context, f task.Filter) (bool, error) {
	f.Live, f.Limit = true, 1
	tasks, err := s.opt.Store.Tasks(ctx, f)
	return len(tasks) > 0, err
}
