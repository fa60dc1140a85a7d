// Package remotes sees what people do to repositories that have no git host: nobody sends
// a webhook there. Now and then it lists the branches of each plain repository
// (githost.Plain) in which a task is under way, with one call of the remote, and raises
// what a host's webhooks report elsewhere:
//
//	main has the head of a task            a person has merged it
//	the branch of an idle task is gone     a person has deleted it
//
// A push to main or to a task's branch needs no event: the merge looks where both are
// before it moves main.
package remotes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// name of the feature.
const name = "remotes"

// Options of the feature, which needs Host too.
type Options struct {
	orchestrator.Parts

	Every time.Duration `env:"GIT_POLL" envDefault:"30s" doc:"how often repositories without a git host are looked at while a task is under way there"`
	Limit time.Duration `envDefault:"30s"` // of the look at one repository
}

// watch is the feature with what it has seen. What is lost with the process is seen
// again: an event that comes twice changes nothing.
type watch struct {
	opt Options

	told map[int64]string // by task: what was raised of it last; only the loop uses it

	mu    sync.Mutex
	repos map[string]look
}

// look holds the result of the newest look at a repository.
type look struct {
	Repo  string    `json:"repo"`
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty"`
	main  string
	clear map[int64]string // heads of tasks that main, where it is, does not have
}

// Feature checks the options.
func Feature(o Options) (orchestrator.Feature, error) {
	if err := o.Complete("remotes"); err != nil {
		return orchestrator.Feature{}, err
	}
	defaults.Fill(&o)
	w := &watch{opt: o, repos: map[string]look{}, told: map[int64]string{}}
	return orchestrator.Feature{
		Name:  name,
		Loops: []orchestrator.Loop{{Name: "loop", Run: w.loop}},
		Show:  func(context.Context) (any, error) { return w.show(), nil },
	}, nil
}

func (w *watch) loop(ctx context.Context, e *orchestrator.Engine) {
	for e.Wait(ctx, w.opt.Every) == nil {
		for _, p := range w.opt.Projects.All() {
			host, plain := githost.PlainOf(w.opt.Host, p.Repo)
			if !plain || ctx.Err() != nil {
				continue
			}
			var err error
			if panicked := run.Guard(name, func() { err = w.check(ctx, e, host, p) }); panicked != nil {
				err = panicked
			}
			if err != nil && ctx.Err() == nil {
				w.opt.Log.Warn("a repository could not be looked at", "repo", p.Repo, "err", err)
			}
		}
	}
}

// check compares the branches of one repository with its tasks.
func (w *watch) check(ctx context.Context, e *orchestrator.Engine, host githost.Plain, p task.Project) error {
	tasks, err := published(ctx, e, p.Repo)
	if err != nil || len(tasks) == 0 {
		return err
	}
	ctx, cancel := e.Scheduler.WithTimeout(ctx, w.opt.Limit)
	defer cancel()
	heads, err := host.Heads(ctx, p.Repo)
	now := look{Repo: p.Repo, At: w.opt.Now(), main: heads[p.Main], clear: map[int64]string{}}
	before := w.repos[p.Repo] // which the loop alone writes
	for _, t := range tasks {
		if err != nil || now.main == "" {
			break
		}
		if before.main == now.main && before.clear[t.ID] == t.State.Head {
			now.clear[t.ID] = t.State.Head
		} else if err = w.landed(ctx, e, host, &now, t); err != nil {
			break
		}
		if now.clear[t.ID] != "" && heads[t.Branch] == "" {
			err = w.gone(ctx, e, t)
		}
	}
	if err != nil {
		now.main, now.Error = "", err.Error()
	}
	w.mu.Lock()
	w.repos[now.Repo] = now
	w.mu.Unlock()
	return err
}

// published are the live tasks of a repository that have something at the remote which is
// not merged by the service.
func published(ctx context.Context, e *orchestrator.Engine, repo string) (out []task.Task, err error) {
	for t, err := range task.Each(ctx, e.Store, task.Filter{Repo: repo, Live: true}) {
		if err != nil {
			return out, err
		}
		if s := t.State; s.Head != "" && s.Pushed != "" && s.MergeSHA == "" && s.Head != s.Landed {
			out = append(out, t)
		}
	}
	return out, nil
}

// landed raises the merge of a task whose head main has.
func (w *watch) landed(ctx context.Context, e *orchestrator.Engine, host githost.Plain, now *look, t task.Task) error {
	as, err := host.Contains(ctx, t.Repo, now.main, t.State.Head)
	if err != nil {
		return err
	}
	if as == "" || as == t.State.Landed {
		now.clear[t.ID] = t.State.Head
		return nil
	}
	if w.told[t.ID] == "merged "+t.State.Head {
		return nil
	}
	w.opt.Log.Info("a branch was merged by hand", "task", t.ID, "repo", t.Repo, "branch", t.Branch, "sha", t.State.Head)
	job := orchestrator.HostJob(task.Project{}, githost.Hook{
		Kind: githost.HookMerged, Event: name, Repo: t.Repo, Branch: t.Branch, SHA: t.State.Head, MergeSHA: as,
	})
	job.DedupeKey = fmt.Sprintf("remotes/merged/%d/%s", t.ID, t.State.Head)
	_, err = e.Jobs.Put(ctx, job)
	return w.raised(t.ID, "merged "+t.State.Head, err)
}

// gone raises that the branch of a task which nobody works on was deleted.
func (w *watch) gone(ctx context.Context, e *orchestrator.Engine, t task.Task) error {
	s := t.State
	if s.Active != "" || s.Hold != stage.HoldNone || s.Stage == stage.Deploy || w.told[t.ID] == "gone "+s.Pushed {
		return nil
	}
	w.opt.Log.Info("a branch was deleted by hand", "task", t.ID, "repo", t.Repo, "branch", t.Branch)
	gone := stage.Event{On: stage.OnEffectFailed, At: w.opt.Now(), Gone: true, Reason: t.Deleted()}
	err := e.Raise(ctx, t, gone, fmt.Sprintf("remotes/gone/%d/%s", t.ID, s.Pushed))
	return w.raised(t.ID, "gone "+s.Pushed, err)
}

// raised notes what was raised of a task, when it was.
func (w *watch) raised(task int64, what string, err error) error {
	if err == nil {
		w.told[task] = what
	}
	return err
}

// show is the block in /queue.
func (w *watch) show() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []look{}
	for _, p := range w.opt.Projects.All() {
		if l, ok := w.repos[p.Repo]; ok {
			out = append(out, l)
		}
	}
	return struct {
		Enabled bool   `json:"enabled"`
		Repos   []look `json:"repos"`
	}{true, out}
}
