package orchestrator

import (
	"cmp"
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Prober reads from a deployment which commit it runs: 7 to 64 hexadecimal digits in lower
// case. Without an answer that names one it returns an error.
type Prober interface {
	Commit(ctx context.Context, address string) (string, error)
}

// probePoll is the time between two looks at a deployment that is not there yet.
const probePoll = 10 * time.Second

// probed reads what a deployment runs that its deployer calls good, in the job of the run: it
// looks again until that is the commit, or Options.ProbeWait is over. Nil means that there is
// nothing to look at. It is an error when it was interrupted, or when nobody can look.
func (e *Engine) probed(ctx context.Context, p task.Project, t task.Task, ev stage.Event) (*stage.Probed, error) {
	if p.Probe.ByStage()[t.State.Stage] == "" || ev.Agent.Filed.Role != stage.Deployer {
		return nil, nil
	}
	s, err := e.subject(ctx, p, t, ev)
	if err != nil {
		return nil, err
	}
	for until := e.Now().Add(e.opt.ProbeWait); ; {
		fact := e.probe(ctx, s)
		if fact == nil || checks.Proved(s, *fact) || !e.Now().Before(until) {
			return fact, ctx.Err()
		}
		if err := e.Wait(ctx, probePoll); err != nil {
			return nil, err
		}
	}
}

// probe looks once; nil when, by the report, there is nothing to see.
func (e *Engine) probe(ctx context.Context, s gates.Facts) *stage.Probed {
	address := s.Policy.Probe[s.Stage]
	if s.Stage == stage.Deploy && s.Deployed == "" { // the deployer runs before the merge too
		return nil
	}
	if address == "" || s.Filed.Role != stage.Deployer || s.Filed.Verdict != checks.Success {
		return nil
	}
	fact := &stage.Probed{Address: address, At: e.Now()}
	if e.Probe == nil {
		fact.Problem = "no probe can be read here"
		return fact
	}
	commit, err := e.Probe.Commit(ctx, address)
	if fact.SHA = commit; err != nil {
		fact.SHA, fact.Problem = "", cmp.Or(err.Error(), "no answer")
	}
	e.Log.Info("probed", "task", s.Task.ID, "repo", s.Task.Repo, "stage", s.Stage, "address", address, "sha", fact.SHA, "err", fact.Problem)
	return fact
}
