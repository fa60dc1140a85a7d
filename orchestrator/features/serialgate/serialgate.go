// Package serialgate lets one task of a repository begin at a time: the analyst
// of a task waits while an older task of the repository is not finished, or
// while the repository is frozen. Branch and documents are then made when the
// analyst starts, from the fresh main.
//
// Waiting costs nothing: a waiting job has no token, takes no slot and is never
// looked at. What it waits for is a hold, set and freed in the transaction of the
// decision that begins or ends a task; each task waits for the one before it, so that
// a change touches two holds however many wait. A loop puts right what tasks had
// when the gate was switched on.
//
// The gate fails open: when the line cannot be read, nothing is held until it can. A
// freeze fails closed: it is a row that the claim itself sees, so that a store
// that does not answer lets nobody begin.
package serialgate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Names of the holds.
const (
	Name   = "serial_gate"
	Freeze = "freeze"
)

// Options of a Gate. Store, Holds and Inspector are required.
type Options struct {
	Store     orchestrator.Storing
	Holds     queue.Admin
	Inspector queue.Inspector
	Repos     []string `env:"SERIAL_GATE_REPOS" doc:"owner/name,… or * for all; unset: the repositories with self_hosting"`
	// Projects is the registry; nil with no Repos = no repository is gated.
	Projects *task.Projects
	Every    time.Duration // how often the holds are compared with the tasks; default 1 h
	Log      *slog.Logger  // nil discards
}

// Gate is the serial gate.
type Gate struct {
	opt     Options
	repair  chan struct{} // a decision was made without holds
	changed chan struct{} // a freeze began or ended here
}

// New checks the options.
func New(o Options) (*Gate, error) {
	if o.Store == nil || o.Holds == nil || o.Inspector == nil {
		return nil, errors.New("serialgate: Options.Store, Holds and Inspector are required")
	}
	for _, r := range o.Repos {
		if r != "*" && !strings.Contains(r, "/") {
			return nil, fmt.Errorf("serialgate: repository %q, want owner/name or *", r)
		}
	}
	if o.Every <= 0 {
		o.Every = time.Hour
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Gate{opt: o, repair: make(chan struct{}, 1), changed: make(chan struct{}, 1)}, nil
}

// Covers reports whether a repository is gated.
func (g *Gate) Covers(repo string) bool {
	if len(g.opt.Repos) == 0 && g.opt.Projects != nil {
		p, ok := g.opt.Projects.ByRepo(repo)
		return ok && p.SelfHosting
	}
	return slices.ContainsFunc(g.opt.Repos, func(r string) bool { return r == "*" || strings.EqualFold(r, repo) })
}

// Feature is the gate for the engine.
func (g *Gate) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name, Doc: "One task of a repository begins at a time.",
		Facts: func(p task.Project, ev *stage.Event) { ev.BranchLater = ev.BranchLater || g.Covers(p.Repo) },
		Holds: g.holds, Reloaded: g.reloaded,
		Loops: []orchestrator.Loop{{Name: "repair", Run: g.repairLoop}, {Name: "freezes", Run: g.measureLoop}},
		Show:  g.show,
	}
}

// holds answers the beginning of a task with a hold when an older one lives, and an
// end by letting the next one in the line begin, or wait for the one before.
func (g *Gate) holds(_ context.Context, c orchestrator.Change, with *task.Commit) error {
	if !g.Covers(c.Task.Repo) || !c.Began() && !c.Ended() {
		return nil
	}
	if c.Blind != nil {
		run.Hint(g.repair)
		return c.Blind
	}
	line := []*task.Task{c.Ahead, &c.Task, c.Behind}
	if c.Ended() {
		line = []*task.Task{c.Ahead, c.Behind}
		with.Free = append(with.Free, holdOf(c.Task))
	}
	line = slices.DeleteFunc(line, func(t *task.Task) bool { return t == nil })
	for i, t := range line {
		switch {
		case i > 0:
			with.Hold = append(with.Hold, behind(*t, *line[i-1]))
		case t != c.Ahead: // nobody is before it
			with.Free = append(with.Free, holdOf(*t))
		}
	}
	return nil
}

// holdOf is the hold of a task's analyst.
func holdOf(t task.Task) queue.Hold {
	return queue.Hold{Subject: orchestrator.RoleInTask(stage.Analyst, t.ID), Name: Name}
}

