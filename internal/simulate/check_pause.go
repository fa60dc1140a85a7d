package simulate

import (
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Invariants of agents whose vendor refuses them.
const (
	Unharmed  Invariant = "unharmed"   // a run that was refused is no failure of its task
	OneNotice Invariant = "one-notice" // a pause begins with one notice, and goes on without
)

// paused looks at a commit that may pause an agent.
func (c *checker) paused(n *node, x task.Commit, b snapshot) {
	for _, r := range x.Runs {
		if r.Trouble == "" || !n.has("agent_pause") || x.Task == nil {
			continue
		}
		now, was := x.Task.State, b.task.State
		if now.Hold == stage.HoldBlocked && was.Hold != stage.HoldBlocked || now.Failures > was.Failures {
			c.fail(Unharmed, "the agent of task %d was refused (%s), and the task has failed by it", r.TaskID, r.Trouble)
		}
	}
	for _, p := range x.Pauses {
		want, got := 1, 0
		if slices.ContainsFunc(b.pauses, func(o task.Pause) bool { return o.Agent == p.Agent && o.Model == p.Model && o.Kind == p.Kind }) {
			want = 0
		}
		for _, j := range x.Jobs {
			if strings.HasPrefix(j.DedupeKey, "effect/agent_pause/") {
				got++
			}
		}
		if got != want {
			c.fail(OneNotice, "%s pauses %s with %d notices, want %d", n.name(), p.Agent, got, want)
		}
	}
}
