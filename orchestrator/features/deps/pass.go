package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// world holds what a pass has read of the unfinished tasks.
type world struct {
	tasks map[int64]task.Task
	graph Graph              // who depends on whom
	line  Graph              // who waits for whom because tasks of a repository begin one at a time
	cards map[int64][]string // cards that a task waits for and that have no task
	since time.Time          // when the newest dependency was recorded

	unread []queue.Hold // of tasks whose relations may still be read in time
}

// pass begins to read the relations that are due, and makes the holds those that the
// dependencies require. next is when the first hold ends for which nothing could be read.
func (d *Deps) pass(ctx context.Context, e *orchestrator.Engine, reads *run.Group) (next time.Time, err error) {
	w := world{tasks: map[int64]task.Task{}, graph: Graph{}, line: Graph{}, cards: map[int64][]string{}}
	held, err := d.opt.Inspector.Holds(ctx) // first: what begins meanwhile is held, and would be let go as unlisted
	if err != nil {
		return next, err
	}
	live, err := d.live(ctx)
	if err != nil {
		return next, err
	}
	for _, t := range live {
		w.tasks[t.ID] = t
	}
	if d.opt.Line != "" {
		w.line = inLine(live, held, d.opt.Line)
	}
	var errs []error
	if d.opt.Relations != nil {
		w.unread, next = d.readDue(e, reads, live, held)
		errs = d.record(ctx, w)
	}
	table, err := d.opt.Table.Dependencies(ctx)
	if err != nil {
		table = nil // fail-open: what cannot be read holds nobody
		errs = append(errs, err)
	}
	for _, dep := range table {
		if dep.CreatedAt.After(w.since) {
			w.since = dep.CreatedAt
		}
		_, waiting := w.tasks[dep.TaskID]
		if waiting && dep.On > live[len(live)-1].ID { // it has begun since they were listed
			t, err := d.opt.Store.Task(ctx, dep.On)
			if errs = append(errs, err); err == nil && !t.State.Stage.Terminal() {
				w.tasks[t.ID] = t
			}
		}
		_, unfinished := w.tasks[dep.On]
		if waiting && unfinished && !w.merging(dep.TaskID) {
			w.graph[dep.TaskID] = append(w.graph[dep.TaskID], dep.On)
		}
	}
	return next, errors.Join(append(errs, d.apply(ctx, e, w, held))...)
}

// live lists the unfinished tasks.
func (d *Deps) live(ctx context.Context) (out []task.Task, err error) {
	for after := int64(0); ; {
		page, err := d.opt.Store.Tasks(ctx, task.Filter{Live: true, AfterID: after})
		if err != nil || len(page) == 0 {
			return out, err
		}
		out, after = append(out, page...), page[len(page)-1].ID
	}
}

// record brings the table up to what the tracker says.
func (d *Deps) record(ctx context.Context, w world) (errs []error) {
	table, err := d.opt.Table.Dependencies(ctx)
	if err != nil {
		return []error{err}
	}
	for _, id := range slices.Sorted(maps.Keys(d.known)) {
		if !d.known[id].read {
			continue
		}
		on, cards, err := d.resolve(ctx, d.known[id])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !w.merging(id) {
			w.cards[id] = cards
		}
		if !slices.Equal(on, recorded(table, id)) {
			errs = append(errs, d.opt.Table.SetDependencies(ctx, id, SourceTracker, on))
		}
	}
	return errs
}

// over reports whether the column of a card means that its work is over, whatever the
// tracker counts STOP as.
func over(item tracker.Item) bool { return item.Finished || item.Status == stage.StatusStop }

// resolve finds the newest tasks of the cards that relations name, cancelled ones too:
// those are over. A card without one is waited for as a card.
func (d *Deps) resolve(ctx context.Context, r related) (on []int64, cards []string, err error) {
	for _, ref := range r.refs {
		newest, err := d.opt.Store.Tasks(ctx, task.Filter{TrackerIssueID: ref.ItemID, Cancelled: true, BeforeID: math.MaxInt64, Limit: 1})
		if err != nil {
			return nil, nil, err
		}
		if len(newest) > 0 {
			on = append(on, newest[0].ID)
		} else if name, unfinished := r.cards[ref]; unfinished {
			cards = append(cards, name)
		}
	}
	slices.Sort(on)
	return slices.Compact(on), cards, nil
}

// recorded are a task's prerequisites in the table that came from the tracker.
func recorded(table []task.Dependency, id int64) (on []int64) {
	for _, dep := range table {
		if dep.TaskID == id && dep.Source == SourceTracker {
			on = append(on, dep.On)
		}
	}
	slices.Sort(on)
	return on
}

