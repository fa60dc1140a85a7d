package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Outcome names what another policy would have made of a card.
type Outcome string

// The values of Outcome.
const (
	OutcomeSame   Outcome = "the same"
	OutcomeLater  Outcome = "later"
	OutcomeSooner Outcome = "sooner"
	OutcomeWaits  Outcome = "would have waited"
	OutcomeOther  Outcome = "another end"
	OutcomeOpen   Outcome = "open"
)

// Prediction holds what another policy would have made of a card.
type Prediction struct {
	TaskID   int64         `json:"task_id"`
	WorkItem string        `json:"work_item"`
	Repo     string        `json:"repo"`
	Outcome  Outcome       `json:"outcome"`
	By       time.Duration `json:"by,omitempty"`        // later, or sooner when it is negative, in nanoseconds
	Runs     int           `json:"runs,omitempty"`      // more, or fewer
	MicroUSD int64         `json:"micro_usd,omitempty"` // that they cost more, or less
	Stage    stage.Stage   `json:"stage"`               // at which it ends or waits
	Why      string        `json:"why,omitempty"`       // the first decision that is another one, and for what it waits
	Assumed  []string      `json:"assumed,omitempty"`   // what has never happened, and what was taken for it
	Unknown  []string      `json:"unknown,omitempty"`   // facts that the journal lacks: the record stands in for them
}

// stepsMax bounds the decisions of a card that goes on otherwise.
const stepsMax = 300

// Backtest decides the cards that began at a moment or later by the policy of an engine. A card whose decisions are all
// the same is its history itself. Another one goes on from the first that is not, on a clock of its own: with the waits,
// verdicts, words, durations and costs that are recorded, and where something has never happened by a stated assumption.
// Cards that go on so stand in line for the merge of their repository as the merge gate has it.
func Backtest(ctx context.Context, e *orchestrator.Engine, since time.Time) ([]Prediction, error) {
	var cards []*replayed
	for t, err := range task.Each(ctx, e.Store, task.Filter{}) {
		if err != nil {
			return nil, err
		}
		c, err := replay(ctx, e, t)
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", t.ID, err)
		}
		if c != nil && !c.past[0].entry.At.Before(since) {
			cards = append(cards, c)
		}
	}
	if err := goOn(ctx, cards); err != nil {
		return nil, err
	}
	var out []Prediction
	for _, c := range cards {
		out = append(out, c.predict())
	}
	return out, nil
}

// recordedStep is a decision that moved a card.
type recordedStep struct {
	entry task.JournalEntry
	task.Recorded
	stage stage.Stage   // at which it was decided
	wait  time.Duration // since the one before
	used  bool
}

// replayed is a card on its way by another policy.
type replayed struct {
	e    *orchestrator.Engine
	row  task.Task
	past []recordedStep
	runs []task.AgentRun

	differs  bool
	at       time.Time // now, on its own clock
	now      stage.State
	owed     []stage.Effect // by the last decision
	steps    int
	over     bool
	fork     int // the first of past that is another one
	launched int // since then
	cost     int64
	why      string
	assumed  []string
	unknown  []string
	met      []string // files that it has conflicted in
	lacks    bool     // when it was looked at last it lacked a part of main, or that is not known
}

// replay decides a card up to the first decision that is another one; nil: it has none.
func replay(ctx context.Context, e *orchestrator.Engine, t task.Task) (*replayed, error) {
	c := &replayed{e: e, row: t, over: true}
	broken, err := decideAgain(ctx, e, t.ID, true, func(entry task.JournalEntry, s stage.State, r task.Recorded, again decided) {
		for _, lack := range again.Unknown {
			c.note(&c.unknown, lack)
		}
		forks := !c.differs && len(causes(e.Machine().Pipeline(), s, r, again, false)) > 0
		if forks {
			c.differs, c.over, c.at, c.now, c.owed = true, false, entry.At, again.Decision.State, again.Decision.Effects
			c.why = fmt.Sprintf("%s at %s: %s", r.Event.On, cmp.Or(s.Stage, "the beginning"), judged(again.Event, again.Decision))
			c.fork = len(c.past)
			c.count(r.Event, again.Decision)
			r.Decision.Moved = true
		}
		if r.Decision.Moved {
			step := recordedStep{entry: entry, Recorded: r, stage: s.Stage, used: !c.differs || forks}
			if n := len(c.past); n > 0 {
				step.wait = entry.At.Sub(c.past[n-1].entry.At)
			}
			c.past = append(c.past, step)
		}
	})
	if err == nil && broken != "" {
		c.note(&c.unknown, broken)
	}
	if err != nil || len(c.past) == 0 {
		return nil, err
	}
	c.runs, err = e.Records.AgentRuns(ctx, t.ID)
	return c, err
}

