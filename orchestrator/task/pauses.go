package task

import (
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Pause keeps all tasks from an agent that could work for none of them.
type Pause struct {
	Agent   string // as work.Result has it
	Model   string // with which it cannot work; empty = with any
	Kind    work.TroubleKind
	Reason  string // the agent's own words
	Since   time.Time
	Until   time.Time // when it ends by itself, where the agent has said so
	Next    time.Time // elsewhere: when a task may try the agent
	Task    int64     // the task that tries it now; 0 = none
	Version int64     // as that of a Task
}

// Stops reports whether the pause keeps an agent with a model from working.
func (p Pause) Stops(agent, model string) bool {
	return p.Agent == agent && (p.Model == "" || p.Model == model)
}

// PausesMoved reports whether pauses that a commit changes are not as they were loaded,
// given all that are stored.
func (c Commit) PausesMoved(stored []Pause) bool {
	return slices.ContainsFunc(slices.Concat(c.Pauses, c.Resumed), func(p Pause) bool {
		i := slices.IndexFunc(stored, func(o Pause) bool { return o.Agent == p.Agent && o.Model == p.Model })
		return (i < 0) != (p.Version == 0) || i >= 0 && (stored[i].Version != p.Version || !stored[i].Since.Equal(p.Since))
	})
}

// Pauses reads which agents are paused. Commit changes it.
type Pauses interface {
	// Pauses lists them by agent and model.
	Pauses(ctx context.Context) ([]Pause, error)
}
