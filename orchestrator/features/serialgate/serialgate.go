// Package serialgate lets one task of a repository begin at a time: the analyst
// of a task waits while an older task of the repository is not finished, or
// while the repository is frozen. Branch and documents are then made when the
// analyst starts, from the fresh main.
//
// The gate fails open: when the line cannot be read, nothing waits in it. A
// freeze fails closed: it is a row that the claim itself sees, so that a store
// that does not answer lets nobody begin.
package serialgate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Names of the rule, and of the holds of freezes.
const (
	Name   = "serial_gate"
	Freeze = "freeze"
)

// Options of a Gate.
type Options struct {
	orchestrator.Parts

	Repos []string `env:"SERIAL_GATE_REPOS" doc:"owner/name,… or * for all; unset: the repositories with self_hosting"`
}

// Gate is the serial gate.
type Gate struct {
	opt Options
}

// New checks the options.
func New(o Options) (*Gate, error) {
	if err := o.Complete("serialgate"); err != nil {
		return nil, err
	}
	for _, r := range o.Repos {
		if r != "*" && !strings.Contains(r, "/") {
			return nil, fmt.Errorf("serialgate: repository %q, want owner/name or *", r)
		}
	}
	return &Gate{o}, nil
}

// Covers reports whether a repository is gated.
func (g *Gate) Covers(repo string) bool {
	if len(g.opt.Repos) == 0 {
		p, ok := g.opt.Projects.ByRepo(repo)
		return ok && p.SelfHosting
	}
	return slices.ContainsFunc(g.opt.Repos, func(r string) bool { return r == "*" || strings.EqualFold(r, repo) })
}

// Feature is the gate for the engine.
func (g *Gate) Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name,
		On: func(_ context.Context, m any) error {
			if b, begins := m.(orchestrator.Beginning); begins && g.Covers(b.Project.Repo) {
				b.Event.BranchLater = true
			}
			return nil
		},
		Admission: []admit.Rule{g.rule()},
		Show:      g.show,
	}
}

func (g *Gate) rule() admit.Rule { return admit.Rule{Name: Name, Line: true, Read: g.read} }

// read finds the unfinished task that is right before one which is to begin.
func (g *Gate) read(ctx context.Context, _ *admit.Pass, s admit.Start) (admit.Facts, error) {
	if !s.Begins || !g.Covers(s.Task.Repo) {
		return nil, nil
	}
	list, err := g.opt.Store.Tasks(ctx, task.Filter{Repo: s.Task.Repo, Live: true, BeforeID: s.Task.ID, Limit: 1})
	return ahead(list), err
}

// ahead holds the unfinished task right before another in their repository, if there is one.
type ahead []task.Task

// Seen is the task ahead; 0 = none.
func (a ahead) Seen() any {
	if len(a) == 0 {
		return 0
	}
	return a[0].ID
}

// Judge implements admit.Facts: the oldest task may begin, and every task that has begun goes on.
func (a ahead) Judge(s admit.Start) (r admit.Reason, waits bool) {
	if len(a) == 0 {
		return r, false
	}
	name := fmt.Sprintf("%s (task %d)", a[0].WorkItemID, a[0].ID)
	return admit.Reason{
		Text: fmt.Sprintf("waits for a place: one task at a time in %s, and %s is before it", s.Task.Repo, name),
		Who:  admit.WhoTask, Do: "Wait until " + name + " is done, or stop it", Tasks: []int64{a[0].ID},
	}, true
}

// Freeze lets no task of a repository begin until Unfreeze. It is durable when it
// returns. taskID is the task that it is about; 0 = none.
func (g *Gate) Freeze(ctx context.Context, repo string, taskID int64, reason string) error {
	return g.opt.Store.Commit(ctx, task.Commit{
		Hold:  []queue.Hold{freezeOf(repo, reason)},
		Facts: []task.Fact{{Kind: orchestrator.FactFreeze, Of: repo, Task: taskID, Text: reason}},
	})
}

