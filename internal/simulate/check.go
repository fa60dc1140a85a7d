package simulate

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Invariant names what must hold whatever happens. A failure is known by that name.
type Invariant string

// Invariants that are looked at when something changes.
const (
	DurableAck   Invariant = "durable-ack"   // a webhook that was answered with 2xx is stored
	ApplyOnce    Invariant = "apply-once"    // a delivery makes one job, however often it arrives
	Fence        Invariant = "fence"         // a claim that was lost changes nothing
	OneAtATime   Invariant = "one-at-a-time" // jobs of a key run one after the other
	OneAgent     Invariant = "one-agent"     // nobody else works in a checkout
	LegalMove    Invariant = "legal-move"    // tasks move along edges, one version at a time
	WorkDone     Invariant = "work-done"     // what is done changed something, or a person said so
	GreenGate    Invariant = "green-gate"    // nothing moves past a gate that was not green for its commit
	HumanWord    Invariant = "human-word"    // what only people may decide, a person has decided
	SacredMain   Invariant = "sacred-main"   // main changes by merges alone
	MergedTested Invariant = "merged-tested" // what is merged was tested, on the main it lands on
	OwnPaths     Invariant = "own-paths"     // what a role may not change is never published
	OneHolder    Invariant = "one-holder"    // a lease has one holder, and its epochs rise
	InTurn       Invariant = "in-turn"       // the first in the line gets the merge lease
	Absorbing    Invariant = "absorbing"     // a cancelled job never runs, a finished task never moves
	IntentFirst  Invariant = "intent-first"  // what cannot be undone was decided and stored before
	Outbox       Invariant = "outbox"        // whatever people see was owed by a decision, under its key
	Copies       Invariant = "copies"        // one comment per key, one notice but for lost answers
	OwnBranch    Invariant = "own-branch"    // a commit that is not ours is never overwritten
	NewText      Invariant = "new-text"      // an agent works by the text that its card has when it begins
	Relations    Invariant = "relations"     // an agent begins by relations of its card that were read shortly before
	FreezeHolds  Invariant = "freeze"        // no agent that is held starts
	Bounded      Invariant = "bounded"       // no task begins while its repository has as many in work as it may
	Serial       Invariant = "serial"        // the serial gate lets one task of a repository begin
	OneTask      Invariant = "one-task"      // a card has one task that lives
	Together     Invariant = "together"      // a decision and what it owes appear in one commit
	Versions     Invariant = "versions"      // a journal's versions rise
	NeverRaise   Invariant = "never-raise"   // nothing panics
	BadStart     Invariant = "bad-start"     // the world itself is at fault
)

// Failure is a broken invariant.
type Failure struct {
	Invariant Invariant     `json:"invariant"`
	At        time.Duration `json:"at"`
	Text      string        `json:"text"`
}

// String is the failure as one line.
func (f Failure) String() string {
	return fmt.Sprintf("%s at %s: %s", f.Invariant, f.At.Round(time.Millisecond), f.Text)
}

// checker looks at every change of the truth.
type checker struct {
	s        *sim
	pipeline stage.Pipeline
	failed   *Failure
	rested   bool // the questions at rest have been put

	cancelled  map[int64]bool        // jobs
	lastSeq    map[int64]int64       // of the journal, by task
	received   map[string]bool       // bodies that were stored
	owed       map[string]bool       // keys of effects that were put
	notices    map[string]int        // texts of notices that were put
	sentTexts  map[string]int        // texts that were sent
	unsure     map[string]int        // calls by name whose caller lives and cannot say whether they happened
	intents    map[string]bool       // merges that were decided: repository and commit
	bases      map[string][]string   // by head: commits of main it was tested on
	foreign    map[string]string     // commits that people have set branches to by force, by branch
	theirs     map[int64][][2]string // branch and file of each commit that people have pushed on top of one, by task
	handMerged map[string]time.Time
	began      map[int64]time.Time
	working    map[int64]time.Time // since when a task that has begun waits for nobody
	answers    map[string]lifted
	behaved    map[attempt]behaviour
	moves      int           // of all tasks
	lastMove   map[int64]int // which of them was a task's last
	lined      map[int64]int // which brought a task to the line for the merge lease
	quietSince time.Duration // nothing has disturbed the replicas since
	disturbed  int           // deaths, pauses, clocks that jump and failures of the store: times at which a record of a call may be missing
}

