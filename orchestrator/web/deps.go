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

func (s *server) deps(w http.ResponseWriter, r *http.Request) {
	if s.Deps == nil {
		s.absent("dependencies from the local table", "ORCH_TASK_DEPS_ENABLED, ORCH_TASK_DEPS_SOURCE")(w, r)
		return
	}
	n, ok := id(w, r)
	if !ok {
		return
	}
	var change func(context.Context, *orchestrator.Engine, int64, int64, stage.Principal) error
	switch r.Method {
	case http.MethodPost:
		change = s.Deps.Add
	case http.MethodDelete:
		change = s.Deps.Remove
	}
	if change != nil {
		var in struct{ On int64 }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.On < 1 {
			problem(w, http.StatusBadRequest, "bad-payload", `Send {"on": 12}: the id of the task that is waited for.`)
			return
		}
		if err := change(r.Context(), s.Engine, n, in.On, by(r)); err != nil {
			s.fail(w, err)
			return
		}
		s.actor(r).Info("an operator has changed a dependency", "task", n, "on", in.On, "method", r.Method)
	}
	list, err := s.Deps.List(r.Context(), n)
	if err != nil {
		s.fail(w, err)
		return
	}
	answer(w, http.StatusOK, DependencyList{append([]task.Dependency{}, list...)})
}
