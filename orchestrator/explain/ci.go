package explain

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// tested returns how a plain repository is tested, and what came of it last for a task;
// empty for a repository that has a git host.
func tested(p task.Project, s stage.State) string {
	switch {
	case !p.Plain():
		return ""
	case p.WithoutCI():
		return "none configured: the repository has no git host, and its entry names no command in ci:, so nothing is tested"
	case s.CI.SHA == "":
		return "the service runs " + strings.Join(task.CommandLines(p.CI), "; ")
	}
	var out []string
	for _, r := range s.CI.Results {
		word := fmt.Sprintf("exit code %d", r.Exit)
		if r.Expired != "" {
			word = "did not end within " + r.Expired
		}
		out = append(out, r.Command+": "+word)
	}
	return fmt.Sprintf("%s (at %.12s)", strings.Join(out, "; "), s.CI.SHA)
}

// blockOfOwnCI explains a task whose head the service tests itself.
func (a account) blockOfOwnCI() {
	commands := strings.Join(task.CommandLines(a.project.CI), "; ")
	b := Blocker{
		Kind: "ci", Since: a.UpdatedAt, Who: admit.WhoService,
		Why: fmt.Sprintf("the service runs CI of %.12s: %s", a.State.Head, commands),
		Do:  "Wait for the end of the commands: they are ended by a STOP, and at ORCH_VERIFY_TIMEOUT each",
	}
	a.Summary = "Waits for CI, which the service runs."
	for _, w := range a.waits {
		if w.Job.Kind == orchestrator.KindCI && w.Job.Error != "" {
			b.Why += fmt.Sprintf("; try %d ended with: %s", w.Job.Attempt, w.Job.Error)
			b.Until = w.Job.AvailableAt
		}
	}
	a.add(b)
}