func newChecker(s *sim) *checker {
	return &checker{
		s: s, pipeline: pipeline(),
		cancelled: map[int64]bool{}, lastSeq: map[int64]int64{}, received: map[string]bool{}, owed: map[string]bool{},
		notices: map[string]int{}, sentTexts: map[string]int{}, unsure: map[string]int{}, intents: map[string]bool{},
		bases: map[string][]string{}, foreign: map[string]string{}, theirs: map[int64][][2]string{}, handMerged: map[string]time.Time{},
		began: map[int64]time.Time{}, working: map[int64]time.Time{},
		answers: map[string]lifted{}, behaved: map[attempt]behaviour{},
		lastMove: map[int64]int{}, lined: map[int64]int{},
	}
}

func (c *checker) broken() bool { return c.failed != nil }

// fail notes the first broken invariant; it ends the run.
func (c *checker) fail(i Invariant, format string, args ...any) {
	if c.failed != nil {
		return
	}
	c.failed = &Failure{Invariant: i, At: c.s.since(), Text: fmt.Sprintf(format, args...)}
	c.s.trace.line(c.s.since(), "broken", string(i), c.failed.Text)
}

// disturb notes that a replica or the store has failed.
func (c *checker) disturb() {
	c.disturbed++
	c.quietSince = c.s.since()
}

// tasks are all tasks as the store has them.
func (c *checker) tasks() []task.Task {
	list, err := c.s.store.Tasks(c.s.ctx, task.Filter{Limit: 1 << 20})
	if err != nil {
		c.fail(BadStart, "tasks: %v", err)
	}
	return list
}

// taskOf is the task of a card that lives.
func (c *checker) taskOf(card string) (task.Task, bool) {
	list, err := c.s.store.Tasks(c.s.ctx, task.Filter{TrackerIssueID: card, Live: true})
	if err != nil || len(list) == 0 {
		return task.Task{}, false
	}
	return list[len(list)-1], true
}

// snapshot holds what a commit finds.
type snapshot struct {
	task  task.Task
	known bool
	held  bool // the claim that it ends

	pauses []task.Pause // of agents
}

func (c *checker) before(x task.Commit) (b snapshot) {
	if x.Task != nil {
		t, err := c.s.store.Task(c.s.ctx, x.Task.ID)
		b.task, b.known = t, err == nil
	}
	b.pauses, _ = c.s.store.Pauses(c.s.ctx)
	b.held = x.Claim == nil || c.holds(*x.Claim)
	return b
}

// holds reports whether a claim is the present one of its job.
func (c *checker) holds(claim queue.Claim) bool {
	j, ok := c.s.store.Job(claim.Job.ID)
	return ok && j.Status == queue.Running && j.Attempt == claim.Job.Attempt
}

// committed looks at a commit that was made.
func (c *checker) committed(n *node, x task.Commit, said []decision, b snapshot, err error) {
	if err != nil {
		return
	}
	if !b.held {
		c.fail(Fence, "%s committed with the claim of job %d, attempt %d, which is lost", n.name, x.Claim.Job.ID, x.Claim.Job.Attempt)
	}
	c.put(x.Jobs)
	if x.Task != nil {
		c.moved(n, x, b)
	}
	c.paused(n, x, b)
	for _, d := range said {
		c.wrote(x, d)
	}
	if len(x.CancelPools) > 0 || len(x.CancelQueued) > 0 || x.Task != nil && x.Task.State.Stage == stage.Cancelled {
		c.cancels(x, b)
	}
}

// cancels looks at the jobs of a task whose jobs a commit has cancelled. What a STOP itself owes is all that may still run.
func (c *checker) cancels(x task.Commit, b snapshot) {
	stopped := x.Task.State.Stage == stage.Cancelled && b.task.State.Stage != stage.Cancelled
	for _, j := range c.jobs(queue.Filter{TaskID: x.Task.ID}) {
		owed := slices.ContainsFunc(x.Jobs, func(o queue.Job) bool { return o.DedupeKey == j.DedupeKey })
		if j.Status == queue.Queued && stopped && !owed {
			c.fail(Absorbing, "task %d is cancelled, and its job %d (%s) is not", x.Task.ID, j.ID, j.Kind)
		}
		if j.Status == queue.Cancelled {
			c.cancelled[j.ID] = true
		}
	}
}

