package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// ReadRegistry reads the project registry and the secrets that it names, and checks them
// against the settings: an error with Projects names all that is wrong there. It changes nothing.
func (s Settings) ReadRegistry() (r projectfile.Registry, secrets HookSecrets, err error) {
	if r, err = projectfile.Load(s.Projects, s.Kinds()...); err != nil {
		return r, secrets, err
	}
	if s.stages != "" {
		if r.Pipeline, err = projectfile.ReadPipeline(s.stages); err != nil {
			return r, secrets, err
		}
	}
	secrets, err = s.HookSecrets(r, os.Getenv)
	return r, secrets, errors.Join(s.NeedsToServe(r.Projects), s.CheckNames(r), r.Placed(s.checkAgents(r)), err)
}

// settingsFile is a part of readiness.
func (v *Service) settingsFile(context.Context) error {
	if wrong := v.wrong.Load(); wrong != nil && *wrong != nil {
		return fmt.Errorf("the settings file was changed and is not in force, because it is wrong: %w; correct it and reload it", *wrong)
	}
	return nil
}

// Reload reads the settings and the project registry again, with the files of secrets that they
// name, and works by them at once, but for settings that need a restart. When anything is
// wrong, the error says what, and nothing is changed.
func (v *Service) Reload(ctx context.Context) (web.Reloaded, error) {
	v.reloading.Lock()
	defer v.reloading.Unlock()
	settings, err := load(v.Settings.from.environ, v.Settings.further)
	v.wrong.Store(&err)
	if err != nil {
		v.Log.Error("the settings file is wrong; what was in force stays", "err", err)
		return web.Reloaded{}, err
	}
	out, err := v.Service.Reload(ctx)
	if err != nil {
		return out, err
	}
	out.Settings, out.Restart = v.inForce.take(settings, v.liveSettings())
	if len(out.Settings) > 0 {
		v.Engine.Replace(v.Projects) // decisions are made by another policy now
	}
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
	for _, f := range declared() {
		name, from := Prefix+f.Tag.Get("env"), other.FieldByIndex(f.Index)
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

// reread reads the project registry again, and has the secrets of webhooks that it names in
// force before the projects that they speak for: receivers read them in the other order.
// Settings are not read again.
func (v *Service) reread(context.Context) (*task.Projects, error) {
	r, secrets, err := v.Settings.ReadRegistry()
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(r.Neighbours, v.opened.Neighbours) {
		return nil, fmt.Errorf("%s: hosts or boards are others than at the start: they are opened there, so restart the server",
			v.Settings.Projects)
	}
	if !reflect.DeepEqual(r.Pipeline, v.opened.Pipeline) {
		return nil, fmt.Errorf("%s: the stages are others than at the start: tasks stand at them, so restart the server",
			filepath.Join(filepath.Dir(v.Settings.Projects), projectfile.PipelineName))
	}
	if err := v.Engine.Check(r.Projects); err != nil {
		return nil, r.Placed(err)
	}
	secrets.hideBy(v.Settings.hidden)
	v.setSecrets(secrets)
	return r.Projects, nil
}
