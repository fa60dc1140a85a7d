package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Explanation reports why a task stands where it stands, and what would move it.
// Its words come from the machine's state, the registry of transitions and the
// queue: the code that decides.
type Explanation struct {
	TaskID   int64       `json:"task_id"`
	WorkItem string      `json:"work_item"`
	Title    string      `json:"title"`
	Repo     string      `json:"repo"`
	Stage    stage.Stage `json:"stage"`
	Lane     string      `json:"lane,omitempty"` // empty: the whole pipeline
	Phase    stage.Phase `json:"phase,omitempty"`
	Since    time.Time   `json:"since"`   // at this stage
	Summary  string      `json:"summary"` // one sentence
	// Blockers is everything that the task waits for; empty when it is being
	// worked on, when the scheduler would run it next, or when it is finished.
	Blockers []Blocker `json:"blockers"`
	Moves    []Move    `json:"moves"` // what would move it
	Owed     []Owed    `json:"owed"`  // effects that the outside world has not had
	// CI is how a repository without a git host is tested, and what came of it last.
	CI string `json:"ci,omitempty"`
	// Refused is the last red verdict of the stage on what the task waits for.
	Refused  string `json:"refused,omitempty"`
	LastNote string `json:"last_note,omitempty"`
	// Judged lists the last verdict of each gate, the newest first, with what was believed by whose word. All leaves it out.
	Judged []gates.Verdict `json:"judged,omitempty"`
	// Words lists the words of people about the card, in the order in which they were heard, with the fate of each.
	Words []task.Word `json:"words,omitempty"`
	// Follows is the work item id of the task of the same card that this one comes after; FollowedBy are those that
	// come after this one. All leaves these out.
	Follows    string   `json:"follows,omitempty"`
	FollowedBy []string `json:"followed_by,omitempty"`
	// Forecast is by Lives.One alone; null where nothing can be told.
	Forecast *Forecast `json:"forecast,omitempty"`
}

// Move is a row of the registry that applies to the task as it is.
type Move struct {
	On    stage.Trigger `json:"on"`
	When  string        `json:"when,omitempty"`
	Gates []string      `json:"gates,omitempty"`
	To    stage.Stage   `json:"to"`
	Why   string        `json:"why"`
}

// One answers for one task.
func One(ctx context.Context, e *orchestrator.Engine, taskID int64) (Explanation, error) {
	return (*Lives)(nil).One(ctx, e, taskID)
}

// One answers for one task, with its forecast.
func (l *Lives) One(ctx context.Context, e *orchestrator.Engine, taskID int64) (none Explanation, err error) {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return none, err
	}
	s := newSituation(e)
	if s.waits, err = e.Jobs.Waiting(ctx, queue.Filter{TaskID: taskID}); err != nil {
		return none, err
	}
	s.fresh = e.Admission.Fresh(ctx, s.waits)
	for _, key := range orchestrator.BoardKeys(task.OriginalKey(t.TrackerIssueID)) {
		heard, err := e.Jobs.Jobs(ctx, queue.Filter{Key: key, Open: true})
		if err != nil {
			return none, err
		}
		s.heard = append(s.heard, heard...)
	}
	if s.failed, err = admin.FailedEffects(ctx, e, taskID); err != nil {
		return none, err
	}
	depth, err := e.Jobs.Depth(ctx)
	if s.running = Busy(depth); err != nil {
		return none, err
	}
	if err = s.readMarks(ctx, e); err != nil {
		return none, err
	}
	x := explain(e, t, s)
	x.Moves = moves(e, t.State)
	judged, err1 := e.Records.GateResults(ctx, taskID)
	x.Judged = newest(judged)
	entries, err := e.Records.Journal(ctx, taskID)
	note, result := lastNote(entries)
	x.LastNote, x.Words = note, words(entries, s)
	if result != "" && t.State.Stage.Terminal() {
		x.Summary = fmt.Sprintf("The task is %s. After that, %s", t.State.Stage, result)
	}
	_, after, err2 := task.Around(ctx, e.Store, t)
	for _, later := range after {
		x.FollowedBy = append(x.FollowedBy, later.WorkItemID)
	}
	forecasts, err3 := l.Forecasts(ctx, e, t)
	for _, f := range forecasts {
		x.Forecast = &f
	}
	return x, errors.Join(err, err1, err2, err3)
}

// newest lists the last verdict of each gate, which names the commit that it is of.
func newest(judged []task.GateResult) (out []gates.Verdict) {
	for _, g := range slices.Backward(judged) {
		known := slices.ContainsFunc(out, func(v gates.Verdict) bool { return v.Check == g.Verdict.Check })
		if !known {
			out = append(out, g.Verdict)
		}
	}
	return out
}

// words lists what people have said of a card: what was judged, and what was not yet.
func words(entries []task.JournalEntry, s situation) (out []task.Word) {
	for _, e := range entries {
		if w, ok := e.Word(); ok {
			out = append(out, w)
		}
	}
	open := s.heard
	for _, w := range s.waits {
		open = append(open, w.Job)
	}
	for _, j := range open {
		if w, ok := orchestrator.WordOf(j); ok {
			out = append(out, w)
		}
	}
	return out
}