// moved looks at the row of a task that a commit has changed.
func (c *checker) moved(n *node, x task.Commit, b snapshot) {
	t, was := x.Task, b.task.State
	if !b.known {
		c.began[t.ID] = c.s.v.Now()
		if list, _ := c.s.store.Tasks(c.s.ctx, task.Filter{TrackerIssueID: t.TrackerIssueID, Live: true}); len(list) > 1 {
			c.fail(OneTask, "%s has %d tasks that live", t.TrackerIssueID, len(list))
		}
	}
	switch {
	case b.known && b.task.Version != t.Version:
		c.fail(LegalMove, "task %d was at version %d, and a decision on version %d was stored", t.ID, b.task.Version, t.Version)
	case t.State.Seq == was.Seq:
		if b.known && !reflect.DeepEqual(t.State, was) {
			c.fail(LegalMove, "the state of task %d changed without a decision", t.ID)
		}
		return
	case t.State.Seq != was.Seq+1:
		c.fail(LegalMove, "task %d went from version %d to %d", t.ID, was.Seq, t.State.Seq)
	case was.Stage.Terminal():
		c.fail(Absorbing, "task %d is %s, and moved to %s", t.ID, was.Stage, t.State.Stage)
	case was.Stage != stage.None && was.Lane != t.State.Lane:
		c.fail(LegalMove, "task %d began by the lane %q, and goes on by %q", t.ID, was.Lane, t.State.Lane)
	case !c.legal(t.State, was.Stage, t.State.Stage):
		c.fail(LegalMove, "task %d went from %q to %q", t.ID, was.Stage, t.State.Stage)
	}
	c.moves++
	c.lastMove[t.ID] = c.moves
	if t.State.Phase == stage.PhaseCatchUp && was.Phase != stage.PhaseCatchUp {
		c.lined[t.ID] = c.moves
	}
	for _, r := range x.Runs {
		overlooked := t.State.Hold != stage.HoldNeedsInput && !t.State.Stage.Terminal()
		if c.behaved[attempt{t.ID, r.Run, r.Attempt}] == asks && r.Status == work.ResultOK && overlooked {
			c.fail(Heard, "the %s of task %d has questions, and they are overlooked", r.Role, t.ID)
		}
	}
	if was.Hold != stage.HoldNone && t.State.Hold == stage.HoldNone {
		c.working[t.ID] = c.s.v.Now()
	}
	c.word(*t, was)
	c.worked(*t, was)
	c.gate(n, *t, was, x)
}

// word looks whether a person has said what a move needs a person's word for.
func (c *checker) word(t task.Task, was stage.State) {
	p := c.s.people
	card, _ := task.ParseTombstone(t.TrackerIssueID)
	said := func(s stage.Status) bool { return p.hasSet(card, s, c.began[t.ID]) }
	saidStop := func() bool { // perhaps before what To Analyse has begun late
		return p.hasSet(card, stage.StatusStop, p.last(card, stage.StatusToAnalyse, c.began[t.ID]))
	}
	switch n := t.State; {
	case was.Stage == stage.None && n.Lane != stage.UndoLane && !p.hasSet(card, stage.StatusToAnalyse, c.lastEnd(card)):
		c.fail(HumanWord, "task %d began, and nobody has set To Analyse on %s", t.ID, card)
	case was.Stage == stage.Analysis && n.Stage != was.Stage && !n.Stage.Terminal() && !said(stage.StatusApproved):
		c.fail(HumanWord, "the requirements of task %d were taken for approved, and nobody has approved them", t.ID)
	case was.Stage == stage.Development && n.Stage != was.Stage && !n.Stage.Terminal() &&
		c.workflowAt(n.Head) != "on: push\n" && c.workflowAt(n.Head) != c.workflowAt(n.Vouched.SHA):
		c.fail(HumanWord, "task %d left development at %.12s, which changes %s, and nobody stands for that", t.ID, n.Head, workflow)
	case n.Acted != was.Acted && n.Acted != stage.StatusStop && !p.hasSet(card, n.Acted, time.Time{}):
		c.fail(HumanWord, "task %d acted on %s, which nobody has ever set", t.ID, n.Acted)
	case n.Stage == stage.Cancelled && !saidStop() && p.stops[t.ID].IsZero():
		c.fail(HumanWord, "task %d was cancelled, and nobody has said STOP", t.ID)
	case n.SelfHosting && n.Phase == stage.PhaseMerge && was.Phase != stage.PhaseMerge && !said(stage.StatusConfirmDeploy):
		c.fail(HumanWord, "task %d of a self-hosting repository is merged, and nobody has confirmed that", t.ID)
	}
}

