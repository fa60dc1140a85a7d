package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// tend removes what is over, once a day.
func (b *Budget) tend(ctx context.Context, _, _ bool) (all bool, next time.Time, err error) {
	begin := dayOf(b.opt.Now())
	if b.tidied.Load() == begin.Unix() {
		return false, next, nil
	}
	marks, err := b.opt.Store.Facts(ctx, task.Fact{Kind: told}, 0)
	if err == nil {
		err = b.tidy(ctx, marks)
	}
	if err == nil {
		b.tidied.Store(begin.Unix())
	}
	return false, next, err
}

// told: people were notified, over restarts too.
const told task.FactKind = "budget_told"

// marker returns the fact that records a notice, by what is over: kind, task or day, and so on, then
// the cap: a cap that was raised and is reached again has a notice again.
func (b *Budget) marker(t task.Task, o overrun) task.Fact {
	limit, of := b.opt.Caps.Task, fmt.Sprintf("%s/%d", o.kind, t.ID)
	if o.kind == kindRepoDay {
		limit, of = b.opt.Caps.RepoDay, fmt.Sprintf("%s/%d/%s", o.kind, o.until.Unix(), t.Repo)
	}
	if o.unpriced {
		of += "/unpriced"
	}
	return task.Fact{Kind: told, Of: fmt.Sprintf("%s/%d", of, limit), Text: o.reason}
}

// told adds one notice of the caps without one, and the mark that it was sent.
func (b *Budget) told(ctx context.Context, s admit.Start, why admit.Reason, c *task.Commit) {
	p, registered := b.opt.Projects.ByRepo(s.Task.Repo)
	over, _ := why.Detail.([]overrun)
	marks, err := b.opt.Store.Facts(ctx, task.Fact{Kind: told}, 0)
	if err != nil || !registered {
		b.opt.Log.Error("people could not be notified of a cap", "task", s.Task.ID, "repo", s.Task.Repo, "err", err)
		return
	}
	var facts []task.Fact
	var fresh []overrun
	for _, o := range over {
		if m := b.marker(s.Task, o); !slices.ContainsFunc(marks, m.Is) {
			facts, fresh = append(facts, m), append(fresh, o)
		}
	}
	if len(fresh) == 0 {
		return
	}
	b.opt.Log.Warn("a cap is reached", "task", s.Task.ID, "repo", s.Task.Repo, "why", reasonOf(fresh))
	notice := stage.Effect{Kind: stage.EffectNotify, Text: "waits for the budget: " + reasonOf(fresh)}
	c.Facts = append(c.Facts, facts...)
	c.Jobs = append(c.Jobs, orchestrator.EffectJob(s.Task, p, notice, fmt.Sprintf("%s/%s/%d", told, facts[0].Of, s.Task.CreatedAt.Unix())))
}

// tidy removes what no verdict can need again: marks of notices of days and tasks that
// have ended, and reservations of interrupted runs of such tasks.
func (b *Budget) tidy(ctx context.Context, marks []task.Fact) error {
	begin := dayOf(b.opt.Now())
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
		if err != nil || of[0] == kindRepoDay && n <= begin.Unix() || of[0] == kindTask && ended(n) {
			over = append(over, m)
		}
	}
	if len(over) > 0 {
		errs = append(errs, b.opt.Store.Commit(ctx, task.Commit{Over: over}))
	}
	reserved, err := b.opt.Store.Reservations(ctx, "")
	old := slices.DeleteFunc(reserved, func(r task.Reservation) bool { return !r.At.Before(begin) || !ended(r.TaskID) })
	return errors.Join(append(errs, err, b.opt.Store.Forget(ctx, old...))...)
}
