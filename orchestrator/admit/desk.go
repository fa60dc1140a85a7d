package admit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Jobs reads the queue, for desks and rules.
type Jobs interface {
	queue.HoldFinder
	queue.Inspector
}

// Options of a Desk. All up to Scheduler are required.
type Options struct {
	Store     task.Store
	Jobs      Jobs
	Begins    func(task.Task) bool // the agent that a task waits for works at its first stage
	Rules     []Rule
	Scheduler run.Scheduler
	Log       *slog.Logger
}

// Desk keeps the rows by which the queue leaves out what the rules do not admit.
type Desk struct {
	Options
	nudge chan struct{}

	mu  sync.Mutex
	all bool
	// What rules have to be told of yet.
	started, reloaded bool
	repos             map[string]bool
	tasks             map[int64]bool
}

// NewDesk makes a desk that looks at everything when it begins to run.
func NewDesk(o Options) *Desk {
	return &Desk{Options: o, nudge: make(chan struct{}, 1), all: true, started: true, repos: map[string]bool{}, tasks: map[int64]bool{}}
}

// Bounds of a desk.
const (
	rowsMax = 1000             // rows that are read at a time
	someMax = 100              // rows that are looked at in a repository in which something has happened
	every   = time.Minute      // how often everything that waits is looked at
	again   = 30 * time.Second // when it is looked at again after a failure
	readMax = 15 * time.Second // how long the facts of one rule may take to read
	share   = 20               // a look at everything takes at most so small a part of the time
)

// Subjects of rows: those of rules with a Line are apart, so that only the first of a line is read.
const (
	startPrefix = "start/"
	linePrefix  = "line/"
)

// Subjects lists what the jobs of a task's agents can be held by.
func Subjects(repo string, taskID int64) []string {
	return []string{subject(startPrefix, repo, taskID), subject(linePrefix, repo, taskID)}
}

func subject(prefix, repo string, taskID int64) string {
	return fmt.Sprintf("%s%s/%019d", prefix, repo, taskID)
}

// Parse reads a subject.
func Parse(subject string) (repo string, taskID int64, ok bool) {
	rest, ok := strings.CutPrefix(subject, startPrefix)
	if !ok {
		rest, ok = strings.CutPrefix(subject, linePrefix)
	}
	i := strings.LastIndexByte(rest, '/')
	if !ok || i < 0 {
		return "", 0, false
	}
	_, err := fmt.Sscanf(rest[i+1:], "%d", &taskID)
	return rest[:i], taskID, err == nil
}

func (r Rule) prefix() string {
	if r.Line {
		return linePrefix
	}
	return startPrefix
}

func (r Rule) row(t task.Task, why Reason) queue.Hold {
	return queue.Hold{Subject: subject(r.prefix(), t.Repo, t.ID), Name: r.Name, Reason: why.words()}
}

// Rows lists the rows of a task.
func Rows(ctx context.Context, jobs queue.HoldFinder, repo string, taskID int64) (out []queue.Hold, err error) {
	for _, s := range Subjects(repo, taskID) {
		rows, failed := jobs.HoldsIn(ctx, s, s+"\x00", rowsMax)
		out, err = append(out, rows...), errors.Join(err, failed)
	}
	return out, err
}

// read reads a start for all rules that apply to it.
func (d *Desk) read(ctx context.Context, p *Pass, s Start, rules []Rule) (out Snapshot) {
	for _, r := range rules {
		if !s.Queued && !r.Always {
			continue
		}
		within, cancel := d.Scheduler.WithTimeout(ctx, readMax)
		facts, err := r.Read(within, p, s)
		cancel()
		if err != nil {
			d.Log.Error("a rule cannot be judged", "rule", r.Name, "task", s.Task.ID, "repo", s.Task.Repo, "err", err)
			if r.Closed != "" {
				facts = unread(r.Closed)
			}
		}
		if facts != nil {
			out = append(out, Snapshot{{r.Name, facts}}...)
		}
	}
	return out
}

// change adds to a transaction what makes the rows of a start those of its reasons, with the notices.
func (d *Desk) change(ctx context.Context, s Start, rows []queue.Hold, reasons []Reason, read Snapshot, c *task.Commit) {
	before := len(c.Hold) + len(c.Free)
	defer func() {
		if len(c.Hold)+len(c.Free) > before {
			c.Saw = read.seen()
		}
	}()
	for _, r := range d.Rules {
		has := func(h queue.Hold) bool { return h.Name == r.Name }
		i := slices.IndexFunc(reasons, func(why Reason) bool { return why.Rule == r.Name })
		k := slices.IndexFunc(rows, has)
		switch {
		case i < 0 && k >= 0:
			c.Free = append(c.Free, rows[k])
			if r.Over != nil {
				r.Over(ctx, s, rows[k], c)
			}
		case i >= 0 && (k < 0 || rows[k].Reason != reasons[i].words()):
			c.Hold = append(c.Hold, r.row(s.Task, reasons[i]))
			if r.Told != nil {
				r.Told(ctx, s, reasons[i], c)
			}
		}
	}
}

