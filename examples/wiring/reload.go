package wiring

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// readRegistry reads the project registry and the secrets that it names, and checks them
// against the settings. It changes nothing.
func (s Settings) readRegistry() (r projectfile.Registry, secrets HookSecrets, err error) {
	if r, err = projectfile.Load(s.Projects); err != nil {
		return r, secrets, err
	}
	if err = s.NeedsToServe(r.Projects); err != nil {
		return r, secrets, err
	}
	if err = s.CheckRepos(r.Projects); err != nil {
		return r, secrets, err
	}
	if err = s.CheckAgents(r.Projects); err != nil {
		return r, secrets, r.Placed(err)
	}
	secrets, err = s.HookSecrets(r, os.Getenv)
	return r, secrets, err
}

// reloaded remembers what was wrong with the project registry when it was read last.
type reloaded struct {
	one sync.Mutex // held while the registry is read: one at a time

	mu  sync.Mutex
	err error
}

func (r *reloaded) tried(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// warning is a part of readiness.
func (r *reloaded) warning(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("the project registry was changed and is not in force, because it is wrong: %w; correct it and reload it", r.err)
}

// Reload reads the project registry again, and the secrets of webhooks that it names, and
// works by it at once. When anything is wrong with it, the error says what, and the one
// before stays. Settings are not read again.
func (v *Service) Reload(context.Context) (web.Reloaded, error) {
	v.reloaded.one.Lock()
	defer v.reloaded.one.Unlock()
	before := v.Projects.Now()
	err := v.replaceRegistry()
	v.reloaded.tried(err)
	if err != nil {
		v.Log.Error("the project registry is wrong; the one before stays in force", "err", err)
		return web.Reloaded{}, err
	}
	now := v.Projects.Now()
	out := web.Reloaded{Projects: len(now.All()), Added: lacking(before, now), Removed: lacking(now, before)}
	v.Log.Info("the project registry was read again", "projects", out.Projects, "added", out.Added, "removed", out.Removed)
	return out, nil
}

func (v *Service) replaceRegistry() error {
	r, secrets, err := v.Settings.readRegistry()
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(r.Neighbours, v.neighbours) {
		return fmt.Errorf("%s: hosts or boards are others than at the start: they are opened there, so restart the server", v.Settings.Projects)
	}
	if err := v.Engine.Check(r.Projects); err != nil {
		return r.Placed(err)
	}
	secrets.hideBy(v.Settings.hidden)
	v.setSecrets(secrets) // before the projects that they speak for: receivers read them in the other order
	v.Engine.Replace(r.Projects)
	v.boards.reloaded()
	run.Hint(v.stranded.changed)
	return nil
}

// lacking are the repositories of one registry that another does not have; never nil.
func lacking(in, of *task.Projects) []string {
	out := []string{}
	for _, p := range of.All() {
		if _, ok := in.ByRepo(p.Repo); !ok {
			out = append(out, p.Repo)
		}
	}
	return out
}

// reloadBySignal reads the project registry again at each signal, until ctx ends.
func (v *Service) reloadBySignal(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.Reloads:
			_, _ = v.Reload(ctx) // it has logged what is wrong
		}
	}
}
