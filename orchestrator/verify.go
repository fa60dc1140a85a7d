package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// verify are the commands of Verify as people read them.
func (p Project) verify() (list []string) {
	for _, argv := range p.Verify {
		list = append(list, strings.Join(argv, " "))
	}
	return list
}

// tailMax is how much is kept of what a command has written, in bytes.
const tailMax = 2000

// verified runs the commands of a project on what its tester calls good, in the job of
// the run: it may take long, a STOP ends it, and no event waits for it. An error says
// that a command could not be run.
func (e *Engine) verified(ctx context.Context, p Project, t Task, l stage.Launch, ev stage.Event) (out []stage.Verified, err error) {
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
	for i, argv := range p.Verify {
		r := stage.Verified{Command: p.verify()[i], SHA: s.SHA}
		begun := e.Now()
		exit, said, expired, err := e.runCommand(ctx, e.opt.VerifyTimeout, argv, s)
		switch {
		case expired:
			r.Exit, r.Expired = -1, e.opt.VerifyTimeout.String()
		case err != nil:
			return nil, fmt.Errorf("verify: %s: %w", r.Command, err)
		default:
			said = strings.TrimSpace(said)
			r.Exit, r.Tail = exit, strings.ToValidUTF8(said[max(0, len(said)-tailMax):], "")
		}
		e.Log.Info("verified", "task", t.ID, "repo", t.Repo, "run", l.Run, "sha", r.SHA, "command", r.Command, "exit", r.Exit, "took", e.Now().Sub(begun))
		if out = append(out, r); r.Exit != 0 {
			break // the rest would change nothing
		}
	}
	return out, nil
}
