package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// tailMax is how much is kept of what a command has written, in bytes.
const tailMax = 2000

// verified runs the commands of a project on what its tester calls good, in the job of
// the run: it may take long, a STOP ends it, and no event waits for it. It is an error
// when a command could not be run.
func (e *Engine) verified(
	ctx context.Context, p task.Project, t task.Task, l stage.Launch, ev stage.Event,
) (out []stage.Verified, err error) {
	if l.Stage != stage.Testing || len(p.Verify) == 0 || ev.Agent.Questions != "" || ev.Agent.Filed.Verdict != checks.Passed {
		return nil, nil
	}
	if e.Commands == nil {
		return nil, errors.New("verify: no command can be run here")
	}
	s, err := e.subject(ctx, p, t, ev)
	if err != nil {
		return nil, err
	}
	if out, err = e.runCommands(ctx, p.Verify, s); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return out, nil
}

// runCommands runs commands of the registry on a commit, up to the first that fails: the
// rest would change nothing. It is an error when one could not be run.
func (e *Engine) runCommands(ctx context.Context, commands [][]string, s gates.Facts) (out []stage.Verified, err error) {
	for _, argv := range commands {
		r := stage.Verified{Command: strings.Join(argv, " "), SHA: s.SHA}
		begun := e.Now()
		if s.Log != nil {
			_, _ = fmt.Fprintf(s.Log, "$ %s\n", r.Command) // a log that cannot be written changes no result
		}
		exit, said, expired, err := e.runCommand(ctx, e.opt.VerifyTimeout, argv, s)
		switch {
		case expired:
			r.Exit, r.Expired = -1, e.opt.VerifyTimeout.String()
		case err != nil:
			return nil, fmt.Errorf("%s: %w", r.Command, err)
		default:
			said = strings.TrimSpace(said)
			r.Exit, r.Tail = exit, strings.ToValidUTF8(said[max(0, len(said)-tailMax):], "")
		}
		e.Log.Info("a command of the registry was run", "task", s.Task.ID, "repo", s.Task.Repo,
			"sha", r.SHA, "command", r.Command, "exit", r.Exit, "took", e.Now().Sub(begun))
		if out = append(out, r); r.Exit != 0 {
			break
		}
	}
	return out, nil
}