// behind is the hold of a task that waits for the one before it in the line.
func behind(t, ahead task.Task) queue.Hold {
	h := holdOf(t)
	h.Reason = fmt.Sprintf("waits for a place: one task at a time in %s, and %s (task %d) is before it", t.Repo, ahead.WorkItemID, ahead.ID)
	return h
}

// wanted returns the holds of a repository, given its live tasks by id: the oldest may
// begin, and every task that has begun goes on; the others wait, each for the one
// before it.
func wanted(live []task.Task) (hold []queue.Hold) {
	for i := 1; i < len(live); i++ {
		hold = append(hold, behind(live[i], live[i-1]))
	}
	return hold
}

// reloaded has the loops look at once: other repositories may be gated.
func (g *Gate) reloaded() {
	run.Hint(g.repair)
	run.Hint(g.changed)
}

// live lists the unfinished tasks of a repository, oldest first.
func (g *Gate) live(ctx context.Context, repo string) ([]task.Task, error) {
	var out []task.Task
	for after := int64(0); ; {
		page, err := g.opt.Store.Tasks(ctx, task.Filter{Repo: repo, Live: true, AfterID: after})
		if err != nil || len(page) == 0 {
			return out, err
		}
		out, after = append(out, page...), page[len(page)-1].ID
	}
}

// repairLoop compares the holds with the tasks when the service starts, and now and
// then: all that begins and ends meanwhile sets its holds in its own transaction.
func (g *Gate) repairLoop(ctx context.Context, e *orchestrator.Engine) {
	for wait := time.Duration(0); e.Wait(ctx, wait, g.repair) == nil; {
		wait = g.opt.Every
		if err := g.Repair(ctx); err != nil && ctx.Err() == nil {
			wait = min(wait, again)
			g.opt.Log.Error("the serial gate could not be looked after", "err", err)
		}
	}
}

// again is when holds are compared again that could not be.
const again = 30 * time.Second

// Repair makes the holds those that the tasks require.
func (g *Gate) Repair(ctx context.Context) error {
	held, err := g.opt.Inspector.Holds(ctx)
	if err != nil {
		return err
	}
	all, err := g.live(ctx, "")
	if err != nil {
		return err
	}
	byRepo := map[string][]task.Task{}
	for _, t := range all {
		if g.Covers(t.Repo) {
			byRepo[t.Repo] = append(byRepo[t.Repo], t)
		}
	}
	right := map[string]queue.Hold{}
	for _, live := range byRepo {
		for _, h := range wanted(live) {
			right[h.Subject] = h
		}
	}
	var stale, missing []queue.Hold
	for _, h := range held {
		if want, ok := right[h.Subject]; h.Name == Name && (!ok || want.Reason != h.Reason) {
			if !ok {
				stale = append(stale, h)
			}
			continue
		} else if h.Name == Name {
			delete(right, h.Subject)
		}
	}
	for _, h := range right {
		missing = append(missing, h)
	}
	if len(stale)+len(missing) > 0 {
		g.opt.Log.Warn("holds of the serial gate are put right", "freed", len(stale), "held", len(missing))
	}
	return errors.Join(g.opt.Holds.Hold(ctx, missing...), g.opt.Holds.Free(ctx, stale...))
}

// measureEvery is how often freezes are measured: another process can begin and end them.
const measureEvery = time.Minute

// measureLoop keeps the metric of freezes.
func (g *Gate) measureLoop(ctx context.Context, e *orchestrator.Engine) {
	for wait := time.Duration(0); e.Wait(ctx, wait, g.changed) == nil; wait = measureEvery {
		frozen, err := g.Frozen(ctx)
		if err != nil {
			continue
		}
		for _, p := range e.Projects.All() {
			value := 0.0
			if slices.ContainsFunc(frozen, func(f Frozen) bool { return strings.EqualFold(f.Repo, p.Repo) }) {
				value = 1
			}
			e.Metrics.Freeze.Set(value, orchestrator.ByRepo{Repo: p.Repo})
		}
	}
}

// Freeze lets no task of a repository begin until Unfreeze. It is durable when it
// returns. taskID is the task that it is about; 0 = none.
func (g *Gate) Freeze(ctx context.Context, repo string, taskID int64, reason string) error {
	defer run.Hint(g.changed)
	return g.opt.Store.Commit(ctx, task.Commit{
		Hold:  []queue.Hold{freezeOf(repo, reason)},
		Facts: []task.Fact{{Kind: orchestrator.FactFreeze, Of: repo, Task: taskID, Text: reason}},
	})
}