// freezeOf is the hold by which a claim sees a freeze.
func freezeOf(repo, reason string) queue.Hold {
	return queue.Hold{Subject: orchestrator.RoleInRepo(stage.Analyst, repo), Name: Freeze, Reason: reason}
}

// Unfreeze ends a freeze, and returns whether there was one and why. People are notified: in the chat,
// and on the card that the freeze was about.
func (g *Gate) Unfreeze(ctx context.Context, repo string) (was bool, reason string, err error) {
	frozen, err := g.Frozen(ctx)
	i := slices.IndexFunc(frozen, func(f Frozen) bool { return strings.EqualFold(f.Repo, repo) })
	if err != nil || i < 0 {
		return false, "", err
	}
	f := frozen[i]
	causes, err := g.opt.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactFreeze, Of: f.Repo}, 0)
	if err != nil {
		return false, "", err
	}
	c := task.Commit{Free: []queue.Hold{freezeOf(f.Repo, "")}, Over: causes}
	if g.opt.Projects != nil {
		if p, ok := g.opt.Projects.ByRepo(f.Repo); ok {
			c.Jobs = g.unfrozen(ctx, p, f)
		}
	}
	return true, f.Reason, g.opt.Store.Commit(ctx, c)
}

// unfrozen are the notices that tasks may begin again.
func (g *Gate) unfrozen(ctx context.Context, p task.Project, f Frozen) (out []queue.Job) {
	key, text := fmt.Sprintf("unfrozen/%s/%d", p.Repo, f.Since.UnixMicro()), p.Repo+" is not frozen any more: its tasks may begin."
	t, err := g.opt.Store.Task(ctx, f.TaskID)
	if err == nil && t.Repo == p.Repo {
		comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}
		out = append(out, orchestrator.EffectJob(t, p, comment, key+"/comment"))
	} else {
		t = task.Task{}
	}
	return append(out, orchestrator.EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: text}, key))
}

// Frozen is a repository that no task may begin in.
type Frozen struct {
	Repo   string    `json:"repo"`
	TaskID int64     `json:"task_id,omitempty"` // the task that it is about
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Frozen lists the frozen repositories.
func (g *Gate) Frozen(ctx context.Context) ([]Frozen, error) {
	all := orchestrator.RoleInRepo(stage.Analyst, "")
	held, err := g.opt.Store.HoldsIn(ctx, all, all+"~", frozenMax)
	if err != nil {
		return nil, err
	}
	causes, err := g.opt.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactFreeze}, 0)
	out := []Frozen{}
	for _, h := range held {
		if h.Name != Freeze {
			continue
		}
		repo := strings.TrimPrefix(h.Subject, all)
		f := Frozen{Repo: repo, Reason: h.Reason, Since: h.Since}
		for _, cause := range causes {
			if cause.Of == repo && cause.Text == h.Reason {
				f.TaskID = cause.Task
			}
		}
		out = append(out, f)
	}
	return out, err
}

// frozenMax bounds the freezes that are listed.
const frozenMax = 10_000

// view is the block in /queue.
type view struct {
	Enabled bool            `json:"enabled"`
	Repos   []string        `json:"repos"`
	Frozen  []Frozen        `json:"frozen"`
	Waiting []admit.Waiting `json:"waiting"`
}

// repos are those that are gated, as they are set or registered.
func (g *Gate) repos() []string {
	if len(g.opt.Repos) > 0 || g.opt.Projects == nil {
		return g.opt.Repos
	}
	out := []string{}
	for _, p := range g.opt.Projects.All() {
		if p.SelfHosting {
			out = append(out, p.Repo)
		}
	}
	return out
}

func (g *Gate) show(ctx context.Context) (any, error) {
	v := view{Enabled: true, Repos: g.repos()}
	var err1, err2 error
	v.Frozen, err1 = g.Frozen(ctx)
	v.Waiting, err2 = admit.ListWaiting(ctx, g.opt.Store, g.rule(), "")
	return v, errors.Join(err1, err2)
}
