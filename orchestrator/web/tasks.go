package web

import (
	"encoding/json"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// TaskList is the answer of GET /tasks. Next is the cursor of the next page, 0
// on the last.
type TaskList struct {
	Tasks []TaskView `json:"tasks"`
	Next  int64      `json:"next,omitempty"`
}

// TaskView is one task as the API shows it.
type TaskView struct {
	ID                 int64       `json:"id"`
	WorkItemID         string      `json:"work_item_id"`
	TrackerIssueID     string      `json:"tracker_issue_id"`
	TrackerProjectID   string      `json:"tracker_project_id"`
	Repo               string      `json:"repo"`
	Branch             string      `json:"branch"`
	Title              string      `json:"title"`
	Stage              stage.Stage `json:"stage"`
	Lane               string      `json:"lane,omitempty"`    // of the pipeline; empty: all of it
	Follows            string      `json:"follows,omitempty"` // work item id of the task of the same card that it comes after
	Phase              stage.Phase `json:"phase,omitempty"`
	Active             stage.Role  `json:"active,omitempty"`
	Hold               stage.Hold  `json:"hold,omitempty"`
	HoldReason         string      `json:"hold_reason,omitempty"`
	Run                int64       `json:"run"`
	Retries            int         `json:"developer_retries"`
	HeadSHA            string      `json:"head_sha,omitempty"`
	MergeSHA           string      `json:"merge_sha,omitempty"`
	PullRequest        string      `json:"pull_request,omitempty"`
	BRDReviewStartedAt time.Time   `json:"brd_review_started_at,omitzero"`
	BRDReviewEndedAt   time.Time   `json:"brd_review_ended_at,omitzero"`
	CreatedAt          time.Time   `json:"created_at"`
	UpdatedAt          time.Time   `json:"updated_at"`
	StageEnteredAt     time.Time   `json:"stage_entered_at"`
	CancelRequestedAt  time.Time   `json:"cancel_requested_at,omitzero"`
	CancelledAt        time.Time   `json:"cancelled_at,omitzero"`
	Version            int64       `json:"version"`
}

func taskView(t task.Task) TaskView {
	return TaskView{
		ID: t.ID, WorkItemID: t.WorkItemID, TrackerIssueID: t.TrackerIssueID, TrackerProjectID: t.TrackerProjectID,
		Repo: t.Repo, Branch: t.Branch, Title: t.Title, Stage: t.State.Stage, Lane: t.State.Lane, Follows: t.State.Follows,
		Phase:  t.State.Phase,
		Active: t.State.Active, Hold: t.State.Hold, HoldReason: t.State.HoldReason, Run: t.State.Run, Retries: t.State.Retries,
		HeadSHA: t.State.Head, MergeSHA: t.State.MergeSHA, PullRequest: t.State.PRURL,
		BRDReviewStartedAt: t.BRDReviewStartedAt, BRDReviewEndedAt: t.BRDReviewEndedAt,
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, StageEnteredAt: t.StageEnteredAt,
		CancelRequestedAt: t.CancelRequestedAt, CancelledAt: t.CancelledAt, Version: t.Version,
	}
}

// TaskDetail is the answer of GET /tasks/{id}: the task with its whole story.
type TaskDetail struct {
	TaskView
	Description string            `json:"description"`
	Totals      Totals            `json:"totals"`
	Runs        []RunView         `json:"agent_runs"`
	Verdicts    []task.GateResult `json:"gate_results"`
	Jobs        []JobView         `json:"jobs"`
	Journal     []EntryView       `json:"journal"`
}

// Totals are sums over a task's agent runs. Input is everything that went in;
// CacheRead and CacheCreation are parts of it.
type Totals struct {
	Input         int64   `json:"input_tokens"`
	Output        int64   `json:"output_tokens"`
	CacheRead     int64   `json:"cache_read_input_tokens"`
	CacheCreation int64   `json:"cache_creation_input_tokens"`
	CostUSD       float64 `json:"cost_usd"`                // of what has a known price
	Unpriced      int64   `json:"unpriced_runs,omitempty"` // runs whose price is not known: they are not in cost_usd
	microUSD      int64
}

func (t *Totals) add(c task.Cost) {
	t.Input += c.In()
	t.Output += c.Usage.Output
	t.CacheRead += c.Usage.CacheRead
	t.CacheCreation += c.Usage.CacheCreate
	t.Unpriced += c.Unpriced
	t.microUSD += c.Usage.MicroUSD
	t.CostUSD = float64(t.microUSD) / 1e6
}

// RunView is one agent run.
type RunView struct {
	Run      int64       `json:"run"`
	Attempt  int         `json:"attempt"`
	Stage    stage.Stage `json:"stage"`
	Role     stage.Role  `json:"role"`
	Model    string      `json:"model,omitempty"`
	Agent    string      `json:"agent,omitempty"`  // preset or command
	Vendor   string      `json:"vendor,omitempty"` // of its models
	Status   string      `json:"status"`
	Trouble  string      `json:"trouble,omitempty"` // a work.TroubleKind: the agent could have worked for no task
	ExitCode int         `json:"exit_code"`
	Totals
	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at"`
	Summary  string    `json:"summary,omitempty"`
	Prompt   string    `json:"prompt,omitempty"` // hash of the team's assignment; empty = the built-in one

	Measured  bool    `json:"measured,omitempty"`  // the usage is that of the model gateway
	Estimated bool    `json:"estimated,omitempty"` // a part of it, by length
	Told      *Totals `json:"told,omitempty"`      // what the tool says, where that differs by more than 2 %
	// Refused are hosts that the network refused it, by names of its own choice.
	Refused []work.Refusal `json:"refused,omitempty"`
}

// JobView is one job of a task, finished or not.
type JobView struct {
	ID         int64        `json:"id"`
	Pool       string       `json:"pool"`
	Kind       string       `json:"kind"`
	Role       string       `json:"role,omitempty"`
	Status     queue.Status `json:"status"`
	Attempt    int          `json:"attempt"`
	CreatedAt  time.Time    `json:"created_at"`
	FinishedAt time.Time    `json:"finished_at,omitzero"`
	Error      string       `json:"error,omitempty"`
}

// EntryView is one line of the journal.
type EntryView struct {
	Seq     int64           `json:"seq"`
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"`
	On      string          `json:"on,omitempty"`
	Stage   stage.Stage     `json:"stage,omitempty"`
	Moved   bool            `json:"moved"`
	Notes   []string        `json:"notes"`
	Payload json.RawMessage `json:"payload"`
}

func (v *RunView) measured(r task.AgentRun) {
	if m := r.Measured; m != nil {
		v.Measured, v.Estimated = true, m.Estimated
	}
	if r.Measured.Differs(r.Usage) {
		v.Told = &Totals{}
		v.Told.add(task.CostOf(task.AgentRun{Usage: r.Measured.Told}))
	}
}

func (v *TaskDetail) fill(runs []task.AgentRun, results []task.GateResult, jobs []queue.Job, story []task.JournalEntry) {
	v.Runs, v.Jobs, v.Journal = []RunView{}, []JobView{}, []EntryView{}
	v.Verdicts = append([]task.GateResult{}, results...)
	for _, r := range runs {
		view := RunView{
			Run: r.Run, Attempt: r.Attempt, Stage: r.Stage, Role: r.Role, Model: r.Usage.Model, Agent: r.Agent, Vendor: r.Vendor,
			Status: r.Status, Trouble: string(r.Trouble), ExitCode: r.ExitCode, Started: r.Started, Finished: r.Finished,
			Summary: r.Summary, Prompt: r.Prompt, Refused: r.Refused,
		}
		view.add(task.CostOf(r))
		view.measured(r)
		v.Totals.add(task.CostOf(r))
		v.Runs = append(v.Runs, view)
	}
	for _, j := range jobs {
		v.Jobs = append(v.Jobs, JobView{
			ID: j.ID, Pool: j.Pool, Kind: j.Kind, Role: j.Role, Status: j.Status, Attempt: j.Attempt,
			CreatedAt: j.CreatedAt, FinishedAt: j.FinishedAt, Error: j.Error,
		})
	}
	for _, e := range story {
		view := EntryView{Seq: e.Seq, At: e.At, Kind: e.Kind, Notes: []string{}, Payload: e.Payload}
		if r, err := e.Recorded(); err == nil {
			view.On, view.Stage, view.Moved, view.Notes = string(r.Event.On), r.Decision.State.Stage, r.Decision.Moved, r.Decision.Notes
		}
		v.Journal = append(v.Journal, view)
	}
}