// All answers for many tasks at once, in their order. Moves, LastNote and Words
// are left out.
func All(ctx context.Context, e *orchestrator.Engine, tasks []task.Task) ([]Explanation, error) {
	waits, err := e.Jobs.Waiting(ctx, queue.Filter{Limit: explainMax})
	if err != nil {
		return nil, err
	}
	failed, err := admin.FailedEffects(ctx, e, 0)
	if err != nil {
		return nil, err
	}
	s := newSituation(e)
	s.fresh = e.Admission.Fresh(ctx, waits)
	if err = s.readMarks(ctx, e); err != nil {
		return nil, err
	}
	byTask, failedOf, heardOf := map[int64][]queue.Wait{}, map[int64][]queue.Job{}, map[string][]queue.Job{}
	for _, w := range waits {
		if w.Job.Kind == orchestrator.KindTracker {
			heardOf[w.Job.Key] = append(heardOf[w.Job.Key], w.Job)
		}
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
		s.waits, s.failed, s.heard = byTask[t.ID], failedOf[t.ID], nil
		for _, key := range orchestrator.BoardKeys(task.OriginalKey(t.TrackerIssueID)) {
			s.heard = append(s.heard, heardOf[key]...)
		}
		out = append(out, explain(e, t, s))
	}
	return out, nil
}

// explainMax bounds the unfinished jobs that ExplainAll looks at.
const explainMax = 100_000

// newSituation returns the part that is the same for all tasks.
func newSituation(e *orchestrator.Engine) situation {
	return situation{sick: e.SickPools(), now: e.Now()}
}

// explain returns why a task stands where it stands.
func explain(e *orchestrator.Engine, t task.Task, s situation) Explanation {
	x := Explanation{
		TaskID: t.ID, WorkItem: task.OriginalKey(t.WorkItemID), Title: t.Title, Repo: t.Repo, Stage: t.State.Stage, Lane: t.State.Lane,
		Follows: t.State.Follows,
		Phase:   t.State.Phase, Since: t.StageEnteredAt, Refused: t.State.Refused, Blockers: []Blocker{}, Moves: []Move{}, Owed: s.owed(t),
	}
	p, registered := e.Projects.ByRepo(t.Repo)
	if registered {
		x.CI = tested(p, t.State)
	}
	account{s, &x, t, p.On(t.TrackerProjectID), e}.block()
	return x
}

// moves lists the rows that apply to a state, whatever the event's details.
func moves(e *orchestrator.Engine, s stage.State) []Move {
	out := []Move{}
	for _, on := range stage.Triggers() {
		ev := stage.Event{On: on, Run: s.Run, Agent: &stage.Report{}}
		edge, ok := e.Machine().Edge(s, ev)
		refused := s.Refused != "" && s.Active == "" && edge.Red == stage.RedStay
		if !ok || refused || edge.Do == stage.DoNothing || edge.Do == stage.DoRecord || edge.Do == stage.DoDecline {
			continue
		}
		out = append(out, Move{On: on, When: string(edge.When), Gates: edge.Gates, To: edge.To, Why: edge.Why})
	}
	return out
}

// Degraded returns what a monitor has seen of a deployment that it has called degraded last, by entries of one task, oldest
// first; empty when it has not.
func Degraded(entries []task.JournalEntry) string {
	for _, e := range slices.Backward(entries) {
		if said, of := strings.CutPrefix(e.Result(), "monitor: "); of {
			seen, bad := strings.CutPrefix(said, "DEGRADED")
			if !bad {
				return ""
			}
			return "degraded after its deployment" + seen
		}
	}
	return ""
}

// lastNote is the newest reason in the task's story, and the newest result of a feature after the task's end, which
// events that came too late may follow.
func lastNote(entries []task.JournalEntry) (note, after string) {
	end := slices.IndexFunc(entries, func(e task.JournalEntry) bool {
		r, err := e.Recorded()
		return err == nil && r.Decision.State.Stage.Terminal()
	})
	for i, e := range slices.Backward(entries) {
		if result := worded(e); result != "" {
			note = cmp.Or(note, result)
			if end >= 0 && i > end {
				after = result
			}
			return note, after
		}
		if r, err := e.Recorded(); note == "" && err == nil && len(r.Decision.Notes) > 0 {
			note = r.Decision.Notes[len(r.Decision.Notes)-1]
		}
	}
	return note, ""
}

// worded is the result that an entry has: a sentence of the service's, or what a feature saw.
func worded(e task.JournalEntry) string {
	text, _ := strings.CutPrefix(e.Result(), e.Kind+": ")
	plain := []string{task.KindText, task.KindPrompt, task.KindHook, task.KindCredential, task.KindHolding}
	if text == "" || slices.Contains(plain, e.Kind) {
		return text
	}
	return "the " + e.Kind + " saw " + text
}
