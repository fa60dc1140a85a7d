package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// Explanation says why a task stands where it stands, and what would move it.
// Its words come from the machine's state, the registry of transitions and the
// queue: the code that decides.
type Explanation struct {
	TaskID   int64       `json:"task_id"`
	WorkItem string      `json:"work_item"`
	Title    string      `json:"title"`
	Repo     string      `json:"repo"`
	Stage    stage.Stage `json:"stage"`
	Phase    stage.Phase `json:"phase,omitempty"`
	Since    time.Time   `json:"since"`   // at this stage
	Summary  string      `json:"summary"` // one sentence
	// Blockers is everything that the task waits for; empty when it is being
	// worked on, when the scheduler would run it next, or when it is finished.
	Blockers []Blocker `json:"blockers"`
	Moves    []Move    `json:"moves"` // what would move it
	Owed     []Owed    `json:"owed"`  // effects that the outside world has not had
	// Refused is the last red verdict of the stage on what the task waits for.
	Refused  string `json:"refused,omitempty"`
	LastNote string `json:"last_note,omitempty"`
}

// Blocker is one thing that a task waits for.
type Blocker struct {
	Kind     string    `json:"kind"` // human, ci, merge, slot, or a kind of queue reason
	Text     string    `json:"text"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Unblocks string    `json:"unblocks"` // the event that would end it
}

// Move is a row of the registry that applies to the task as it is.
type Move struct {
	On    stage.Trigger `json:"on"`
	When  string        `json:"when,omitempty"`
	Gates []string      `json:"gates,omitempty"`
	To    stage.Stage   `json:"to"`
	Why   string        `json:"why"`
}

// Explain answers for one task.
func (e *Engine) Explain(ctx context.Context, taskID int64) (Explanation, error) {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return Explanation{}, err
	}
	s := e.situation()
	if s.waits, err = e.Jobs.Waiting(ctx, queue.Filter{TaskID: taskID}); err != nil {
		return Explanation{}, err
	}
	if s.failed, err = e.failedEffects(ctx, taskID); err != nil {
		return Explanation{}, err
	}
	if s.running, err = e.busy(ctx); err != nil {
		return Explanation{}, err
	}
	x := e.explain(t, s)
	x.Moves = e.moves(t.State)
	note, result, err := e.lastNote(ctx, taskID)
	x.LastNote = note
	if result && t.State.Stage.Terminal() {
		x.Summary = fmt.Sprintf("The task is %s. After that, %s", t.State.Stage, note)
	}
	return x, err
}

// explainMax bounds the unfinished jobs that ExplainAll looks at.
const explainMax = 100_000

// ExplainAll answers for many tasks at once, in their order. Moves and LastNote
// are left out.
func (e *Engine) ExplainAll(ctx context.Context, tasks []Task) ([]Explanation, error) {
	waits, err := e.Jobs.Waiting(ctx, queue.Filter{Limit: explainMax})
	if err != nil {
		return nil, err
	}
	failed, err := e.failedEffects(ctx, 0)
	if err != nil {
		return nil, err
	}
	s := e.situation()
	byTask, failedOf := map[int64][]queue.Wait{}, map[int64][]queue.Job{}
	for _, w := range waits {
		byTask[w.Job.TaskID] = append(byTask[w.Job.TaskID], w)
		if w.Job.Pool == queue.PoolAgents && w.Job.Status == queue.Running {
			s.running++
		}
	}
	for _, j := range failed {
		failedOf[j.TaskID] = append(failedOf[j.TaskID], j)
	}
	out := make([]Explanation, 0, len(tasks))
	for _, t := range tasks {
		s.waits, s.failed = byTask[t.ID], failedOf[t.ID]
		out = append(out, e.explain(t, s))
	}
	return out, nil
}

// situation is what is the same for all tasks.
func (e *Engine) situation() situation { return situation{sick: e.sickPools(), now: e.Now()} }

// explain says why a task stands where it stands.
func (e *Engine) explain(t Task, s situation) Explanation {
	x := Explanation{
		TaskID: t.ID, WorkItem: t.WorkItemID, Title: t.Title, Repo: t.Repo, Stage: t.State.Stage,
		Phase: t.State.Phase, Since: t.StageEnteredAt, Refused: t.State.Refused, Blockers: []Blocker{}, Moves: []Move{}, Owed: s.owed(t),
	}
	e.block(&x, t, s.waits, s.running)
	return x
}

// block fills in what the task waits for, and the summary.
func (e *Engine) block(x *Explanation, t Task, waits []queue.Wait, running int64) {
	s := t.State
	switch {
	case s.Stage.Terminal():
		x.Summary = fmt.Sprintf("The task is %s.", s.Stage)
	case s.Stopping:
		x.Blockers = append(x.Blockers, Blocker{
			Kind: "stop", Text: "STOP waits until the deployment that is under way has finished", Since: t.CancelRequestedAt, Unblocks: "the end of the deployment",
		})
		x.Summary = "Stops when the deployment that is under way has finished."
	case s.Active != "":
		e.blockOfJob(x, s, waits, running)
	case s.Hold != stage.HoldNone:
		var b Blocker
		b, x.Summary = human(t, x.Owed)
		x.Blockers = append(x.Blockers, b)
	case s.Stage == stage.Development:
		x.Blockers = append(x.Blockers, Blocker{
			Kind: "ci", Text: fmt.Sprintf("CI of %.12s has not finished", s.Head), Since: t.UpdatedAt,
			Unblocks: "a green or red CI result for the branch head",
		})
		x.Summary = "Waits for CI."
	case s.Phase == stage.PhaseCatchUp:
		catchingUp(x, t)
	case s.Phase == stage.PhaseRetest:
		x.Blockers = append(x.Blockers, Blocker{
			Kind: "ci", Text: fmt.Sprintf("what will be merged is tested again at %.12s, on %.12s", s.Head, s.Base), Since: t.UpdatedAt,
			Unblocks: "a green or red CI result for the branch head",
		})
		x.Summary = "Waits for CI before the merge."
	case s.Stage == stage.Deploy && s.Phase == stage.PhaseMerge:
		x.Blockers = append(x.Blockers, Blocker{
			Kind: "merge", Text: fmt.Sprintf("the branch is being merged at %.12s", s.Head), Since: t.UpdatedAt,
			Unblocks: "the git host's answer to the merge",
		})
		x.Summary = "The branch is being merged."
	default:
		moves := names(e.moves(s))
		x.Summary = "Waits for an event: " + moves
		x.Blockers = append(x.Blockers, Blocker{Kind: "event", Text: "no job is active", Since: t.UpdatedAt, Unblocks: moves})
	}
}

// catchingUp explains a task in the merge gate by what its effect said last.
func catchingUp(x *Explanation, t Task) {
	b := Blocker{Kind: "merge", Text: "the branch is brought up to date with main", Since: t.UpdatedAt, Unblocks: "the end of the rebase"}
	for _, o := range x.Owed {
		if o.Kind == stage.EffectCatchUp && o.Error != "" {
			b.Text, b.Until, b.Unblocks = o.Error, o.Next, "the merge lease"
		}
	}
	x.Blockers = append(x.Blockers, b)
	x.Summary = "The merge gate: " + b.Text + "."
}

func unblocks(s stage.State) string {
	switch {
	case s.Hold == stage.HoldApproval && s.Refused != "":
		return "the board status In Progress, which runs the analyst again, or Rejected with a comment"
	case s.Hold == stage.HoldApproval:
		return "the board status Approved or Rejected"
	case s.Hold == stage.HoldConfirm:
		return "the board status Confirm Deploy or Rejected"
	case s.Stage == stage.Deploy:
		return "the board status In Progress, which deploys again, an operator's retry, or Rejected with a comment, which sends it back to development"
	default:
		return "the board status In Progress, or an operator's retry"
	}
}

func names(moves []Move) string {
	text := ""
	for _, m := range moves {
		if text != "" {
			text += ", "
		}
		text += string(m.On)
	}
	return text
}

// blockOfJob explains a task that has an agent job.
func (e *Engine) blockOfJob(x *Explanation, s stage.State, waits []queue.Wait, running int64) {
	job, found := agentWait(waits)
	if !found {
		x.Summary = fmt.Sprintf("The %s has ended; its result is being taken in.", s.Active)
		return
	}
	if job.Job.Status == queue.Running {
		x.Summary = fmt.Sprintf("The %s is at work since %s (attempt %d).", s.Active, job.Job.StartedAt.UTC().Format(time.RFC3339), job.Job.Attempt)
		return
	}
	for _, r := range e.reasons(job, running) {
		x.Blockers = append(x.Blockers, Blocker{Kind: r.Kind, Text: r.Text, Since: r.Since, Until: r.Until, Unblocks: endOf(r)})
	}
	if len(x.Blockers) == 0 {
		x.Summary = fmt.Sprintf("The %s's job is about to start.", s.Active)
		return
	}
	x.Summary = fmt.Sprintf("The %s's job waits: %s", s.Active, x.Blockers[0].Text)
}

// ReasonSlot is the kind of the engine's own reason beside the queue's: the job
// could be claimed, and all agents are busy.
const ReasonSlot = "slot"

// reasons is what a job waits for: what the queue says, else a free slot.
func (e *Engine) reasons(w queue.Wait, running int64) []queue.Reason {
	if len(w.Reasons) > 0 || w.Job.Pool != queue.PoolAgents || running < int64(e.opt.MaxConcurrency) {
		return w.Reasons
	}
	return []queue.Reason{{Kind: ReasonSlot, Text: fmt.Sprintf("all %d agent slots are taken", e.opt.MaxConcurrency), Since: w.Job.CreatedAt}}
}

// busy counts running agent jobs.
func (e *Engine) busy(ctx context.Context) (int64, error) {
	depth, err := e.Jobs.Depth(ctx)
	return Busy(depth), err
}

// Busy is how many agents are at work, by the depth of the queue.
func Busy(depth []queue.Depth) int64 {
	for _, d := range depth {
		if d.Pool == queue.PoolAgents && d.Status == queue.Running {
			return d.Count
		}
	}
	return 0
}

func agentWait(waits []queue.Wait) (queue.Wait, bool) {
	for _, w := range waits {
		if w.Job.Kind == KindAgent {
			return w, true
		}
	}
	return queue.Wait{}, false
}

// endOf names the event that ends a queue's reason.
func endOf(r queue.Reason) string {
	switch r.Kind {
	case queue.ReasonDelay:
		return "time: " + r.Until.UTC().Format(time.RFC3339)
	case queue.ReasonOrder:
		return fmt.Sprintf("the end of job %d", r.JobID)
	case ReasonSlot:
		return "an agent that ends"
	case queue.ReasonHold:
		return endOfHold(r)
	default:
		return "the end of the job"
	}
}

// endOfHold says what ends a hold of the features that come with the service, for people.
func endOfHold(r queue.Reason) string {
	reason := strings.TrimSuffix(r.Text, fmt.Sprintf(" (%s)", strings.ReplaceAll(r.Name, "_", " "))) // as package queue writes it
	one, waits := strings.CutSuffix(reason, " is not finished")
	all, many := strings.CutSuffix(reason, " are not finished")
	switch {
	case (r.Name == "serial_gate" || r.Name == "task_deps") && waits:
		return "when " + one + " is done or stopped"
	case r.Name == "task_deps" && many:
		return "when " + all + " are done or stopped"
	case r.Name == "task_deps":
		return "the tracker's answer, or a minute without one"
	case r.Name == "task_deps_cycle":
		return "remove one of these relations, or stop one of the tasks"
	case r.Name == "freeze":
		_, repo, _ := strings.Cut(r.Subject, "@")
		return fmt.Sprintf("signalbox unfreeze %s, or the button Unfreeze of the dashboard (Repositories)", repo)
	case r.Name == "budget":
		return "a higher cap (ORCH_BUDGET_TASK_USD, ORCH_BUDGET_REPO_DAY_USD), or the next day (UTC) for the cap of a day"
	default:
		return "the end of " + r.Name + " on " + r.Subject
	}
}

// moves lists the rows that apply to a state, whatever the event's details.
func (e *Engine) moves(s stage.State) []Move {
	out := []Move{}
	seen := map[stage.Trigger]bool{}
	for _, on := range stage.Triggers() {
		ev := stage.Event{On: on, Run: s.Run, Agent: &stage.Report{}}
		edge, ok := e.machine.Edge(s, ev)
		refused := s.Refused != "" && s.Active == "" && edge.Red == stage.RedStay
		if !ok || seen[on] || refused || edge.Do == stage.DoNothing || edge.Do == stage.DoRecord || edge.Do == stage.DoDecline {
			continue
		}
		seen[on] = true
		out = append(out, Move{On: on, When: string(edge.When), Gates: edge.Gates, To: edge.To, Why: edge.Why})
	}
	return out
}

// lastNote is the newest reason in the task's story, and whether it is a feature's
// result.
func (e *Engine) lastNote(ctx context.Context, taskID int64) (note string, result bool, err error) {
	entries, err := e.Story.Journal(ctx, taskID)
	if err != nil {
		return "", false, err
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if note := entries[i].Result(); note != "" {
			return note, true, nil
		}
		if r, err := entries[i].Recorded(); err == nil && len(r.Decision.Notes) > 0 {
			return r.Decision.Notes[len(r.Decision.Notes)-1], false, nil
		}
	}
	return "", false, nil
}

// Result is what a feature wrote down of a task on its own account, such as what
// the monitor saw after the deployment.
func (j JournalEntry) Result() string {
	var r struct{ Result, Last string }
	if j.Kind == KindDecision || j.Kind == KindOperator || json.Unmarshal(j.Payload, &r) != nil || r.Result == "" {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", j.Kind, r.Result, r.Last), ": ")
}
