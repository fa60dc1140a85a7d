package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/credential"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// leastSecret bounds from below a secret that cannot be guessed, in bits.
const leastSecret = 128

// long reports, as an error, a secret that is shorter.
func long(value string) error {
	if n := bits(value); n < leastSecret {
		return fmt.Errorf("has at most %d bits, want at least %d, so that nobody guesses it: set the output of openssl rand -hex 32",
			n, leastSecret)
	}
	return nil
}

// bits is the most that a secret can have: as if it was drawn from the smallest usual alphabet that
// has all of its characters.
func bits(value string) int {
	for _, alphabet := range []struct {
		form string
		size float64
	}{{"0-9", 10}, {"0-9a-f", 16}, {"0-9A-F", 16}, {"0-9a-z", 36}, {"0-9A-Z", 36}, {"0-9a-zA-Z+/=_-", 64}, {" -~", 95}} {
		if regexp.MustCompile("^[" + alphabet.form + "]*$").MatchString(value) {
			return int(math.Log2(alphabet.size) * float64(len(value)))
		}
	}
	return 8 * len(value)
}

// HookSecrets holds what webhooks are signed with, by the names of their sources.
type HookSecrets map[string]signature.Secrets

// hideBy has a redactor hide them.
func (h HookSecrets) hideBy(r *secret.Redactor) {
	for _, list := range h {
		for _, s := range list {
			r.Hide(s.Value)
		}
	}
}

// HookSecrets gathers the secrets of webhooks: of each source the common ones, and those
// that the registry names for a project, read with getenv or from files that it names. An
// error names each variable that is missing or too short.
func (s Settings) HookSecrets(r projectfile.Registry, getenv func(string) string) (HookSecrets, error) {
	out, errs := HookSecrets{}, []error{}
	for _, from := range s.neighbours(r.Neighbours) {
		list, err := s.hookSecrets(r, from, getenv)
		out[from.source()], errs = list, append(errs, err)
	}
	return out, errors.Join(errs...)
}

func (s Settings) hookSecrets(r projectfile.Registry, from neighbour, getenv func(string) string) (signature.Secrets, error) {
	out, errs := slices.Clone(from.secrets), []error{}
	read := func(name, whose, repo string) {
		value, err := s.namedSecret(getenv, name, whose)
		if err == nil {
			if err = long(value); err != nil {
				err = fmt.Errorf("%s (%s) %w", name, whose, err)
			}
		}
		out, errs = append(out, signature.Secret{Value: value, Repo: repo}), append(errs, err)
	}
	for _, name := range from.SecretEnv {
		read(name, "webhooks of "+from.Name, "")
	}
	lacking := false
	for _, p := range r.Projects.All() {
		if !from.serves(p) {
			continue
		}
		own := r.HookSecrets[p.Repo].Host
		if from.isBoard {
			own = r.HookSecrets[p.Repo].Tracker
		}
		lacking = lacking || len(own) == 0
		for _, name := range own {
			read(name, "webhooks of "+p.Repo, p.Repo)
		}
	}
	if lacking && len(from.SecretEnv) == 0 && !from.signed && !s.InsecureWebhooks {
		errs = append(errs, fmt.Errorf("%s is not set: webhooks would come from anybody (ORCH_INSECURE_WEBHOOKS=true takes them)",
			cmp.Or(from.secretName, "secret_env of the "+from.what())))
	}
	return out, errors.Join(errs...)
}

// namedSecret reads a secret that the registry names, which is whose.
func (s Settings) namedSecret(getenv func(string) string, name, whose string) (string, error) {
	value, _, unread := findSecret(getenv, name)
	switch {
	case unread != nil:
		return "", unread
	case strings.HasPrefix(name, Prefix):
		return "", fmt.Errorf("%s names %s for %s: names that begin with %s are settings; give the variable another name",
			s.Projects, name, whose, Prefix)
	case agentcli.Allowed(s.AgentEnv, name):
		return "", fmt.Errorf("%sAGENT_ENV lets agents see %s, which %s names for the %s: name what they need instead of a pattern",
			Prefix, name, s.Projects, whose)
	case value == "":
		return "", fmt.Errorf("%s is not set: %s names it for the %s", name, s.Projects, whose)
	}
	return value, nil
}

// openCredentials makes what mints deployers' secrets, as the registry says at each run.
func (v *Service) openCredentials(projects *task.Projects) *credential.Link {
	return &credential.Link{
		Dir: filepath.Join(v.Settings.DataDir, "credentials"), Hide: func(secret string) { v.Settings.hidden.Hide(secret) }, Log: v.Log,
		Grant: func(repo string, role stage.Role) *credential.Grant {
			p, ok := projects.ByRepo(repo)
			if c := p.Credential; !ok || c.Env == "" || role != stage.Deployer {
				return nil
			}
			return &credential.Grant{Env: p.Credential.Env, By: v.minter(projects, p)}
		},
		Note: func(ctx context.Context, taskID int64, text string) {
			ctx = context.WithoutCancel(ctx)
			t, err := v.DB.Task(ctx, taskID)
			body, errBody := json.Marshal(task.Note{Result: text})
			if err = errors.Join(err, errBody); err == nil {
				entry := task.JournalEntry{TaskID: taskID, Seq: t.State.Seq, At: time.Now(), Kind: task.KindCredential, Payload: body}
				err = v.DB.Commit(ctx, task.Commit{Journal: []task.JournalEntry{entry}})
			}
			if err != nil {
				v.Log.Warn("the task's story could not be written", "task", taskID, "kind", task.KindCredential, "entry", text, "err", err)
			}
		},
	}
}

func (v *Service) minter(projects *task.Projects, p task.Project) credential.Minter {
	c := p.Credential
	if c.AppID == "" {
		return credential.Command{MintArgv: c.Command, RevokeArgv: c.Revoke}
	}
	host, _ := v.opened.Neighbours.Host(p.Host)
	return credential.App{
		Host:        v.Settings.appOf(c.AppID, c.AppKey, cmp.Or(host.URL, v.Settings.GitHub.URL)),
		Permissions: c.Permissions,
		Path: func(repo string) string {
			p, _ := projects.ByRepo(repo)
			return p.HostPath()
		},
	}
}

// hideKey hides a key in PEM, which a log has line by line.
func (s Settings) hideKey(pem string) {
	for line := range strings.Lines(pem) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
			s.hidden.Hide(line)
		}
	}
}

// appOfFile is an app whose key is read from its file when it is needed first.
type appOfFile func() (*github.Client, error)

func (s Settings) appOf(id, file, at string) appOfFile {
	return sync.OnceValues(func() (*github.Client, error) {
		key, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s.hideKey(string(key))
		return github.New(github.Options{BaseURL: at, App: &github.App{ID: id, Key: string(key)}, HTTPClient: s.client()})
	})
}

func (open appOfFile) MintToken(ctx context.Context, repo string, permissions map[string]string) (string, time.Time, error) {
	c, err := open()
	if err != nil {
		return "", time.Time{}, err
	}
	return c.MintToken(ctx, repo, permissions)
}

func (open appOfFile) RevokeToken(ctx context.Context, token string) error {
	c, err := open()
	if err != nil {
		return err
	}
	return c.RevokeToken(ctx, token)
}