// lastEnd is when the task before a card's newest began: nothing earlier can be what began the newest.
func (c *checker) lastEnd(card string) (at time.Time) {
	for _, t := range c.tasks() {
		if was, dead := task.ParseTombstone(t.TrackerIssueID); was == card && dead {
			at = c.began[t.ID]
		}
	}
	return at
}

// gate looks whether the gates of a move were green, by what is true outside.
func (c *checker) gate(n *node, t task.Task, was stage.State, x task.Commit) {
	to := t.State.Stage
	forward := c.legal(t.State, was.Stage, to) && to != was.Stage && to != stage.Development && to != stage.Cancelled
	if to == stage.Development && (was.Stage == stage.Analysis || was.Stage == stage.Architecture) {
		forward = true
	}
	byHand := to == stage.Done && was.Stage != stage.Deploy
	if !forward || byHand || was.Stage == stage.None || was.Stage == stage.Deploy && to == stage.DeployStaging {
		return
	}
	green := slices.ContainsFunc(x.Gates, func(g task.GateResult) bool { return g.Verdict.Passed() && g.TaskID == t.ID })
	if !green && !(was.Stage == stage.Deploy && to == stage.Deploy) {
		c.fail(GreenGate, "task %d went from %s to %s without a gate that was green", t.ID, was.Stage, to)
	}
	reviews, _ := c.s.host.Reviews(c.s.ctx, t.Repo, t.Branch, "main") // a person's counts beside the agent's
	same := c.sameCode(n, t, was.Head)
	ofHead := func(r githost.Review) bool { return slices.Contains(same, r.SHA) }
	reviewed := was.Stage == stage.Review && slices.ContainsFunc(reviews, ofHead)
	for _, r := range x.Runs {
		if how := c.behaved[attempt{t.ID, r.Run, r.Attempt}]; (how == refuses || how == misnames) && reports(was.Stage) && !reviewed {
			c.fail(GreenGate, "task %d left %s, and its agent %s", t.ID, was.Stage, how)
		}
	}
	if was.Stage == stage.Development && !c.passed(n, t) {
		c.fail(GreenGate, "task %d left development at %.12s, which CI has not passed", t.ID, t.State.Head)
	}
}

// attempt is one attempt of an agent.
type attempt struct {
	task, run int64
	n         int
}

// passed reports whether CI has passed the code of a task's head.
func (c *checker) passed(n *node, t task.Task) bool {
	if t.State.CINone {
		return true
	}
	return slices.ContainsFunc(c.sameCode(n, t, t.State.Head), func(sha string) bool {
		return c.s.senders.results[sha] == githost.CheckPassed
	})
}

// sameCode lists a commit of a task, and those before it that differ in documents alone.
func (c *checker) sameCode(n *node, t task.Task, sha string) []string {
	return c.s.places[n.machine].SameCode(sha, c.s.list[c.s.projectOf(t.Repo)].Docs(t.WorkItemID))
}

// reports reports whether a stage is left by an agent's report.
func reports(s stage.Stage) bool {
	return s == stage.Review || s == stage.Testing || s == stage.DeployStaging
}

// wrote looks at a decision that the journal has now.
func (c *checker) wrote(x task.Commit, d decision) {
	e, r := d.entry, d.said
	if e.Seq < c.lastSeq[e.TaskID] {
		c.fail(Versions, "the journal of task %d goes back from version %d to %d", e.TaskID, c.lastSeq[e.TaskID], e.Seq)
	}
	c.lastSeq[e.TaskID] = e.Seq
	if d.err != nil {
		c.fail(BadStart, "journal of task %d: %v", e.TaskID, d.err)
	}
	owes := len(r.Decision.Effects)
	if r.Decision.Launch != nil {
		owes++
	}
	if len(x.Jobs) < owes {
		c.fail(Together, "a decision on task %d owes %d jobs, and its commit puts %d", e.TaskID, owes, len(x.Jobs))
	}
}

// logger is the log of a replica: nothing but panics is looked at.
func (c *checker) logger(n *node) *slog.Logger {
	return slog.New(slog.NewTextHandler(panics{c, n}, &slog.HandlerOptions{Level: slog.LevelError}))
}

// panics fails the run when something panicked.
type panics struct {
	c *checker
	n *node
}

func (p panics) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "panicked") {
		p.c.fail(NeverRaise, "%s: %s", p.n.name, line)
	}
	return len(line), nil
}
