package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

func (b *Budget) loop(ctx context.Context, e *orchestrator.Engine) {
	for {
		if err := b.Pass(ctx); err != nil && ctx.Err() == nil {
			b.opt.Log.Error("the budget could not be looked after", "err", err)
		}
		now := b.opt.Now()
		if e.Wait(ctx, min(b.opt.Every, Day(now).AddDate(0, 0, 1).Sub(now)), b.nudge) != nil {
			return
		}
	}
}

// Pass frees what there is room for, oldest task first, brings the reasons of the
// others up to date, and notifies people of each cap that is reached, once.
func (b *Budget) Pass(ctx context.Context) error {
	held, err := b.opt.Inspector.Holds(ctx)
	if err != nil {
		return err
	}
	marks, err := b.opt.Store.Facts(ctx, task.Fact{Kind: told}, 0)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range marks {
		known[m.Of] = true
	}
	var waiting, stale, changed []queue.Hold
	for _, h := range held {
		if _, ours := taskOf(h); ours {
			waiting = append(waiting, h)
		}
	}
	slices.SortFunc(waiting, func(a, z queue.Hold) int {
		first, _ := taskOf(a)
		second, _ := taskOf(z)
		return cmp.Compare(first, second)
	})
	var errs []error
	freed := map[string]int64{} // reserved in this pass, by repository
	for _, h := range waiting {
		t, v, err := b.recheck(ctx, h, freed)
		switch reason := v.Reason(); {
		case err != nil: // it stays held
			errs = append(errs, err)
		case reason == "":
			stale = append(stale, h)
			freed[t.Repo] = add(freed[t.Repo], b.estimate(t))
		default:
			if h.Reason != reason {
				h.Reason = reason
				changed = append(changed, h)
			}
			errs = append(errs, b.notify(ctx, t, v, known))
		}
	}
	errs = append(errs, b.opt.Queue.Hold(ctx, changed...), b.opt.Queue.Free(ctx, stale...), b.tidy(ctx, marks))
	return errors.Join(errs...)
}

// recheck judges a task that waits. An empty verdict frees it.
func (b *Budget) recheck(ctx context.Context, h queue.Hold, freed map[string]int64) (t task.Task, v Verdict, err error) {
	id, _ := taskOf(h)
	t, err = b.opt.Store.Task(ctx, id)
	if errors.Is(err, task.ErrNotFound) || err == nil && t.State.Active == "" {
		return task.Task{}, nil, nil // nobody waits any more
	}
	if err != nil {
		return t, nil, err
	}
	x, err := b.caseOf(ctx, t, nil, attempt{})
	if err != nil {
		return t, nil, err
	}
	x.RepoDay.Reserved = add(x.RepoDay.Reserved, freed[t.Repo])
	return t, b.opt.Caps.Judge(x), nil
}

// told: people were notified, over restarts too.
const told task.FactKind = "budget_told"

// marker returns the fact that records a notice, by what is over: kind, task or day, and so on, then
// the cap: a cap that was raised and is reached again has a notice again.
func (b *Budget) marker(t task.Task, o Over) task.Fact {
	limit, of := b.opt.Caps.Task, fmt.Sprintf("%s/%d", o.Kind, t.ID)
	if o.Kind == KindRepoDay {
		limit, of = b.opt.Caps.RepoDay, fmt.Sprintf("%s/%d/%s", o.Kind, o.Until.Unix(), t.Repo)
	}
	if o.Unpriced {
		of += "/unpriced"
	}
	return task.Fact{Kind: told, Of: fmt.Sprintf("%s/%d", of, limit), Text: o.Reason}
}

// notify sends one notice of the caps without one. The notice and
// the mark that it was sent are one transaction.
func (b *Budget) notify(ctx context.Context, t task.Task, v Verdict, known map[string]bool) error {
	p, registered := b.opt.Projects.ByRepo(t.Repo)
	var c task.Commit
	var fresh Verdict
	for _, o := range v {
		if m := b.marker(t, o); !known[m.Of] && registered {
			c.Facts, fresh = append(c.Facts, m), append(fresh, o)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	b.opt.Log.Warn("a cap is reached", "task", t.ID, "repo", t.Repo, "why", fresh.Reason())
	notice := stage.Effect{Kind: stage.EffectNotify, Text: "waits for the budget: " + fresh.Reason()}
	c.Jobs = []queue.Job{orchestrator.EffectJob(t, p, notice, fmt.Sprintf("%s/%s/%d", told, c.Facts[0].Of, t.CreatedAt.Unix()))}
	if err := b.opt.Store.Commit(ctx, c); err != nil {
		return err
	}
	for _, m := range c.Facts {
		known[m.Of] = true
	}
	return nil
}

// tidy removes what no verdict can need again: marks of notices of days and tasks that
// have ended, and reservations of interrupted runs of such tasks.
func (b *Budget) tidy(ctx context.Context, marks []task.Fact) error {
	begin := Day(b.opt.Now())
	var errs []error
	ended := func(id int64) bool {
		t, err := b.opt.Store.Task(ctx, id)
		if err != nil && !errors.Is(err, task.ErrNotFound) {
			errs = append(errs, err)
			return false
		}
		return err != nil || t.State.Stage.Terminal()
	}
	var over []task.Fact
	for _, m := range marks {
		of := strings.Split(m.Of, "/")
		n, err := strconv.ParseInt(of[min(1, len(of)-1)], 10, 64)
		if err != nil || of[0] == KindRepoDay && n <= begin.Unix() || of[0] == kindTask && ended(n) {
			over = append(over, m)
		}
	}
	if len(over) > 0 {
		errs = append(errs, b.opt.Store.Commit(ctx, task.Commit{Over: over}))
	}
	reserved, err := b.opt.Costs.Reservations(ctx, "")
	old := slices.DeleteFunc(reserved, func(r task.Reservation) bool { return !r.At.Before(begin) || !ended(r.TaskID) })
	return errors.Join(append(errs, err, b.opt.Costs.Forget(ctx, old...))...)
}