// apply compares what is held with what should be.
func (d *Deps) apply(ctx context.Context, e *orchestrator.Engine, w world, held []queue.Hold) error {
	want := w.holds()
	have := map[key]queue.Hold{}
	var stale, missing []queue.Hold
	for _, h := range held {
		if h.Name != Name && h.Name != Cycle {
			continue
		}
		have[keyOf(h)] = h
		if _, ok := want[keyOf(h)]; !ok {
			stale = append(stale, h)
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(want), byKey) {
		if h := want[k]; have[k].Reason != h.Reason {
			missing = append(missing, h)
		}
	}
	if len(stale)+len(missing) > 0 {
		defer d.opt.Changed()
	}
	errs := []error{d.alert(ctx, e, w, stale, false), d.alert(ctx, e, w, missing, true)}
	// The alert first: a crash in between repeats it under the same key, and does
	// not lose it.
	return errors.Join(append(errs, d.opt.Queue.Hold(ctx, missing...), d.opt.Queue.Free(ctx, stale...))...)
}

// key identifies a hold.
type key struct{ subject, name string }

func keyOf(h queue.Hold) key { return key{h.Subject, h.Name} }

func byKey(a, b key) int {
	return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.name, b.name))
}

// merging reports whether a task has the merge lease. It is not held any more: what it
// depends on may stand behind it in the line for that lease.
func (w world) merging(id int64) bool { return w.tasks[id].State.Leased }

// holds are those that dependencies call for.
func (w world) holds() map[key]queue.Hold {
	want := map[key]queue.Hold{}
	for id := range w.tasks {
		if len(w.graph[id])+len(w.cards[id]) > 0 {
			h := queue.Hold{Subject: subject(id), Name: Name, Reason: waitsFor(w.graph[id], w.tasks, w.cards[id])}
			want[keyOf(h)] = h
		}
	}
	for _, h := range w.unread {
		want[keyOf(h)] = h
	}
	for _, c := range w.cycles() {
		for _, id := range c {
			h := queue.Hold{Subject: subject(id), Name: Cycle, Reason: "a dependency cycle: " + w.describe(c)}
			want[keyOf(h)] = h
		}
	}
	return want
}

// cycles are the circles of waiting that no end of a task opens.
func (w world) cycles() [][]int64 {
	all := Graph{}
	for id, on := range w.graph {
		all[id] = append(all[id], on...)
	}
	for id, on := range w.line {
		all[id] = append(all[id], on...)
	}
	return all.Cycles()
}

// alert comments on each card that it is in a cycle, or is not any more, and notifies people
// once for the cycle.
func (d *Deps) alert(ctx context.Context, e *orchestrator.Engine, w world, holds []queue.Hold, cycle bool) error {
	var jobs []queue.Job
	told := map[string]bool{}
	for _, h := range holds {
		id, err := strconv.ParseInt(strings.TrimPrefix(h.Subject, "task/"), 10, 64)
		t, live := w.tasks[id]
		p, known := e.Projects.ByRepo(t.Repo)
		if h.Name != Cycle || err != nil || !live || !known {
			continue
		}
		identity := fmt.Sprintf("cycle/%x/%d", h.Reason, w.since.UnixNano())
		notice := "blocked: " + h.Reason
		text := "Blocked: " + h.Reason + ".\nRemove one of these relations, or stop one of the tasks."
		effects := []stage.Effect{
			{Kind: stage.EffectStatus, Status: stage.StatusBlocked, Replaces: replaceable(t.State)},
			{Kind: stage.EffectComment, Author: stage.Stream, Text: text},
		}
		if !cycle {
			identity = fmt.Sprintf("uncycle/%x/%d", h.Reason, h.Since.UnixNano())
			notice = "unblocked: the dependency cycle is gone"
			effects = []stage.Effect{
				{Kind: stage.EffectStatus, Status: t.State.Set},
				{Kind: stage.EffectComment, Author: stage.Stream, Text: "Unblocked: the dependency cycle is gone."},
			}
		}
		d.opt.Log.Warn("dependency cycle", "task", id, "repo", t.Repo, "cycle", cycle, "what", h.Reason)
		if !told[h.Reason] {
			told[h.Reason] = true
			jobs = append(jobs, orchestrator.EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: notice}, identity))
		}
		for _, f := range effects {
			jobs = append(jobs, orchestrator.EffectJob(t, p, f, fmt.Sprintf("%s/%d/%s", identity, id, f.Kind)))
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	_, err := e.Jobs.Put(ctx, jobs...)
	return err
}

// replaceable are the trigger statuses that the service itself has dealt with.
func replaceable(s stage.State) []stage.Status {
	return slices.DeleteFunc([]stage.Status{s.Acted, s.Set}, func(x stage.Status) bool {
		_, trigger := stage.BoardTrigger(x)
		return !trigger
	})
}
