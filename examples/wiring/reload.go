package wiring

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/gates/checks"
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

// reloaded remembers what was wrong with a file when it was read last.
type reloaded struct {
	what string
	mu   sync.Mutex
	err  error
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
	return fmt.Errorf("%s was changed and is not in force, because it is wrong: %w; correct it and reload it", r.what, r.err)
}

// Reload reads the settings and the project registry again, with the files of secrets that they
// name, and works by them at once, but for settings that need a restart. When anything is
// wrong, the error says what, and nothing is changed.
func (v *Service) Reload(context.Context) (web.Reloaded, error) {
	v.reloading.Lock()
	defer v.reloading.Unlock()
	settings, err := Load(v.Settings.from.environ)
	v.settingsFile.tried(err)
	if err != nil {
		v.Log.Error("the settings file is wrong; what was in force stays", "err", err)
		return web.Reloaded{}, err
	}
	before := v.Projects.Now()
	err = v.replaceRegistry()
	v.registryFile.tried(err)
	if err != nil {
		v.Log.Error("the project registry is wrong; the one before stays in force", "err", err)
		return web.Reloaded{}, err
	}
	now := v.Projects.Now()
	out := web.Reloaded{Projects: len(now.All()), Added: lacking(before, now), Removed: lacking(now, before)}
	out.Settings, out.Restart = v.inForce.take(settings, v.liveSettings())
	v.Log.Info("the project registry was read again", "projects", out.Projects, "added", out.Added, "removed", out.Removed)
	if len(out.Settings)+len(out.Restart) > 0 {
		v.Log.Info("the settings were read again", "in_force", out.Settings, "need_a_restart", out.Restart)
	}
	return out, nil
}

// liveSettings are those that change while the service runs, and what each of them does.
func (v *Service) liveSettings() map[string]func(Settings) {
	return map[string]func(Settings){
		Prefix + "LOG_LEVEL":    func(s Settings) { v.Settings.level.Set(s.level.Level()) },
		Prefix + "ACCESS_ROLES": func(s Settings) { v.Access.SetRules(s.AccessRoles) },
		checks.TitleMaxSetting:  func(s Settings) { v.titleMax.Store(&s.QG0TitleMax) },
	}
}

// getenv is the environment of gates: what is set there at the moment of the call, else what the
// settings file has.
func (v *Service) getenv(name string) string {
	if value, set := os.LookupEnv(name); set || name != checks.TitleMaxSetting {
		return value
	}
	return *v.titleMax.Load()
}

// take compares settings that were read again with those in force, and takes those that have
// a function. It returns the names of those that have changed, and of those that wait for a restart.
func (s *Settings) take(next Settings, live map[string]func(Settings)) (changed, restart []string) {
	now, other := reflect.ValueOf(s).Elem(), reflect.ValueOf(next)
	for key, f := range settingFields() {
		name, from := Prefix+strings.ToUpper(key), other.FieldByIndex(f.Index)
		if reflect.DeepEqual(now.FieldByIndex(f.Index).Interface(), from.Interface()) {
			continue
		}
		apply, ok := live[name]
		if !ok {
			restart = append(restart, name)
			continue
		}
		apply(next)
		now.FieldByIndex(f.Index).Set(from)
		changed = append(changed, name)
	}
	slices.Sort(changed)
	slices.Sort(restart)
	return changed, restart
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

// reloadBySignal reloads at each signal, until ctx ends.
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
