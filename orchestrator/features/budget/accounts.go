package budget

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// attempt is one attempt of an agent's job.
type attempt struct {
	job int64
	n   int
}

// booksOf reads the accounts that a task's next run is judged by. run is a record
// that the store does not have yet; the reservation of the attempt own, which is
// the run to be judged, does not count.
func (b *Budget) booksOf(ctx context.Context, t task.Task, run *task.AgentRun, own attempt) (books, error) {
	x := books{
		caps: b.opt.Caps, name: fmt.Sprintf("%s (task %d)", t.WorkItemID, t.ID), repo: t.Repo, at: b.opt.Now().UTC(), next: b.estimate(t),
	}
	reserved, err := b.opt.Store.Reservations(ctx, t.Repo)
	if err != nil {
		return x, err
	}
	reserved = slices.DeleteFunc(reserved, func(r task.Reservation) bool {
		known := run != nil && r.JobID == run.JobID && r.Attempt == run.Attempt
		return known || r.JobID == own.job && r.Attempt == own.n
	})
	if b.opt.Caps.Task > 0 {
		runs, err := b.opt.Store.AgentRuns(ctx, t.ID)
		if err != nil {
			return x, err
		}
		of := slices.DeleteFunc(slices.Clone(reserved), func(r task.Reservation) bool { return r.TaskID != t.ID })
		x.task = b.sum(t.Repo, with(runs, run), of)
	}
	if b.opt.Caps.RepoDay > 0 {
		x.repoDay, err = b.dayAccount(ctx, t.Repo, x.at, reserved, run)
	}
	return x, err
}

// estimate returns what a task's next run is taken to cost: no more than its agent may.
func (b *Budget) estimate(t task.Task) int64 {
	p, _ := b.opt.Projects.ByRepo(t.Repo)
	if most := p.Agents[t.State.Active].MicroUSD; most > 0 {
		return min(most, b.opt.Caps.Run)
	}
	return b.opt.Caps.Run
}

// dayAccount is the account of a repository on the day of a moment. A run counts on the
// day on which it ends; one that is at work counts today.
func (b *Budget) dayAccount(
	ctx context.Context, repo string, at time.Time, reserved []task.Reservation, run *task.AgentRun,
) (account, error) {
	begin := dayOf(at)
	runs, err := b.opt.Store.RunsSince(ctx, repo, begin)
	if err != nil {
		return account{}, err
	}
	if run != nil && run.Finished.Before(begin) {
		run = nil
	}
	var of []task.Reservation
	for _, r := range reserved {
		today := !r.At.Before(begin)
		if !today {
			if today, err = b.atWork(ctx, r); err != nil {
				return account{}, err
			}
		}
		if today {
			of = append(of, r)
		}
	}
	return b.sum(repo, with(runs, run), of), nil
}

// atWork reports whether the attempt of a reservation has not ended yet, or its record is to be taken in.
func (b *Budget) atWork(ctx context.Context, r task.Reservation) (bool, error) {
	jobs, err := b.opt.Store.Jobs(ctx, queue.Filter{TaskID: r.TaskID, Open: true})
	return slices.ContainsFunc(jobs, func(j queue.Job) bool {
		return j.ID == r.JobID && j.Attempt == r.Attempt && j.Status == queue.Running ||
			strings.HasPrefix(j.DedupeKey, fmt.Sprintf("run/%d/", r.TaskID))
	}), err
}

// with adds a record that the list may have already.
func with(runs []task.AgentRun, run *task.AgentRun) []task.AgentRun {
	if run == nil {
		return runs
	}
	runs = slices.DeleteFunc(runs, func(r task.AgentRun) bool { return r.JobID == run.JobID && r.Attempt == run.Attempt })
	return append(runs, *run)
}

// sum sums up. The agent is its own meter: one that was started and says nothing of
// what it used has cost what was reserved for it.
func (b *Budget) sum(repo string, runs []task.AgentRun, reserved []task.Reservation) (a account) {
	for _, r := range runs {
		cost, u := r.Usage.MicroUSD, r.Usage
		used := u.Tokens() > 0
		price, known := b.opt.Price(r)
		switch {
		case cost != 0:
		case used && known:
			cost = price
		case used && u.Model != "":
			if !slices.Contains(a.unpriced, u.Model) {
				a.unpriced = append(a.unpriced, u.Model)
			}
		case !used && (r.Started.IsZero() || r.Trouble != "" && r.Trouble != work.TroubleRoom): // its agent could not work
		default: // it says nothing, or nobody could give its price
			cost = b.estimate(task.Task{Repo: repo, State: stage.State{Active: r.Role}})
			a.silent = add(a.silent, cost)
		}
		a.spent = add(a.spent, cost)
	}
	for _, r := range reserved {
		a.reserved = add(a.reserved, r.MicroUSD)
	}
	return a
}
