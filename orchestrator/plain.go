package orchestrator

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// hosts returns the field of an entry that the engine's parts are not made for, and why.
func (e *Engine) hosts(p task.Project) (field, wrong string) {
	_, plain := e.Host.(githost.Plain)
	switch {
	case p.Plain() && !plain:
		return "host", "is git, and the git host of this program serves no repository without one (githost.Plain)"
	case len(p.CI) > 0 && e.Commands == nil:
		return "ci", "has commands, and none can be run by this program (Deps.Commands)"
	default:
		return "", ""
	}
}

// confirmLanded looks whether main of a plain repository has the head of a task, by any pusher.
// A nil outcome means that it has.
func (e *Engine) confirmLanded(ctx context.Context, host githost.Plain, p task.Project, t task.Task, ev *stage.Event) *queue.Outcome {
	head := t.State.Head
	if head != "" && head == t.State.Landed {
		return done("that merge was deployed and rejected")
	}
	landed, err := githost.Landed(ctx, host, p.Repo, p.Main, head)
	switch {
	case err != nil:
		return retryOutcome(err)
	case !landed:
		return done(fmt.Sprintf("%s does not have %s at %.12s", p.Main, t.Branch, head))
	default:
		ev.SHA = head
		return nil
	}
}