// Decide adds the rows of a task to the transaction of the decision that launches its agent or ends it.
func (d *Desk) Decide(ctx context.Context, s Start) error {
	rows, err := Rows(ctx, d.Jobs, s.Task.Repo, s.Task.ID)
	if err != nil {
		return err
	}
	if s.Task.State.Stage.Terminal() {
		s.With.Free = append(s.With.Free, rows...)
		return nil
	}
	p := newPass()
	s.Begins, s.Queued = d.Begins(s.Task), true
	read := d.read(ctx, p, s, d.Rules)
	d.change(ctx, s, rows, Admit(read, s), read, s.With)
	return nil
}

// Claim judges the agent of a job that was claimed, and takes what it uses. It returns why the agent may not
// start; the job is to be given back unharmed then, and is held. An agent that may start and does not uses nothing:
// unused gives back what was reserved for it.
func (d *Desk) Claim(ctx context.Context, s Start) (why string, unused func(context.Context)) {
	p := newPass()
	s.Begins, s.Queued = d.Begins(s.Task), true
	var read Snapshot
	var undo []func(context.Context) error
	for _, r := range d.Rules {
		if r.Reserve != nil && len(Admit(read, s)) == 0 {
			within, cancel := d.Scheduler.WithTimeout(ctx, readMax)
			back, err := r.Reserve(within, s)
			cancel()
			if err != nil {
				why = r.Name + " could not reserve what the agent uses: " + err.Error()
				break
			}
			undo = append(undo, back)
		}
		read = append(read, d.read(ctx, p, s, []Rule{r})...)
	}
	reasons := Admit(read, s)
	var c task.Commit
	var rows []queue.Hold
	var err error
	if len(reasons) > 0 {
		rows, err = Rows(ctx, d.Jobs, s.Task.Repo, s.Task.ID)
		d.change(ctx, s, rows, reasons, read, &c)
		why = reasons[0].Text
	} else if why == "" {
		d.take(p, s, &c)
	}
	if err = errors.Join(err, d.commit(ctx, s.Task, c)); err != nil && why == "" {
		why = "what the agent uses could not be taken: " + err.Error()
	}
	unused = func(ctx context.Context) {
		for _, back := range slices.Backward(undo) {
			if err := back(context.WithoutCancel(ctx)); err != nil {
				d.Log.Error("what an agent does not use could not be given back", "task", s.Task.ID, "repo", s.Task.Repo, "err", err)
			}
		}
	}
	if why != "" {
		unused(ctx)
		d.Mark(s.Task.Repo) // what it waits for may have ended before it had a row
	}
	return why, unused
}

// take adds what an agent takes that may start.
func (d *Desk) take(p *Pass, s Start, c *task.Commit) {
	for _, r := range d.Rules {
		if r.Admitted != nil {
			r.Admitted(p, s, c)
		}
	}
}

// commit writes down what concerns a task, unless the task has changed. Its rows are part of it: of two that judge it at
// the same time, the one that has read less may not write last.
func (d *Desk) commit(ctx context.Context, t task.Task, c task.Commit) error {
	if len(c.Hold)+len(c.Free)+len(c.Facts)+len(c.Over)+len(c.Pauses)+len(c.Jobs) == 0 {
		return nil
	}
	c.Task, c.Unchanged = &t, len(c.Hold)+len(c.Free) == 0
	c.Tell(t, d.Scheduler.Now(), c.Free)
	return d.Store.Commit(ctx, c)
}

// Mark has what waits in a repository looked at soon, and tasks whether they wait or not. Without both everything
// that waits is: what the rules are made of has changed.
func (d *Desk) Mark(repo string, tasks ...int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if repo != "" {
		d.repos[repo] = true
	}
	for _, id := range tasks {
		d.tasks[id] = true
	}
	d.all = d.all || repo == "" && len(tasks) == 0
	run.Hint(d.nudge)
}

// Reload has everything looked at soon by another registry.
func (d *Desk) Reload() {
	d.remember(false, true)
	d.Mark("")
}

func (d *Desk) remember(started, reloaded bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.started, d.reloaded = d.started || started, d.reloaded || reloaded
}

// Run looks at what was marked, at everything now and then, and when a reason ends by itself.
func (d *Desk) Run(ctx context.Context) {
	for due := d.Scheduler.Now(); ; {
		begin := d.Scheduler.Now()
		if !begin.Before(due) {
			d.Mark("")
		}
		whole, next, err := d.Review(ctx)
		now := d.Scheduler.Now()
		if whole {
			due = now.Add(max(every, share*now.Sub(begin)))
		}
		if next.After(now) && next.Before(due) {
			due = next
		}
		if err != nil && ctx.Err() == nil {
			due = now.Add(again)
			d.Log.Error("what waits could not be looked at", "err", err)
			_ = d.Scheduler.Wait(ctx, now.Add(time.Second)) // whatever is marked
		}
		if d.Scheduler.Wait(ctx, due, d.nudge) != nil {
			return
		}
	}
}
