package rehearse

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Agents is the agent as work.Agents of a whole service, within its process: without a shim, a
// jail and a login, so that a program that embeds a service is seen to work. It knows no other
// agent, whatever a project names. It is safe for concurrent use.
type Agents struct {
	mu      sync.Mutex
	reports map[[2]int64]string // by task and run
}

// Run implements work.Agents.
func (a *Agents) Run(ctx context.Context, c work.Command) work.Result {
	begun := time.Now()
	j := jobOf(c.Role, c.WorkItem, func(name string) string { return c.Env["SIGNALBOX_"+name] })
	j.dir, j.owes = c.Dir, c.Report != ""
	said, report, err := j.work(ctx)
	out := work.Result{Kind: work.ResultOK, Summary: said, Agent: Name, StartedAt: begun, FinishedAt: time.Now()}
	switch {
	case ctx.Err() != nil:
		out.Kind = work.ResultCancelled
	case err != nil:
		out.Kind, out.Reason = work.ResultFailed, err.Error()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reports == nil {
		a.reports = map[[2]int64]string{}
	}
	a.reports[[2]int64{c.TaskID, c.Run}] = report
	return out
}

// Report implements work.Agents.
func (a *Agents) Report(_ context.Context, c work.Command) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if report := a.reports[[2]int64{c.TaskID, c.Run}]; report != "" {
		return report, nil
	}
	return "", fmt.Errorf("rehearse: the report of run %d of task %d: %w", c.Run, c.TaskID, fs.ErrNotExist)
}

// Quiesce implements work.Agents: nothing outlives the process.
func (a *Agents) Quiesce(context.Context, int64) error { return nil }
