package wiring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// leastSecret is the length of a secret that cannot be guessed, in bytes: 128 bits.
const leastSecret = 16

// long reports, as an error, a secret that is shorter.
func long(value string) error {
	if len(value) < leastSecret {
		return fmt.Errorf("has %d bytes, want at least %d, so that nobody guesses it: set the output of openssl rand -hex 32", len(value), leastSecret)
	}
	return nil
}

// HookSecrets are what webhooks are signed with.
type HookSecrets struct{ Tracker, Host signature.Secrets }

// hideBy has a redactor hide them.
func (h HookSecrets) hideBy(r *secret.Redactor) {
	for _, s := range slices.Concat(h.Tracker, h.Host) {
		r.Hide(s.Value)
	}
}

// HookSecrets gathers the secrets of webhooks: the common ones, and those that the
// registry names for a project, read with getenv or from files that it names. An error
// names each variable that is missing or too short.
func (s Settings) HookSecrets(r projectfile.Registry, getenv func(string) string) (out HookSecrets, err error) {
	var err1, err2 error
	all := r.Projects.All()
	if s.Tracker != trackerBoard { // which sends no webhooks
		out.Tracker, err1 = s.hookSecrets(r, all, getenv, "PLANE_WEBHOOK_SECRET", []string{s.PlaneSecret.Reveal(), s.PlaneSecretOld.Reveal()}, func(h projectfile.HookSecrets) []string { return h.Tracker })
	}
	hosted := slices.DeleteFunc(slices.Clone(all), task.Project.Plain) // who has no host has none who sends
	out.Host, err2 = s.hookSecrets(r, hosted, getenv, "GITHUB_WEBHOOK_SECRET", []string{s.GitHubSecret.Reveal(), s.GitHubSecretOld.Reveal()}, func(h projectfile.HookSecrets) []string { return h.Host })
	return out, errors.Join(err1, err2)
}

// hookSecrets are those of one sender, who sends for some projects: common is the setting of the common ones, names
// are the variables of a project's own.
func (s Settings) hookSecrets(r projectfile.Registry, projects []task.Project, getenv func(string) string, common string, values []string, names func(projectfile.HookSecrets) []string) (signature.Secrets, error) {
	out, errs := signature.Of(values...), []error{}
	lacking := false
	for _, p := range projects {
		own := names(r.HookSecrets[p.Repo])
		lacking = lacking || len(own) == 0
		for _, name := range own {
			value, _, unread := findSecret(getenv, name)
			switch err := long(value); {
			case unread != nil:
				errs = append(errs, unread)
			case strings.HasPrefix(name, Prefix):
				errs = append(errs, fmt.Errorf("%s names %s for %s: names that begin with %s are settings; give the variable another name", s.Projects, name, p.Repo, Prefix))
			case agentcli.Allowed(s.AgentEnv, name):
				errs = append(errs, fmt.Errorf("%sAGENT_ENV lets agents see %s, which %s names for the webhooks of %s: name what they need instead of a pattern", Prefix, name, s.Projects, p.Repo))
			case value == "":
				errs = append(errs, fmt.Errorf("%s is not set: %s names it for the webhooks of %s", name, s.Projects, p.Repo))
			case err != nil:
				errs = append(errs, fmt.Errorf("%s (webhooks of %s) %w", name, p.Repo, err))
			}
			out = append(out, signature.Secret{Value: value, Repo: p.Repo})
		}
	}
	if values[0] == "" && lacking && !s.InsecureWebhooks {
		errs = append(errs, fmt.Errorf("%s%s is not set: webhooks would come from anybody (ORCH_INSECURE_WEBHOOKS=true takes them)", Prefix, common))
	}
	return out, errors.Join(errs...)
}
