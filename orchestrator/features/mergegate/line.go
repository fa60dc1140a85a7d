package mergegate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease"
)

// line is the queue of merges into a repository: the holder of the lease, and the tasks that wait
// for it in the order in which they came. It is read from the lease and the tasks, and kept
// nowhere else.
type line struct {
	repo    string
	holder  string // empty: the lease is free
	waiting []task.Task
}

// arranges is how often a line is looked at that changes all the while.
const arranges = 8

// readLine reads the line of a repository.
func (g *Gate) readLine(ctx context.Context, repo string) (line, error) {
	l := line{repo: repo}
	held, live, err := g.opt.Leases.Holder(ctx, leaseName(repo))
	if err != nil {
		return l, err
	}
	if live {
		l.holder = held.Holder
	}
	var back int64 // a task whose lease has ended while the service was down: it comes back for it
	for t, err := range task.Each(ctx, g.opt.Store, task.Filter{Repo: repo, Live: true, Stage: stage.DeployStaging}) {
		if err != nil {
			return l, err
		}
		who := holder(t.WorkItemID, t.ID)
		if l.holder == "" && working(t.State) && t.State.Phase == stage.PhaseRetest {
			l.holder, back = who, t.ID
		}
		if inLine(t.State) && who != l.holder {
			l.waiting = append(l.waiting, t)
		}
	}
	if len(l.waiting) > 0 {
		err = g.leaveHeld(ctx, &l, back)
	}
	slices.SortStableFunc(l.waiting, first)
	return l, err
}

// leaveHeld takes tasks out of a line whose cards or pull requests wait for people: others go before them.
func (g *Gate) leaveHeld(ctx context.Context, l *line, back int64) error {
	held, err := g.opt.Store.Holds(ctx)
	for _, h := range held {
		l.waiting = slices.DeleteFunc(l.waiting, func(t task.Task) bool { return h.Subject == orchestrator.CardSubject(t.ID) })
		if h.Subject == orchestrator.CardSubject(back) {
			l.holder = ""
		}
	}
	return err
}

// first orders a line: what takes something back is before all others, which may be held for it.
func first(a, b task.Task) int {
	if undo := a.State.Lane == stage.UndoLane; undo != (b.State.Lane == stage.UndoLane) {
		return map[bool]int{true: -1, false: 1}[undo]
	}
	return a.State.LinedUp.Compare(b.State.LinedUp)
}

// inLine reports whether a task stands in the line until it has the lease.
func inLine(s stage.State) bool { return working(s) && s.Phase == stage.PhaseCatchUp }

// same reports whether two looks have seen the same.
func (l line) same(o line) bool {
	return l.holder == o.holder && slices.EqualFunc(l.waiting, o.waiting, func(a, b task.Task) bool { return a.ID == b.ID })
}

// place says what a task waits for that is not the next one to have the lease; empty when
// it is, or does not wait.
func (l line) place(id int64) string {
	before := []string{}
	if l.holder != "" {
		item, _, _ := strings.Cut(l.holder, " (task ")
		before = append(before, item)
	}
	for _, t := range l.waiting {
		if t.ID == id && len(before) > 0 {
			return fmt.Sprintf("number %d in line to merge in %s, behind %s", len(before)+1, l.repo, before[len(before)-1])
		}
		before = append(before, t.WorkItemID)
	}
	return ""
}

func turn(id int64) queue.Hold {
	return queue.Hold{Subject: orchestrator.MergeTurn(id), Name: Name}
}

// arrange lets the first in the line go on when the lease is free, and has the others
// wait, each with its place. It looks again after it has written, and writes again when
// the line is another by then: so the last writer has seen what is, and nobody waits
// for a lease that was given back meanwhile.
func (g *Gate) arrange(ctx context.Context, repo string) (line, error) {
	l, err := g.readLine(ctx, repo)
	wrote := map[int64]bool{}
	for range arranges {
		if err != nil || len(l.waiting) == 0 && len(wrote) == 0 {
			return l, err
		}
		var hold, free []queue.Hold
		waits := map[int64]bool{}
		for _, t := range l.waiting {
			h := turn(t.ID)
			if h.Reason = l.place(t.ID); h.Reason == "" || g.overdue(t) {
				free = append(free, h)
			} else {
				hold, waits[t.ID] = append(hold, h), true
			}
		}
		for _, id := range slices.Sorted(maps.Keys(wrote)) {
			if !waits[id] {
				free = append(free, turn(id))
			}
		}
		if len(hold) > 0 {
			err = g.opt.Store.Hold(ctx, hold...)
		}
		if len(free) > 0 && err == nil {
			err = g.opt.Store.Free(ctx, free...)
		}
		if err != nil {
			return l, err
		}
		wrote = waits
		var now line
		if now, err = g.readLine(ctx, repo); err == nil && now.same(l) {
			return l, nil
		}
		l = now
	}
	return l, err
}

