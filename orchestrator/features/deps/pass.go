package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// burst is how many tasks have their relations read again in one pass: trackers
// limit requests, and what is known stays true most of the time.
const burst = 20

// related is what a task's relations said when they were read.
type related struct {
	at    time.Time
	refs  []tracker.Ref
	cards map[tracker.Ref]string // names of unfinished cards among those without a task
}

// world is what a pass knows of the unfinished tasks.
type world struct {
	tasks map[int64]orchestrator.Task
	graph Graph
	cards map[int64][]string // cards that a task waits for and that have no task
	since time.Time          // when the newest dependency was recorded
}

// Pass reads the relations that are due, and makes the holds what dependencies
// ask for. Two passes of one Deps must not run at the same time.
func (d *Deps) Pass(ctx context.Context, e *orchestrator.Engine) error {
	w := world{tasks: map[int64]orchestrator.Task{}, graph: Graph{}, cards: map[int64][]string{}}
	live, err := d.live(ctx)
	if err != nil {
		return err
	}
	held, err := d.opt.Lister.Holds(ctx)
	if err != nil {
		return err
	}
	for _, t := range live {
		w.tasks[t.ID] = t
	}
	var errs []error
	if d.opt.Relations != nil {
		errs = d.relations(ctx, live, held, w)
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
		_, unfinished := w.tasks[dep.On]
		if waiting && unfinished {
			w.graph[dep.TaskID] = append(w.graph[dep.TaskID], dep.On)
		}
	}
	return errors.Join(append(errs, d.apply(ctx, e, w, held))...)
}

// live lists the unfinished tasks.
func (d *Deps) live(ctx context.Context) (out []orchestrator.Task, err error) {
	for after := int64(0); ; {
		page, err := d.opt.Store.Tasks(ctx, orchestrator.TaskFilter{Live: true, AfterID: after})
		if err != nil || len(page) == 0 {
			return out, err
		}
		out, after = append(out, page...), page[len(page)-1].ID
	}
}