// meet has git merge main, as it was then, into a card's head, and returns the files that conflict for the first time, or
// those of a conflict that is recorded and that another policy meets only at the merge.
func (c *replayed) meet(ctx context.Context) (files []string) {
	git, able := c.e.Workspaces.(work.Rebaser)
	p, registered := c.e.Projects.ByRepo(c.row.Repo)
	at := c.at
	for i, step := range c.past { // what it has merged itself is not in its way
		if c.now.Phase == stage.PhaseMerge && !step.used && len(step.Event.Conflicts) > 0 {
			c.past[i].used = true
			return step.Event.Conflicts
		}
		if step.Decision.State.MergeSHA != "" && at.After(step.entry.At.Add(-time.Second)) {
			at = step.entry.At.Add(-time.Second)
		}
	}
	err := errors.ErrUnsupported
	if c.lacks = true; able && registered {
		var has bool
		has, err = git.TryMerge(ctx, p.Workspace(c.row), c.now.Head, at)
		c.lacks = !has
	}
	var conflict *work.Conflict
	if errors.As(err, &conflict) {
		files = slices.DeleteFunc(slices.Clone(conflict.Files), func(f string) bool { return slices.Contains(c.met, f) })
	} else if err != nil {
		c.note(&c.assumed, "the branch conflicts with nothing: git has not all of its commits any more")
	}
	c.met = append(c.met, files...)
	return files
}

func (c *replayed) note(list *[]string, text string) {
	if !slices.Contains(*list, text) {
		*list = append(*list, text)
	}
}

// count adds the run that a decision launches, and what the run has cost that has led to it.
func (c *replayed) count(ev stage.Event, d stage.Decision) {
	if d.Launch != nil {
		c.launched++
	}
	if ev.Agent != nil {
		c.cost += ev.Agent.MicroUSD
	}
}

// goOn lets the cards that differ go on, the one with the earliest clock first. Of a repository one at a time is brought
// up to date, tested and merged.
func goOn(ctx context.Context, cards []*replayed) error {
	merging := map[string]*replayed{}
	for {
		var next *replayed
		for _, c := range cards {
			first := merging[c.row.Repo]
			waits := c.now.Phase == stage.PhaseCatchUp && first != nil && first != c
			if !c.over && !waits && (next == nil || c.at.Before(next.at)) {
				next = c
			}
		}
		if next == nil {
			return nil
		}
		if next.now.Phase == stage.PhaseCatchUp {
			merging[next.row.Repo] = next
		}
		if err := next.step(ctx); err != nil {
			return fmt.Errorf("task %d: %w", next.row.ID, err)
		}
		if merging[next.row.Repo] == next && (next.over || !next.now.Leased && next.now.Phase != stage.PhaseCatchUp) {
			delete(merging, next.row.Repo)
			for _, c := range cards {
				if c.row.Repo == next.row.Repo && !c.over && c.now.Phase == stage.PhaseCatchUp && c.at.Before(next.at) {
					c.at = next.at
				}
			}
		}
	}
}

// step lets the next thing happen to a card.
func (c *replayed) step(ctx context.Context) error {
	if c.steps++; c.steps > stepsMax {
		c.over, c.why = true, c.why+"; then it goes round in a circle"
		return nil
	}
	gate := c.now.Phase == stage.PhaseCatchUp || c.now.Phase == stage.PhaseRetest
	if c.now.Phase == stage.PhaseCatchUp || c.now.Phase == stage.PhaseMerge && !c.now.Gated {
		if files := c.meet(ctx); len(files) > 0 {
			why := "by git it conflicts with main as it was then: " + strings.Join(files, ", ")
			ev := stage.Event{On: stage.OnMergeFailed, Reason: why}
			if gate {
				ev = stage.Event{On: orchestrator.OnCaughtUp, Base: "main", Conflicts: files}
				ev.Verdict = stage.Verdict{Outcome: stage.Red, SHA: c.now.Head, Reason: why}
			}
			return c.suppose(ctx, task.Recorded{Event: ev}, 0)
		}
	}
	for i := range c.past {
		step := &c.past[i]
		elsewhere := step.Event.Agent != nil && step.stage != c.now.Stage
		if step.used || elsewhere || gate && step.Event.On != orchestrator.OnCaughtUp && step.Event.On != stage.OnCI {
			continue
		}
		if took, err := c.take(ctx, step.Recorded, step.entry.At, step.wait); err != nil || took {
			step.used = true
			return err
		}
	}
	made, wait := c.assume()
	if made.Event.On == "" {
		c.over = true
		return nil
	}
	return c.suppose(ctx, made, wait)
}

// suppose decides an event that has never happened, of which the journal has nothing.
func (c *replayed) suppose(ctx context.Context, made task.Recorded, wait time.Duration) error {
	lacks := c.unknown
	took, err := c.take(ctx, made, c.at, wait)
	c.over, c.unknown = c.over || !took, lacks
	return err
}

