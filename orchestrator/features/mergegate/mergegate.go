// Package mergegate stands between deploy-staging and the merge. A task takes the
// merge lease of its repository, has its branch rebased onto the newest main, has
// the result tested again, and is merged only when main is still where it was
// then: what lands is what was tested. No host's merge queue is needed.
//
//	staging works → lease → rebase, push → CI and the stage's checks → deploy
//
// Busy lease: the task stands in a line, in the order in which tasks came, and its job is
// held until it is its turn; after LineMax it is blocked, with the name of the holder. Conflicts
// and red tests send it back to development, as often as other findings may. The lease is kept,
// and renewed, until the task is done, sent back, cancelled, merged by a human or blocked; one
// that its process lost is free when its time is over.
//
// A branch that is up to date is not pushed, so that CI does not start for it.
//
// Where a merge queue of the host's is demanded, that is the line, and its own build the test on the newest main: the
// gate brings nothing up to date, keeps no lease, and has CI of the branch looked at once more.
//
// Where the gate is off it acts only on a branch that is behind: the merge itself looks,
// under the lease, and a branch that lacks something of main goes the same way. One
// that has all of it is merged at once.
package mergegate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease"
)

// Name of the feature.
const Name = "merge_gate"

// Options of the feature. It needs Host and Workspaces too; Leases and Merge are required.
type Options struct {
	orchestrator.Parts

	Leases lease.Locker
	Merge  orchestrator.Runner // merges, when the gate says so

	Off        bool          // on for no repository
	OnlyBehind bool          // leave a branch alone that has all of main, merges and all
	Repos      []string      `env:"MERGE_GATE_REPOS" doc:"owner/name,… or * for all; unset: the repositories with self_hosting"`
	DeferMax   int           `env:"MERGE_DEFER_MAX" envDefault:"20" min:"1" max:"35" doc:"how often a merge is put off because main has moved under it"`
	DeferDelay time.Duration `env:"MERGE_DEFER_DELAY" envDefault:"60s" doc:"how often the lines for the merge leases are put right"`
	LineMax    time.Duration `env:"MERGE_LINE_MAX" envDefault:"24h" doc:"a task that stands in line for the merge lease for so long is Blocked, with the name of who has it"`
	TTL        time.Duration `env:"MERGE_LEASE_TTL" envDefault:"30m" doc:"a merge lease that nobody renews is free after this long"`
}

// deferLimit is the largest DeferMax, as its tag says for those who set it.
const deferLimit = 35

// Gate is the feature.
type Gate struct {
	opt      Options
	pipeline stage.Pipeline // without the feature's own rows
}

// New checks the options.
func New(o Options) (*Gate, error) {
	if err := o.Complete("mergegate"); err != nil {
		return nil, err
	}
	if o.Leases == nil || o.Host == nil || o.Workspaces == nil || o.Merge == nil {
		return nil, errors.New("mergegate: Options.Leases, Host, Workspaces and Merge are required")
	}
	if defaults.Fill(&o); o.DeferMax < 0 || o.DeferMax > deferLimit {
		return nil, fmt.Errorf("mergegate: Options.DeferMax is %d, want 1 to %d", o.DeferMax, deferLimit)
	}
	return &Gate{opt: o}, nil
}

// Covers reports whether a repository's tasks go through the gate.
func (g *Gate) Covers(p task.Project) bool {
	if g.opt.Off || len(g.opt.Repos) == 0 {
		return !g.opt.Off && p.SelfHosting
	}
	return slices.ContainsFunc(g.opt.Repos, func(r string) bool { return r == "*" || strings.EqualFold(r, p.Repo) })
}

// Feature is the gate for the engine.
func (g *Gate) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name,
		On: func(_ context.Context, m any) error {
			if b, begins := m.(orchestrator.Beginning); begins {
				b.Event.MergeGate = g.Covers(b.Project)
			}
			return nil
		},
		Pipeline: g.rows,
		Rules:    []stage.Rule{Rule, g.skip},
		Runners: map[stage.EffectKind]orchestrator.Runner{
			orchestrator.EffectCatchUp:    orchestrator.RunnerFunc(g.catchUp),
			stage.EffectMerge:             orchestrator.RunnerFunc(g.merge),
			orchestrator.EffectGatedMerge: orchestrator.RunnerFunc(g.merge),
			orchestrator.EffectLanded:     orchestrator.RunnerFunc(g.landed),
			orchestrator.EffectRelease:    orchestrator.RunnerFunc(g.release),
		},
		Loops: []orchestrator.Loop{
			{Name: "renew", Run: g.every(g.opt.TTL/3, g.renew, "merge leases could not be renewed")},
			{Name: "line", Run: g.every(g.opt.DeferDelay, g.tend, "the lines of the merge gate could not be looked after")},
		},
		Show: g.show,
	}
}

// leaseName is the right to merge into a repository.
func leaseName(repo string) string { return "merge/" + strings.ToLower(repo) }

// holder names a task as the holder of a lease.
func holder(workItem string, id int64) string {
	return fmt.Sprintf("%s (task %d)", workItem, id)
}

// every does something now and then.
func (g *Gate) every(wait time.Duration, do func(context.Context) error, failed string) func(context.Context, *orchestrator.Engine) {
	return func(ctx context.Context, e *orchestrator.Engine) {
		for {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				g.opt.Log.Error("a loop of the merge gate has failed", "what", failed, "err", err)
			}
			if e.Wait(ctx, wait) != nil {
				return
			}
		}
	}
}

// keep prolongs the lease of a task, or gives it back when the task has left the gate
// meanwhile, or waits for its card: then nobody else would.
func (g *Gate) keep(ctx context.Context, t task.Task) error {
	busy, err := g.prolong(ctx, t)
	if busy != "" {
		g.opt.Log.Warn("a merge lease was lost", "task", t.ID, "repo", t.Repo, "why", busy)
	}
	if err != nil || busy != "" {
		return err
	}
	now, err := g.opt.Store.Task(ctx, t.ID)
	if err != nil {
		return err
	}
	held, err := g.opt.Store.Holds(ctx)
	waits := now.State.MergeSHA == "" && slices.ContainsFunc(held, func(h queue.Hold) bool { // a merge that had begun has ended
		return h.Subject == orchestrator.CardSubject(t.ID) && g.opt.Now().Sub(h.Since) > g.opt.TTL/3
	})
	if err != nil || now.State.Leased && !waits {
		return err
	}
	return g.handBack(ctx, t.Repo, holder(t.WorkItemID, t.ID))
}

// renew keeps the leases of tasks that have one.
func (g *Gate) renew(ctx context.Context) error {
	var errs []error
	for _, at := range []stage.Stage{stage.DeployStaging, stage.Deploy} {
		for t, err := range task.Each(ctx, g.opt.Store, task.Filter{Live: true, Stage: at}) {
			if t.State.Leased {
				err = g.keep(ctx, t)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
