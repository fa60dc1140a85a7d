package dashboard

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// blocks holds what the features show of themselves in /queue, as far as pages have
// a place for it. A feature that is off has the zero block.
type blocks struct {
	Serial    serialBlock `json:"serial_gate"`
	Reconcile reconcileBlock
	Deps      depsBlock  `json:"task_deps"`
	Merge     mergeBlock `json:"merge_gate"`
	Budget    budgetBlock
	Pause     pauseBlock   `json:"agent_pause"`
	Others    []otherBlock `json:"-"` // the rest, as JSON
}

type waitingTask struct {
	TaskID int64 `json:"task_id"`
	Reason string
	Since  time.Time
}

// named is the part of what is shown of one repository.
type named struct {
	Repo string
}

func (n named) is(repo string) bool { return strings.EqualFold(n.Repo, repo) }

// first finds what is shown of a repository; nil = nothing is.
func first[T interface{ is(repo string) bool }](list []T, repo string) *T {
	if i := slices.IndexFunc(list, func(one T) bool { return one.is(repo) }); i >= 0 {
		return &list[i]
	}
	return nil
}

type frozen struct {
	named
	TaskID int64 `json:"task_id"`
	Reason string
	Since  time.Time
}

type serialBlock struct {
	Enabled bool
	Repos   []string
	Frozen  []frozen
	Waiting []waitingTask
	Error   string
}

type reconcileBlock struct {
	Enabled  bool
	Tracker  bool
	LastPass time.Time `json:"last_pass"`
	Passes   int64
	Advanced int64
	Replayed int64
	Missed   int `json:"missed_since_webhook"`
	Braked   string
	Error    string
}

type depsBlock struct {
	Enabled bool
	Table   []task.Dependency `json:"dependencies"`
	Error   string
}

type lease struct {
	named
	Holder  string
	Expires time.Time
}

// gateTask is a task that the merge gate works on.
type gateTask struct {
	named
	TaskID int64 `json:"task_id"`
	Phase  string
	Why    string
}

type mergeBlock struct {
	Enabled bool
	Leases  []lease
	Tasks   []gateTask
	Error   string
}

// spent is the account of a repository today, in millionths of a dollar.
type spent struct {
	named
	Spent    int64    `json:"spent_micro_usd"`
	Reserved int64    `json:"reserved_micro_usd"`
	Unpriced []string `json:"unpriced_models"`
}

type budgetBlock struct {
	Enabled bool
	TaskCap int64 `json:"task_cap_micro_usd"`
	DayCap  int64 `json:"repo_day_cap_micro_usd"`
	Run     int64 `json:"run_micro_usd"`
	Repos   []spent
	Error   string
}

// paused is an agent that no task may use for now.
type paused struct {
	Agent  string
	Model  string
	What   string
	Do     string
	Reason string
	Since  time.Time
	Until  time.Time
	Next   time.Time `json:"next_try_at"`
	Task   int64     `json:"tried_by_task"`
	Tasks  []int64   `json:"waiting_tasks"`
}

type pauseBlock struct {
	Enabled bool
	Paused  []paused
	Error   string
}

type otherBlock struct{ Name, JSON string }

// readBlocks reads the features' blocks. A block that cannot be read is left out.
func readBlocks(ctx context.Context, e *orchestrator.Engine) blocks {
	var b blocks
	raw := map[string]json.RawMessage{}
	for name, block := range e.FeatureBlocks(ctx) {
		if body, err := json.Marshal(block); err == nil {
			raw[name] = body
		}
	}
	for name, into := range map[string]any{
		"serial_gate": &b.Serial, "reconcile": &b.Reconcile, "task_deps": &b.Deps,
		"merge_gate": &b.Merge, "budget": &b.Budget, "agent_pause": &b.Pause,
	} {
		if body, on := raw[name]; on && json.Unmarshal(body, into) == nil {
			delete(raw, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if text, err := json.MarshalIndent(raw[name], "", "  "); err == nil {
			b.Others = append(b.Others, otherBlock{name, string(text)})
		}
	}
	return b
}
