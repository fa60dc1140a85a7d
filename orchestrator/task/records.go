package task

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Delivery is one received webhook.
type Delivery struct {
	Source     string // "plane", "github", …
	ID         string // the sender's delivery id; may be empty
	BodyHash   string // hex sha-256 of the raw body
	Event      string
	ReceivedAt time.Time
	Outcome    string // "queued", or why it was not
}

// GateResult is a verdict that moved (or held) a task.
type GateResult struct {
	ID      int64         `json:"-"`
	TaskID  int64         `json:"-"`
	Stage   stage.Stage   `json:"stage"`
	At      time.Time     `json:"at"`
	Verdict gates.Verdict `json:"verdict"`
}

// AgentRun is the record of one execution of an agent.
type AgentRun struct {
	ID       int64
	TaskID   int64
	JobID    int64
	Attempt  int // JobID with Attempt is unique: recording one again replaces it
	Run      int64
	Stage    stage.Stage
	Role     stage.Role
	Usage    work.Usage
	Measured *work.Measured `json:",omitempty"` // work.Result's
	Refused  []work.Refusal `json:",omitempty"`
	Status   string         // a work.Result kind
	ExitCode int
	Started  time.Time
	Finished time.Time
	LogPath  string
	Summary  string
	Agent    string           `json:",omitempty"` // work.Result's: preset or command
	Vendor   string           `json:",omitempty"`
	Session  string           `json:",omitempty"`
	Trouble  work.TroubleKind `json:",omitempty"`
	Prompt   string           `json:",omitempty"` // hex sha-256 of the role's template, cut to 12 digits; empty = the built-in one
	Text     string           `json:",omitempty"` // the same of the card's title, a line feed and its description, as the run read them
}

// Cost sums what agent runs have cost. Usage.Model is empty.
type Cost struct {
	Runs     int64
	Unpriced int64 // of the runs: what they cost is not known, and not in Usage
	Usage    work.Usage
	Worked   time.Duration // from start to end, added up
}

// Add adds another sum.
func (c *Cost) Add(o Cost) {
	c.Runs += o.Runs
	c.Unpriced += o.Unpriced
	c.Worked += o.Worked
	c.Usage.Input += o.Usage.Input
	c.Usage.Output += o.Usage.Output
	c.Usage.CacheRead += o.Usage.CacheRead
	c.Usage.CacheCreate += o.Usage.CacheCreate
	c.Usage.MicroUSD += o.Usage.MicroUSD
}

// In is everything that went in, cached or not.
func (c Cost) In() int64 { return c.Usage.Input + c.Usage.CacheRead + c.Usage.CacheCreate }

// Price is the cost in words.
func (c Cost) Price() string { return stage.Price(c.Usage.MicroUSD, c.Unpriced) }

// Tight is Price where there is little room: $? stands for what is not known.
func (c Cost) Tight() string {
	switch {
	case c.Unpriced == 0:
		return stage.Dollars(c.Usage.MicroUSD)
	case c.Usage.MicroUSD == 0:
		return "$?"
	default:
		return stage.Dollars(c.Usage.MicroUSD) + " + $?"
	}
}

// CostOf sums the costs of runs.
func CostOf(runs ...AgentRun) (sum Cost) {
	for _, r := range runs {
		c := Cost{Runs: 1, Usage: r.Usage, Worked: max(r.Finished.Sub(r.Started), 0)}
		if r.Usage.Unpriced() {
			c.Unpriced = 1
		}
		sum.Add(c)
	}
	return sum
}

// DayCost sums what an agent in a role, at one stage of one repository, has cost on one
// day, by model.
type DayCost struct {
	Day   time.Time // its beginning, UTC
	Repo  string
	Stage stage.Stage
	Role  stage.Role
	Agent string // as AgentRun has it
	Model string
	Cost  Cost
}

// compare orders by day, repository, stage, role, agent and model.
func (c DayCost) compare(o DayCost) int {
	return cmp.Or(c.Day.Compare(o.Day), cmp.Compare(c.Repo, o.Repo), cmp.Compare(c.Stage, o.Stage), cmp.Compare(c.Role, o.Role),
		cmp.Compare(c.Agent, o.Agent), cmp.Compare(c.Model, o.Model))
}

// DayCosts sums runs, with the repository of each, as History.DayCosts returns them.
type DayCosts map[DayCost]Cost

// Add adds a run.
func (s DayCosts) Add(repo string, r AgentRun) {
	day := r.Finished.UTC().Truncate(24 * time.Hour)
	of := DayCost{Day: day, Repo: repo, Stage: r.Stage, Role: r.Role, Agent: r.Agent, Model: r.Usage.Model}
	sum := s[of]
	sum.Add(CostOf(r))
	s[of] = sum
}

// List lists the sums in their order.
func (s DayCosts) List() []DayCost {
	out := make([]DayCost, 0, len(s))
	for of, sum := range s {
		of.Cost = sum
		out = append(out, of)
	}
	slices.SortFunc(out, DayCost.compare)
	return out
}

// History reads over all tasks what a page about many of them needs, in one
// call each.
type History interface {
	// DayCosts sums the agent runs that ended at a moment or later, in the order of
	// DayCost.Compare.
	DayCosts(ctx context.Context, since time.Time) ([]DayCost, error)
	// Ended lists tasks that were finished for good at a moment or later, the last one first.
	Ended(ctx context.Context, since time.Time, limit int) ([]Task, error)
	// JournalBefore lists entries with smaller ids than before (0 = no bound),
	// newest first; taskID 0 means of all tasks.
	JournalBefore(ctx context.Context, taskID, before int64, limit int) ([]JournalEntry, error)
	// DecisionsAt lists the newest decision of every task among the entries up to
	// an id, by task: where everything stood at that moment.
	DecisionsAt(ctx context.Context, id int64) ([]JournalEntry, error)
}
