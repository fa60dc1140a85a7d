package livemessage

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// view is everything that a message shows.
type view struct {
	Task      task.Task
	Runs      []task.AgentRun
	Waits     []string // what the task's jobs are held by, as orchestrator.HeldBy says it
	Work      string   // how far the agent is; may be empty
	Card      string   // address of the work item; may be empty
	Artifacts string   // address of the task's documents, at a commit; may be empty
	Now       time.Time
}

// render makes the message of a task.
func render(v view) messenger.Message {
	item, _ := task.ParseTombstone(v.Task.WorkItemID)
	m := messenger.Message{Title: item + ": " + v.Task.Title, Silent: true, Lines: []string{standing(v)}, Moment: task.Moment(v.Task)}
	m.Lines = append(m.Lines, move(v)...)
	var total sum
	for i, r := range v.Runs { // stages in the order of their first runs
		if slices.ContainsFunc(v.Runs[:i], func(o task.AgentRun) bool { return o.Stage == r.Stage }) {
			continue
		}
		u := sumOf(v.Runs, r.Stage)
		m.Lines = append(m.Lines, fmt.Sprintf("%s: %s", r.Stage, u))
		total.Add(u.Cost)
	}
	human := v.Task.Reviewed(v.Now)
	if human > 0 {
		m.Lines = append(m.Lines, "human review: "+stage.Span(human))
	}
	if total.Runs > 0 {
		total.model = ""
		m.Lines = append(m.Lines, "total: "+total.String())
	}
	if v.Task.State.Stage.Terminal() {
		wall := v.Task.UpdatedAt.Sub(v.Task.CreatedAt)
		m.Lines = append(m.Lines, fmt.Sprintf("wall %s, agents %s, human %s",
			stage.Span(wall), stage.Span(total.Worked), stage.Span(human)))
	}
	if v.Card != "" {
		m.Lines = append(m.Lines, "card: "+v.Card)
	}
	if v.Artifacts != "" {
		m.Lines = append(m.Lines, "artifacts: "+v.Artifacts)
	}
	if pr := v.Task.State.PRURL; pr != "" {
		m.Link = pr
	}
	return m
}

// standing is where the task is.
func standing(v view) string {
	s := v.Task.State
	where := string(s.Stage)
	switch {
	case s.Stage.Terminal():
		return where
	case s.Stopping:
		return where + ": stops when the deployment has finished"
	case s.Hold != stage.HoldNone:
		return where + ": " + s.HoldReason
	case s.Active != "" && len(v.Waits) > 0:
		return where + ": the " + string(s.Active) + " is next"
	case s.Active != "":
		return where + ": the " + string(s.Active) + " is at work"
	case s.Phase == stage.PhaseMerge:
		return where + ": the branch is being merged"
	case s.Phase == stage.PhaseCatchUp:
		return where + ": the branch is brought up to date with main"
	case s.Phase == stage.PhaseRetest:
		return where + ": what will be merged is tested"
	case s.Stage == stage.Development:
		return where + ": the developer has finished"
	default:
		return where
	}
}

// move returns whose move it is, or what the task waits for; nil when the task is over.
func move(v view) (lines []string) {
	s := v.Task.State
	switch {
	case s.Stage.Terminal():
		return nil
	case s.Hold != stage.HoldNone && !s.Stopping:
		todo, _ := stage.Remedy(s)
		return []string{"your move: " + todo}
	case len(v.Waits) > 0:
		return v.Waits
	case s.Active == "" && (s.Stage == stage.Development || s.Phase == stage.PhaseRetest):
		return []string{"waits for CI"}
	case v.Work != "":
		return []string{v.Work}
	default:
		return []string{"the service works"}
	}
}

// sum adds up what runs have cost.
type sum struct {
	task.Cost
	model string // the newest
}

func sumOf(runs []task.AgentRun, s stage.Stage) (u sum) {
	for _, r := range runs {
		if r.Stage != s {
			continue
		}
		u.Add(task.CostOf(r))
		if r.Usage.Model != "" {
			u.model = r.Usage.Model
		}
	}
	return u
}

// String is the sum in one line: input as everything that went in, the cached
// part in brackets.
func (u sum) String() string {
	text := fmt.Sprintf("in %s (%s cached), out %s, %s",
		stage.Thousands(u.In()), stage.Thousands(u.Usage.CacheRead), stage.Thousands(u.Usage.Output), u.Price())
	if u.model != "" {
		text += ", " + u.model
	}
	if u.Runs > 1 {
		text += fmt.Sprintf(" (%d runs)", u.Runs)
	}
	return text
}