// acquire takes or prolongs the lease for a task whose turn it is. busy is what it waits
// for otherwise.
func (g *Gate) acquire(ctx context.Context, t task.Task) (busy string, err error) {
	l, err := g.readLine(ctx, t.Repo)
	if err != nil {
		return "", err
	}
	who := holder(t.WorkItemID, t.ID)
	if l.holder == who || l.holder == "" && (len(l.waiting) == 0 || l.waiting[0].ID == t.ID) {
		if busy, err = g.prolong(ctx, t); err != nil || busy == "" && (l.holder == who || len(l.waiting) < 2) {
			return busy, err
		}
	} else {
		busy = l.busy(t.ID)
	}
	_, err = g.arrange(ctx, t.Repo) // it has the lease, and the others are behind it; or it waits
	return busy, err
}

// overdue reports whether a task has stood in the line for as long as it may.
func (g *Gate) overdue(t task.Task) bool { return g.opt.Now().Sub(t.State.LinedUp) >= g.opt.LineMax }

// explainLine returns why a task stands in the line no longer, with who has the lease and since when.
func (g *Gate) explainLine(ctx context.Context, t task.Task, busy string) (string, error) {
	why := fmt.Sprintf("it has stood in line for %s: %s", stage.Span(g.opt.LineMax), busy)
	l, held, err := g.opt.Leases.Holder(ctx, leaseName(t.Repo))
	if err != nil || !held {
		return why, err
	}
	why += fmt.Sprintf("; %s has the merge lease", l.Holder)
	list, err := g.opt.Store.Tasks(ctx, task.Filter{Repo: t.Repo, Live: true})
	for _, o := range list {
		if holder(o.WorkItemID, o.ID) == l.Holder && o.State.Leased {
			why += " since " + o.State.LeasedAt.UTC().Format(time.RFC3339)
		}
	}
	return why, err
}

// prolong takes the lease, or keeps it for longer. busy names its other holder.
func (g *Gate) prolong(ctx context.Context, t task.Task) (busy string, err error) {
	_, err = g.opt.Leases.Acquire(ctx, leaseName(t.Repo), holder(t.WorkItemID, t.ID), g.opt.TTL)
	var held *lease.Held
	if errors.As(err, &held) {
		return line{repo: t.Repo, holder: held.Lease.Holder}.busy(t.ID), nil
	}
	return "", err
}

// busy says what a task waits for that cannot have the lease now.
func (l line) busy(id int64) string {
	if place := l.place(id); place != "" {
		return place
	}
	first, _, _ := strings.Cut(l.holder, " (task ")
	if first == "" && len(l.waiting) > 0 {
		first = l.waiting[len(l.waiting)-1].WorkItemID
	}
	return fmt.Sprintf("%s is merged into %s first", first, l.repo)
}

// handBack gives a lease back, if it is the task's, and lets the next one in the line
// have it.
func (g *Gate) handBack(ctx context.Context, repo, who string) error {
	l, ok, err := g.opt.Leases.Holder(ctx, leaseName(repo))
	if err == nil && ok && l.Holder == who {
		err = g.opt.Leases.Release(ctx, l)
	}
	if err != nil && !errors.Is(err, lease.ErrLost) {
		return err
	}
	_, err = g.arrange(ctx, repo)
	return err
}

// release gives the lease back that a task has no use for any more, or its place in the
// line.
func (g *Gate) release(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	err := g.opt.Store.Free(ctx, turn(e.TaskID))
	if err == nil {
		err = g.handBack(ctx, e.Repo, holder(e.WorkItem, e.TaskID))
	}
	if err != nil {
		return orchestrator.Retry(err)
	}
	return queue.Outcome{Kind: queue.OutcomeDone}
}

// tend puts the lines right: the lease of a holder that died has ended by itself, or a
// process has died before it let the next one have it.
func (g *Gate) tend(ctx context.Context) error {
	held, err := g.opt.Store.Holds(ctx)
	if err != nil {
		return err
	}
	left, repos := map[string]bool{}, map[string]bool{}
	for _, h := range held {
		left[h.Subject] = h.Name == Name
	}
	for t, err := range task.Each(ctx, g.opt.Store, task.Filter{Live: true, Stage: stage.DeployStaging}) {
		if err != nil {
			return err
		}
		repos[t.Repo] = repos[t.Repo] || inLine(t.State)
	}
	for _, repo := range slices.Sorted(maps.Keys(repos)) {
		if !repos[repo] {
			continue
		}
		l, err := g.arrange(ctx, repo)
		if err != nil {
			return err
		}
		for _, t := range l.waiting {
			delete(left, turn(t.ID).Subject)
		}
	}
	var free []queue.Hold
	for _, subject := range slices.Sorted(maps.Keys(left)) {
		if left[subject] {
			free = append(free, queue.Hold{Subject: subject, Name: Name})
		}
	}
	if len(free) == 0 {
		return nil
	}
	return g.opt.Store.Free(ctx, free...)
}
