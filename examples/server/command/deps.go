package command

import (
	"fmt"
	"io"
	"net/http"

	"github.com/alecthomas/kong"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type depsCmd struct {
	List   depsListCmd `cmd:"" help:"List what a task waits for."`
	Add    dependCmd   `cmd:"" help:"Make a task wait for another."`
	Remove dependCmd   `cmd:"" help:"Let a task wait for another no more."`
}

type depsListCmd struct {
	Task string `arg:"" help:"Task id, or work item id such as GPX-42."`
	printer
}

// Run lists the dependencies of a task.
func (c depsListCmd) Run(s *streams) error { return c.deps(s, http.MethodGet, c.Task, "") }

type dependCmd struct {
	Task string `arg:"" help:"The task that waits: its id, or its work item id."`
	On   string `arg:"" help:"The task that it waits for."`
	printer
}

// Run adds or removes a dependency; it needs the right operator.
func (c dependCmd) Run(s *streams, k *kong.Context) error {
	return c.deps(s, map[string]string{"add": http.MethodPost, "remove": http.MethodDelete}[k.Selected().Name], c.Task, c.On)
}

// deps makes a request about the dependencies of a task and prints what they are then.
func (c printer) deps(s *streams, method, task, on string) error {
	id, err := c.find(task)
	if err != nil {
		return err
	}
	var body struct {
		On int64 `json:"on,omitempty"`
	}
	if on != "" {
		if body.On, err = c.find(on); err != nil {
			return err
		}
	}
	return read(c, s, method, fmt.Sprintf("/tasks/%d/deps", id), body, func(w io.Writer, out web.DependencyList) {
		if len(out.Dependencies) == 0 {
			fmt.Fprintf(w, "task %d waits for no other\n", id)
		}
		for _, d := range out.Dependencies {
			fmt.Fprintf(w, "task %d waits for task %d (%s, since %s)\n", d.TaskID, d.On, d.Source, moment(d.CreatedAt))
		}
	})
}
