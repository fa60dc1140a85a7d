package simulate

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// worked looks whether a task that its deployment takes to done has changed something, or a person
// stands for a head of it that has not.
func (c *checker) worked(t task.Task, was stage.State) {
	if was.Stage != stage.Deploy || t.State.Stage != stage.Done || t.State.Vouched != "" {
		return
	}
	docs := c.s.list[c.s.projectOf(t.Repo)].Docs(t.WorkItemID) + "/"
	changed, err := c.s.places[0].Changed(c.s.ctx, work.Workspace{}, "", t.State.Head, []string{"**"})
	if err == nil && !slices.ContainsFunc(changed, func(name string) bool { return !strings.HasPrefix(name, docs) }) {
		c.fail(WorkDone, "task %d is done at %.12s, which changes nothing but its own documents, "+
			"and nobody has said that nothing was to be done", t.ID, t.State.Head)
	}
}

// workflowAt returns what a commit has at the protected path.
func (c *checker) workflowAt(sha string) string {
	tree, err := c.s.places[0].Files(c.s.ctx, work.Workspace{}, sha)
	if err != nil {
		return ""
	}
	body, err := fs.ReadFile(tree, workflow)
	if err != nil {
		return ""
	}
	return string(body)
}

// changesWorkflow reports whether a head has a workflow that nobody stands for.
func (c *checker) changesWorkflow(n stage.State) bool {
	now := c.workflowAt(n.Head)
	return now != "on: push\n" && now != c.workflowAt(n.Vouched)
}