// relations brings the table up to what the tracker says.
func (d *Deps) relations(ctx context.Context, live []orchestrator.Task, held []queue.Hold, w world) (errs []error) {
	for id := range d.known {
		if _, ok := w.tasks[id]; !ok {
			delete(d.known, id)
		}
	}
	for _, t := range d.due(live, held) {
		r, err := d.read(ctx, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d.known[t.ID] = r
	}
	table, err := d.opt.Table.Dependencies(ctx)
	if err != nil {
		return append(errs, err)
	}
	for id, r := range d.known {
		on, cards, err := d.resolve(ctx, r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		w.cards[id] = cards
		if !slices.Equal(on, recorded(table, id)) {
			errs = append(errs, d.opt.Table.SetDependencies(ctx, id, SourceTracker, on))
		}
	}
	return errs
}

// due are the tasks whose relations are to be read now: those that are held and
// whose relations this process does not know, and a few that were read longest ago.
func (d *Deps) due(live []orchestrator.Task, held []queue.Hold) []orchestrator.Task {
	waiting := map[string]bool{}
	for _, h := range held {
		waiting[h.Subject] = waiting[h.Subject] || h.Name == Name
	}
	var now, later []orchestrator.Task
	for _, t := range live {
		r, known := d.known[t.ID]
		switch {
		case !known && waiting[subject(t.ID)]:
			now = append(now, t)
		case d.opt.Now().Sub(r.at) >= d.opt.Read:
			later = append(later, t)
		}
	}
	slices.SortStableFunc(later, func(a, b orchestrator.Task) int {
		return cmp.Compare(d.known[a.ID].at.UnixNano(), d.known[b.ID].at.UnixNano())
	})
	return append(now, later[:min(burst, len(later))]...)
}

// read asks the tracker what a task waits for.
func (d *Deps) read(ctx context.Context, t orchestrator.Task) (related, error) {
	r := related{at: d.opt.Now(), cards: map[tracker.Ref]string{}}
	refs, err := d.opt.Relations.BlockedBy(ctx, t.TrackerProjectID, t.TrackerIssueID)
	if errors.Is(err, tracker.ErrNoRelations) || errors.Is(err, tracker.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("relations of task %d: %w", t.ID, err)
	}
	r.refs = refs
	for _, ref := range refs {
		if d.opt.Items == nil {
			break
		}
		if item, err := d.opt.Items.Item(ctx, ref.ProjectID, ref.ItemID); err == nil && !item.Finished {
			r.cards[ref] = fmt.Sprintf("the card %q", item.Title)
		}
	}
	return r, nil
}

// resolve finds the tasks of the cards that relations name; a card without one
// is waited for as a card.
func (d *Deps) resolve(ctx context.Context, r related) (on []int64, cards []string, err error) {
	for _, ref := range r.refs {
		list, err := d.opt.Store.Tasks(ctx, orchestrator.TaskFilter{TrackerIssueID: ref.ItemID})
		if err != nil {
			return nil, nil, err
		}
		if len(list) > 0 {
			on = append(on, list[len(list)-1].ID)
		} else if name, unfinished := r.cards[ref]; unfinished {
			cards = append(cards, name)
		}
	}
	slices.Sort(on)
	return slices.Compact(on), cards, nil
}

// recorded are a task's prerequisites in the table that came from the tracker.
func recorded(table []orchestrator.Dependency, id int64) (on []int64) {
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
	var errs []error
	for _, h := range held {
		if h.Name != Name && h.Name != Cycle {
			continue
		}
		have[keyOf(h)] = h
		if _, ok := want[keyOf(h)]; !ok {
			stale = append(stale, h)
			errs = append(errs, d.alert(ctx, e, w, h, false))
		}
	}
	for _, h := range want {
		if have[keyOf(h)].Reason != h.Reason {
			missing = append(missing, h)
			errs = append(errs, d.alert(ctx, e, w, h, true))
		}
	}
	// The alert first: a crash in between repeats it under the same key, and does
	// not forget it.
	return errors.Join(append(errs, d.opt.Queue.Hold(ctx, missing...), d.opt.Queue.Free(ctx, stale...))...)
}

// key is what holds are told apart by.
type key struct{ subject, name string }

func keyOf(h queue.Hold) key { return key{h.Subject, h.Name} }

// holds are those that dependencies ask for.
func (w world) holds() map[key]queue.Hold {
	want := map[key]queue.Hold{}
	for id := range w.tasks {
		if len(w.graph[id])+len(w.cards[id]) > 0 {
			h := queue.Hold{Subject: subject(id), Name: Name, Reason: waitsFor(w.graph[id], w.tasks, w.cards[id])}
			want[keyOf(h)] = h
		}
	}
	for _, c := range w.graph.Cycles() {
		for _, id := range c {
			h := queue.Hold{Subject: subject(id), Name: Cycle, Reason: "a dependency cycle: " + describe(c, w.tasks)}
			want[keyOf(h)] = h
		}
	}
	return want
}

// alert tells people of a cycle, or that it is gone.
func (d *Deps) alert(ctx context.Context, e *orchestrator.Engine, w world, h queue.Hold, cycle bool) error {
	id, err := strconv.ParseInt(strings.TrimPrefix(h.Subject, "task/"), 10, 64)
	t, live := w.tasks[id]
	p, known := e.Projects.ByRepo(t.Repo)
	if h.Name != Cycle || err != nil || !live || !known {
		return nil
	}
	identity := fmt.Sprintf("cycle/%d/%x/%d", id, h.Reason, w.since.UnixNano())
	effects := []stage.Effect{
		{Kind: stage.EffectNotify, Text: "blocked: " + h.Reason},
		{Kind: stage.EffectStatus, Status: stage.StatusBlocked, Replaces: replaceable(t.State)},
		{Kind: stage.EffectComment, Author: stage.Stream, Text: "Blocked: " + h.Reason + "."},
	}
	if !cycle {
		identity = fmt.Sprintf("uncycle/%d/%x/%d", id, h.Reason, h.Since.UnixNano())
		effects = []stage.Effect{{Kind: stage.EffectNotify, Text: "unblocked: the dependency cycle is gone"}}
	}
	d.opt.Log.Warn("dependency cycle", "task", id, "repo", t.Repo, "cycle", cycle, "what", h.Reason)
	var jobs []queue.Job
	for i, f := range effects {
		jobs = append(jobs, orchestrator.TaskEffect(t, p, f, fmt.Sprintf("%s/%d", identity, i)))
	}
	_, err = e.Jobs.Put(ctx, jobs...)
	return err
}

// replaceable are the trigger statuses that the service itself has dealt with.
func replaceable(s stage.State) []stage.Status {
	return slices.DeleteFunc([]stage.Status{s.Acted, s.Set}, func(x stage.Status) bool {
		_, trigger := stage.BoardTrigger(x)
		return !trigger
	})
}