// freezeOf is the hold by which a claim sees a freeze.
func freezeOf(repo, reason string) queue.Hold {
	return queue.Hold{Subject: orchestrator.RoleInRepo(stage.Analyst, repo), Name: Freeze, Reason: reason}
}

// Unfreeze ends a freeze, and returns whether there was one and why. People are notified: in the chat,
// and on the card that the freeze was about.
func (g *Gate) Unfreeze(ctx context.Context, repo string) (was bool, reason string, err error) {
	defer run.Hint(g.changed)
	frozen, err := g.Frozen(ctx)
	i := slices.IndexFunc(frozen, func(f Frozen) bool { return strings.EqualFold(f.Repo, repo) })
	if err != nil || i < 0 {
		return false, "", err
	}
	f := frozen[i]
	causes, err := g.opt.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactFreeze, Of: f.Repo}, 0)
	if err != nil {
		return false, "", err
	}
	c := task.Commit{Free: []queue.Hold{freezeOf(f.Repo, "")}, Over: causes}
	if g.opt.Projects != nil {
		if p, ok := g.opt.Projects.ByRepo(f.Repo); ok {
			c.Jobs = g.unfrozen(ctx, p, f)
		}
	}
	return true, f.Reason, g.opt.Store.Commit(ctx, c)
}

// unfrozen are the notices that tasks may begin again.
func (g *Gate) unfrozen(ctx context.Context, p task.Project, f Frozen) (out []queue.Job) {
	key, text := fmt.Sprintf("unfrozen/%s/%d", p.Repo, f.Since.UnixMicro()), p.Repo+" is not frozen any more: its tasks may begin."
	t, err := g.opt.Store.Task(ctx, f.TaskID)
	if err == nil && t.Repo == p.Repo {
		comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}
		out = append(out, orchestrator.EffectJob(t, p, comment, key+"/comment"))
	} else {
		t = task.Task{}
	}
	return append(out, orchestrator.EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: text}, key))
}

// Frozen is a repository that no task may begin in.
type Frozen struct {
	Repo   string    `json:"repo"`
	TaskID int64     `json:"task_id,omitempty"` // the task that it is about
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Frozen lists the frozen repositories.
func (g *Gate) Frozen(ctx context.Context) ([]Frozen, error) {
	held, err := g.opt.Inspector.Holds(ctx)
	if err != nil {
		return nil, err
	}
	return g.frozenOf(ctx, held)
}

// frozenOf finds the freezes among what is held, which is what claims see, and their causes.
func (g *Gate) frozenOf(ctx context.Context, held []queue.Hold) ([]Frozen, error) {
	causes, err := g.opt.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactFreeze}, 0)
	out := []Frozen{}
	for _, h := range held {
		repo, ok := strings.CutPrefix(h.Subject, orchestrator.RoleInRepo(stage.Analyst, ""))
		if !ok || h.Name != Freeze {
			continue
		}
		f := Frozen{Repo: repo, Reason: h.Reason, Since: h.Since}
		for _, cause := range causes {
			if cause.Of == repo && cause.Text == h.Reason {
				f.TaskID = cause.Task
			}
		}
		out = append(out, f)
	}
	return out, err
}

// view is the block in /queue.
type view struct {
	Enabled bool      `json:"enabled"`
	Repos   []string  `json:"repos"`
	Frozen  []Frozen  `json:"frozen"`
	Waiting []waiting `json:"waiting"`
}

// waiting is a task that may not begin yet.
type waiting struct {
	TaskID int64     `json:"task_id"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// repos are those that are gated, as they are set or registered.
func (g *Gate) repos() []string {
	if len(g.opt.Repos) > 0 || g.opt.Projects == nil {
		return g.opt.Repos
	}
	out := []string{}
	for _, p := range g.opt.Projects.All() {
		if p.SelfHosting {
			out = append(out, p.Repo)
		}
	}
	return out
}

func (g *Gate) show(ctx context.Context) (any, error) {
	held, err := g.opt.Inspector.Holds(ctx)
	if err != nil {
		return nil, err
	}
	v := view{Enabled: true, Repos: g.repos(), Waiting: []waiting{}}
	if v.Frozen, err = g.frozenOf(ctx, held); err != nil {
		return nil, err
	}
	for _, h := range held {
		id, isTask := strings.CutPrefix(h.Subject, string(stage.Analyst)+"/")
		if n, err := strconv.ParseInt(id, 10, 64); h.Name == Name && isTask && err == nil {
			v.Waiting = append(v.Waiting, waiting{TaskID: n, Reason: h.Reason, Since: h.Since})
		}
	}
	return v, nil
}
