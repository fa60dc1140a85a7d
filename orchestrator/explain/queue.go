package explain

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// QueueView holds what GET /queue shows.
type QueueView struct {
	At      time.Time     `json:"at"`
	Jobs    []JobView     `json:"jobs"` // unfinished, in the order the scheduler will take them, by pool
	Depth   []queue.Depth `json:"depth"`
	Workers struct {
		MaxConcurrency int   `json:"max_concurrency"`
		Running        int64 `json:"running"` // agents
	} `json:"workers"`
	Effects []JobView        `json:"effects"` // owed to the outside world
	Lanes   []LaneView       `json:"lanes"`
	Budgets []tracker.Budget `json:"tracker_requests,omitempty"` // of the tracker's tokens, where it limits requests
	Failed  []FailedEffect   `json:"effects_failed"`             // given up and not made again, the newest first; at most 100
	// Forecasts are those of the tasks that live, by Lives; ReadQueue leaves them out.
	Forecasts []Forecast     `json:"forecasts"`
	Features  map[string]any `json:"-"` // blocks of the features that are on
}

// LaneView is a lane of effects, or a pool of events that read a neighbour.
type LaneView struct {
	Lane    string                 `json:"lane"`
	Owed    int64                  `json:"owed"` // jobs that are not finished, running ones too
	Running int64                  `json:"running"`
	Sick    *orchestrator.Sickness `json:"sick"` // null: its destination answers, as far as this process has seen
}

// FailedEffect is an effect that was given up.
type FailedEffect struct {
	JobID   int64             `json:"job_id"`
	Lane    orchestrator.Lane `json:"lane"`
	Kind    stage.EffectKind  `json:"kind"`
	TaskID  int64             `json:"task_id,omitempty"`
	Repo    string            `json:"repo"`
	Attempt int               `json:"attempt"`
	Error   string            `json:"error"`
	At      time.Time         `json:"failed_at"`
}

// JobView is one unfinished job and what it waits for.
type JobView struct {
	ID          int64          `json:"id"`
	Pool        string         `json:"pool"`
	Kind        string         `json:"kind"`
	TaskID      int64          `json:"task_id,omitempty"`
	Repo        string         `json:"repo,omitempty"`
	Role        string         `json:"role,omitempty"`
	Status      queue.Status   `json:"status"`
	Attempt     int            `json:"attempt"`
	AvailableAt time.Time      `json:"available_at,omitzero"`
	StartedAt   time.Time      `json:"started_at,omitzero"`
	Worker      string         `json:"worker,omitempty"`
	Error       string         `json:"error,omitempty"`
	Waits       []queue.Reason `json:"waits_for"`
}

// ReadQueue reads the queue as the scheduler sees it.
func ReadQueue(ctx context.Context, e *orchestrator.Engine) (QueueView, error) {
	v := QueueView{
		At: e.Now(), Jobs: []JobView{}, Effects: []JobView{}, Failed: []FailedEffect{}, Forecasts: []Forecast{},
		Features: map[string]any{},
	}
	waits, err := e.Waiting(ctx, queue.Filter{})
	if err != nil {
		return v, err
	}
	depth, err := e.Jobs.Depth(ctx)
	if err != nil {
		return v, err
	}
	v.Depth = append([]queue.Depth{}, depth...)
	v.Workers.MaxConcurrency = e.Concurrency()
	v.Workers.Running = Busy(depth)
	for _, w := range waits {
		w.Reasons = reasons(e, w, v.Workers.Running)
		if orchestrator.IsEffect(w.Job) {
			v.Effects = append(v.Effects, jobView(w))
		} else {
			v.Jobs = append(v.Jobs, jobView(w))
		}
	}
	v.Lanes = laneViews(e.NamedLanes(), depth, e.SickPools())
	failed, err := admin.FailedEffects(ctx, e, 0)
	if err != nil {
		return v, err
	}
	for _, j := range failed {
		kind, _ := orchestrator.EffectKindOf(j)
		v.Failed = append(v.Failed, FailedEffect{
			JobID: j.ID, Lane: orchestrator.LaneOf(kind), Kind: kind, TaskID: j.TaskID, Repo: j.Lane,
			Attempt: j.Attempt, Error: j.Error, At: j.FinishedAt,
		})
	}
	v.Features, v.Budgets = e.FeatureBlocks(ctx), e.Budgets()
	return v, nil
}

// laneViews are all lanes, in the order in which they are shown.
func laneViews(lanes []orchestrator.NamedLane, depth []queue.Depth, sick map[string]orchestrator.Sickness) []LaneView {
	out := []LaneView{}
	for _, l := range lanes {
		v := LaneView{Lane: l.Name}
		for _, d := range depth {
			if d.Pool != l.Pool {
				continue
			}
			if v.Owed += d.Count; d.Status == queue.Running {
				v.Running += d.Count
			}
		}
		if s, ok := sick[l.Pool]; ok {
			v.Sick = &s
		}
		out = append(out, v)
	}
	return out
}

// MarshalJSON puts the features' blocks beside the others; a block of a feature
// that is off says so.
func (v QueueView) MarshalJSON() ([]byte, error) {
	type plain QueueView
	body, err := json.Marshal(plain(v))
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, err
	}
	for _, name := range []string{
		"stop", "serial_gate", "wip", "reconcile", "task_deps", "merge_gate", "monitor", "budget", "agent_pause",
	} {
		out[name] = map[string]any{"enabled": false}
	}
	maps.Copy(out, v.Features)
	return json.Marshal(out)
}

func jobView(w queue.Wait) JobView {
	v := JobView{
		ID: w.Job.ID, Pool: w.Job.Pool, Kind: w.Job.Kind, TaskID: w.Job.TaskID, Repo: w.Job.Lane, Role: w.Job.Role,
		Status: w.Job.Status, Attempt: w.Job.Attempt, AvailableAt: w.Job.AvailableAt, StartedAt: w.Job.StartedAt,
		Worker: w.Job.Worker, Error: w.Job.Error, Waits: w.Reasons,
	}
	if v.Waits == nil {
		v.Waits = []queue.Reason{}
	}
	return v
}
