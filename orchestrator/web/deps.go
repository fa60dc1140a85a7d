package web

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Dependencies changes the local table of dependencies for operators: see package deps.
type Dependencies interface {
	List(ctx context.Context, taskID int64) ([]task.Dependency, error)
	Add(ctx context.Context, e *orchestrator.Engine, taskID, on int64, by stage.Principal) error
	Remove(ctx context.Context, e *orchestrator.Engine, taskID, on int64, by stage.Principal) error
}

// DependencyList is the answer of /tasks/{id}/deps.
type DependencyList struct {
	Dependencies []task.Dependency `json:"dependencies"` // of the task, from all sources
}

func (s *server) deps(r *http.Request) (any, error) {
	if s.Deps == nil {
		return nil, absent("dependencies from the local table", "ORCH_TASK_DEPS_ENABLED, ORCH_TASK_DEPS_SOURCE")
	}
	change := s.Deps.Add
	if r.Method == http.MethodDelete {
		change = s.Deps.Remove
	}
	if r.Method != http.MethodGet {
		var in struct{ On int64 }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.On < 1 {
			return nil, badPayload(`Send {"on": 12}: the id of the task that is waited for.`)
		}
		if err := change(r.Context(), s.Engine, id(r), in.On, by(r)); err != nil {
			return nil, err
		}
	}
	list, err := s.Deps.List(r.Context(), id(r))
	return DependencyList{append([]task.Dependency{}, list...)}, err
}
