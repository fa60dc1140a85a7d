package orchestrator

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// gatesOf are the gates that may judge in a project: those of all, and its own.
func (e *Engine) gatesOf(p task.Project) (*gates.Registry, error) {
	return gates.NewRegistry(append(e.gates[:len(e.gates):len(e.gates)], p.Commands...)...)
}

// evaluateGates has gates judge a subject of a project, by name.
func (e *Engine) evaluateGates(ctx context.Context, p task.Project, s gates.Facts, names ...string) gates.Verdict {
	have, err := e.gatesOf(p)
	if err != nil {
		return gates.Broken(gates.All, err.Error())
	}
	return have.Judge(ctx, s, names...)
}

// Check looks whether the engine could work by a registry: whether there are the checks
// that projects name, and a host for repositories that have none. An error is a FieldError.
func (e *Engine) Check(projects *task.Projects) error {
	for i, p := range projects.All() {
		if field, wrong := e.hosts(p); wrong != "" {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: field, Text: wrong}
		}
		have, err := e.gatesOf(p)
		if err != nil {
			return &task.FieldError{Entry: i, Repo: p.Repo, Field: "commands", Text: err.Error()}
		}
		for s, names := range p.Gates {
			for _, name := range names {
				if !have.Has(name) {
					text := fmt.Sprintf("%q at %s is no check of this program, and none of the project's commands", name, s)
					return &task.FieldError{Entry: i, Repo: p.Repo, Field: "gates", Text: text}
				}
			}
		}
	}
	return nil
}

// Replace has the engine, its features, and every other holder of Deps.Projects work by another
// registry from now on, one that Check has passed. Features look at all tasks again.
func (e *Engine) Replace(with *task.Projects) {
	e.Projects.Replace(with)
	for _, f := range e.features {
		if f.Reloaded != nil {
			f.Reloaded()
		}
	}
}
