package orchestrator

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Keeping keeps tasks, what they cost and wait for, and the queue, which share transactions.
type Keeping interface {
	records
	Jobs
	task.Dependencies
	task.CostStore
	task.Pauses
}

type records interface {
	Storing
	task.Records
	task.Pruner
}

// Spaces are the places of work, in which branches are brought up to date too.
type Spaces interface {
	Workspaces
	work.Rebaser
}

// Parts hold all that a program gives its features. Each says which it needs beside Store and Projects.
type Parts struct {
	Store      Keeping
	Projects   *task.Projects
	Host       Hosting
	Workspaces Spaces
	Agents     work.Agents
	Log        *slog.Logger     // nil discards
	Now        func() time.Time // nil = the real clock
}

// Complete puts the defaults in. It refuses parts without a store or projects, in the name of a feature.
func (p *Parts) Complete(feature string) error {
	if p.Store == nil || p.Projects == nil {
		return fmt.Errorf("%s: Parts.Store and Projects are required", feature)
	}
	defaults.Fill(p)
	return nil
}
