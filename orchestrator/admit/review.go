package admit

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Review looks at what was marked. It reports whether that was everything, and when the first of the reasons
// that are left ends by itself.
func (d *Desk) Review(ctx context.Context) (whole bool, next time.Time, err error) {
	d.mu.Lock()
	whole, repos, tasks, started, reloaded := d.all, d.repos, d.tasks, d.started, d.reloaded
	d.all, d.repos, d.tasks, d.started, d.reloaded = false, map[string]bool{}, map[int64]bool{}, false, false
	d.mu.Unlock()
	v := &review{Desk: d}
	for _, r := range d.Rules {
		if r.Tend != nil {
			all, at, failed := r.Tend(ctx, started, reloaded)
			v.soon(at)
			whole = whole || all
			if err = errors.Join(err, failed); failed != nil {
				d.remember(started, reloaded)
			}
		}
	}
	if whole {
		err = errors.Join(err, v.repositories(ctx, repos))
	}
	all := []error{err}
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		t, failed := d.Store.Task(ctx, id)
		if errors.Is(failed, task.ErrNotFound) {
			continue
		}
		if failed == nil {
			_, failed = v.look(ctx, newPass(), t.Repo, id)
			repos[t.Repo] = true
		}
		if failed != nil {
			d.Mark("", id)
		}
		all = append(all, failed)
	}
	for _, repo := range slices.Sorted(maps.Keys(repos)) {
		failed := v.repository(ctx, repo, whole)
		if failed != nil {
			d.Mark(repo)
		}
		all = append(all, failed)
	}
	// Where a task has changed, it is looked at again at once.
	all = slices.DeleteFunc(all, func(err error) bool { return errors.Is(err, task.ErrConflict) })
	return whole, v.next, errors.Join(all...)
}

// review is one look at what waits.
type review struct {
	*Desk
	next time.Time
}

func (v *review) soon(at time.Time) {
	if !at.IsZero() && (v.next.IsZero() || at.Before(v.next)) {
		v.next = at
	}
}

// repositories finds those in which something waits.
func (v *review) repositories(ctx context.Context, repos map[string]bool) error {
	for _, prefix := range []string{startPrefix, linePrefix} {
		for from := prefix; ; {
			first, err := v.Jobs.HoldsIn(ctx, from, end(prefix), 1)
			if err != nil {
				return err
			}
			if len(first) == 0 {
				break
			}
			repo, _, ok := Parse(first[0].Subject)
			if from = first[0].Subject + "\x00"; ok {
				repos[repo], from = true, end(prefix+repo+"/")
			}
		}
	}
	return nil
}

// end is right behind all subjects with a prefix that ends with a slash.
func end(prefix string) string { return prefix[:len(prefix)-1] + "0" }

// repository looks at what waits in a repository, oldest first, and at a line until one has to wait in it.
func (v *review) repository(ctx context.Context, repo string, whole bool) error {
	p := newPass()
	for from := startPrefix + repo + "/"; ; {
		rows, err := v.Jobs.HoldsIn(ctx, from, end(startPrefix+repo+"/"), someMax)
		if err != nil {
			return err
		}
		last := int64(0)
		for _, row := range rows {
			_, id, _ := Parse(row.Subject)
			if from = row.Subject + "\x00"; id == last {
				continue
			}
			if _, err := v.look(ctx, p, repo, id); err != nil {
				return err
			}
			last = id
		}
		if !whole || len(rows) < someMax {
			break
		}
	}
	for _, r := range v.Rules {
		for last := int64(0); r.First != nil; {
			id, err := r.First(ctx, repo)
			if err != nil {
				return err
			}
			if id == 0 || id == last {
				break
			}
			if waits, err := v.look(ctx, p, repo, id); err != nil || waits {
				return err
			}
			last = id
		}
	}
	for from := linePrefix + repo + "/"; ; {
		first, err := v.Jobs.HoldsIn(ctx, from, end(linePrefix+repo+"/"), 1)
		if err != nil || len(first) == 0 {
			return err
		}
		_, id, _ := Parse(first[0].Subject)
		waits, err := v.look(ctx, p, repo, id)
		if err != nil || waits {
			return err
		}
		from = first[0].Subject + "\x00"
	}
}

// isOther reports whether a reason is a hold that is no rule's, such as a freeze.
func (v *review) isOther(r queue.Reason) bool {
	return r.Kind == queue.ReasonHold && !slices.ContainsFunc(v.Rules, func(o Rule) bool { return o.Name == r.Name })
}

// look makes the rows of a task those that the rules require, and reports whether it waits in a line. It is
// the one place in which a task that waits is let go.
func (v *review) look(ctx context.Context, p *Pass, repo string, id int64) (waits bool, err error) {
	t, err := v.Store.Task(ctx, id)
	if err != nil && !errors.Is(err, task.ErrNotFound) {
		return false, err
	}
	rows, failed := Rows(ctx, v.Jobs, repo, id)
	if failed != nil {
		return false, failed
	}
	var c task.Commit
	if err != nil || t.State.Stage.Terminal() {
		if c.Free = rows; len(rows) > 0 {
			return false, v.Store.Commit(ctx, c)
		}
		return false, nil
	}
	jobs, err := v.Jobs.Waiting(ctx, queue.Filter{Pool: queue.PoolAgents, TaskID: id})
	if err != nil {
		return false, err
	}
	s, held, shared := Start{Task: t, Begins: v.Begins(t)}, false, len(p.read) > 0
	for _, w := range jobs {
		s.Queued = s.Queued || w.Job.Status == queue.Queued
		held = held || slices.ContainsFunc(w.Reasons, v.isOther)
	}
	read := v.read(ctx, p, s, v.Rules)
	reasons := Admit(read, s)
	for _, r := range reasons {
		v.soon(r.Until)
		waits = waits || slices.ContainsFunc(v.Rules, func(o Rule) bool { return o.Line && o.Name == r.Rule })
	}
	v.change(ctx, s, rows, reasons, read, &c)
	if shared && len(c.Hold)+len(c.Free) > 0 { // by what was read for another task, before this one
		clear(p.read)
		return v.look(ctx, p, repo, id)
	}
	if len(reasons) == 0 && s.Queued && !held && len(rows) > 0 {
		v.take(p, s, &c)
	}
	err = v.commit(ctx, t, c)
	changed := len(c.Free) > 0 || slices.ContainsFunc(c.Hold, func(h queue.Hold) bool { // not reworded by a process that has read more
		return !slices.ContainsFunc(rows, func(r queue.Hold) bool { return r.Name == h.Name })
	})
	if err == nil && changed {
		clear(p.read)
		v.Mark(repo) // what has begun and is held leaves room for others
	}
	return waits, err
}