// take decides an event where the card stands now, if it moves it.
func (c *replayed) take(ctx context.Context, r task.Recorded, at time.Time, wait time.Duration) (bool, error) {
	ev := &r.Event
	if ev.Agent != nil {
		if ev.Agent.Role != c.now.Active {
			return false, nil
		}
		report := *ev.Agent
		ev.Run, report.Filed.Run = c.now.Run, c.now.Run
		ev.Agent = &report
	} else if c.now.Active != "" && stage.Trigger(ev.By.Kind) == "" && ev.On != stage.OnPublished {
		return false, nil // its agent is at work: what else happens comes behind it
	}
	ev.At, ev.Seen, ev.Of = c.at.Add(max(wait, 0)), time.Time{}, ""
	again, err := orchestrator.DecideAgain(ctx, c.e, c.row, c.now, r, at, true)
	if err != nil || !again.Decision.Moved {
		return false, err
	}
	for _, lack := range again.Unknown {
		c.note(&c.unknown, lack)
	}
	c.count(again.Event, again.Decision)
	c.at, c.now, c.owed = ev.At, again.Decision.State, again.Decision.Effects
	c.over = c.now.Stage.Terminal()
	return true, nil
}

// assume makes the event that a card waits for and that has never happened; none where only a person can help.
func (c *replayed) assume() (r task.Recorded, wait time.Duration) {
	green := stage.Verdict{Outcome: stage.Green, SHA: c.now.Head}
	last := func(is func(recordedStep) bool) *recordedStep {
		for i := range slices.Backward(c.past) {
			if is(c.past[i]) {
				return &c.past[i]
			}
		}
		return nil
	}
	owes := func(kinds ...stage.EffectKind) bool {
		return slices.ContainsFunc(c.owed, func(f stage.Effect) bool { return slices.Contains(kinds, f.Kind) })
	}
	ev := &r.Event
	switch {
	case c.now.Hold != stage.HoldNone:
		return r, 0
	case c.now.Active != "":
		like := last(func(s recordedStep) bool {
			r := s.Event.Agent
			return s.Event.On == stage.OnAgentFinished && r != nil && r.Role == c.now.Active && s.stage == c.now.Stage
		})
		if like == nil {
			return r, 0
		}
		*ev, wait = like.Event, like.wait
		for _, run := range c.runs {
			if run.Run == like.Event.Run {
				wait = run.Finished.Sub(run.Started)
			}
		}
		ev.Derived.Verdict = green
		c.note(&c.assumed, fmt.Sprintf("a further run of the %s is like its last one, and mends what was refused", c.now.Active))
	case c.now.Phase == stage.PhaseCatchUp:
		ev.On, ev.Base, ev.Verdict = orchestrator.OnCaughtUp, "main", green
	case c.now.Phase == stage.PhaseRetest && !c.lacks: // CI has judged this commit
		ev.On, ev.SHA, ev.Verdict = stage.OnCI, c.now.Head, green
	case c.now.Phase == stage.PhaseRetest, c.now.Stage == stage.Development && c.now.Pushed == c.now.Head:
		ev.On, ev.SHA, ev.Verdict = stage.OnCI, c.now.Head, green
		like := last(func(s recordedStep) bool { return s.Event.On == stage.OnCI && s.Event.Verdict.Outcome == stage.Green })
		if like != nil {
			wait = like.wait
		}
		c.note(&c.assumed, "CI of what is tested again is green, and takes as long as it did last")
	case owes(stage.EffectPublish):
		ev.On, ev.SHA = stage.OnPublished, c.now.Head
	case owes(stage.EffectMerge, orchestrator.EffectGatedMerge):
		ev.On, ev.SHA = stage.OnMergeDone, cmp.Or(c.now.Tested, c.now.Head)
	}
	return r, wait
}

// predict compares where a card has come with its history.
func (c *replayed) predict() Prediction {
	end := c.past[len(c.past)-1]
	item, _ := task.ParseTombstone(c.row.WorkItemID)
	p := Prediction{
		TaskID: c.row.ID, WorkItem: cmp.Or(item, c.row.WorkItemID), Repo: c.row.Repo, Stage: end.Decision.State.Stage, Outcome: OutcomeSame,
		Why: c.why, Assumed: c.assumed, Unknown: c.unknown,
	}
	if !c.differs {
		return p
	}
	p.Stage = c.now.Stage
	history := &replayed{}
	for _, step := range c.past[c.fork:] {
		history.count(step.Event, step.Decision)
	}
	p.Runs, p.MicroUSD, p.By = c.launched-history.launched, c.cost-history.cost, c.at.Sub(end.entry.At)
	switch {
	case !c.now.Stage.Terminal() && end.Decision.State.Stage.Terminal():
		p.Outcome, p.By = OutcomeWaits, 0
		waits := cmp.Or(c.now.HoldReason, string(c.now.Hold), "nothing is recorded that would lead on")
		p.Why += fmt.Sprintf("; then it waits at %s: %s", c.now.Stage, waits)
	case !end.Decision.State.Stage.Terminal():
		p.Outcome, p.By = OutcomeOpen, 0
	case c.now.Stage != end.Decision.State.Stage:
		p.Outcome = OutcomeOther
	case p.By > 0:
		p.Outcome = OutcomeLater
	case p.By < 0:
		p.Outcome = OutcomeSooner
	}
	return p
}
