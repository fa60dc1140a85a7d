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

// common is the newest secret of a source that speaks for all; empty when there is none.
func (h HookSecrets) common(source string) string {
	for _, s := range h[source] {
		if s.Repo == "" {
			return s.Value
		}
	}
	return ""
}

// hookSource is a sender of webhooks, and where its secrets are named.
type hookSource struct {
	name   string
	where  string   // the setting or the field that names the common secret
	common []string // secrets that speak for all projects
	names  []string // variables of such secrets
	serves func(task.Project) bool
	own    func(projectfile.HookSecrets) []string // variables of a project's own
}

// hookSources are those of a registry.
func (s Settings) hookSources(n projectfile.Neighbours) (out []hookSource) {
	board := func(h projectfile.HookSecrets) []string { return h.Tracker }
	host := func(h projectfile.HookSecrets) []string { return h.Host }
	if s.Tracker != trackerBoard { // which sends no webhooks
		common := []string{s.PlaneSecret.Reveal(), s.PlaneSecretOld.Reveal()}
		out = append(out, hookSource{trackerPlane, Prefix + "PLANE_WEBHOOK_SECRET", common, nil, onBoard(""), board})
	}
	for _, b := range n.Boards {
		out = append(out, hookSource{b.Name, "secret_env of the board " + b.Name, nil, b.SecretEnv, onBoard(b.Name), board})
	}
	common := []string{s.GitHubSecret.Reveal(), s.GitHubSecretOld.Reveal()}
	out = append(out, hookSource{task.HostGitHub, Prefix + "GITHUB_WEBHOOK_SECRET", common, nil, onHost(task.HostGitHub), host})
	for _, h := range n.Hosts {
		out = append(out, hookSource{h.Name, "secret_env of the host " + h.Name, nil, h.SecretEnv, onHost(h.Name), host})
	}
	return out
}

func onBoard(name string) func(task.Project) bool {
	return func(p task.Project) bool { return p.Board == name }
}

func onHost(name string) func(task.Project) bool {
	return func(p task.Project) bool { return p.HostName() == name }
}

// HookSecrets gathers the secrets of webhooks: of each source the common ones, and those
// that the registry names for a project, read with getenv or from files that it names. An
// error names each variable that is missing or too short.
func (s Settings) HookSecrets(r projectfile.Registry, getenv func(string) string) (HookSecrets, error) {
	out, errs := HookSecrets{}, []error{}
	for _, from := range s.hookSources(r.Neighbours) {
		list, err := s.hookSecrets(r, from, getenv)
		out[from.name], errs = list, append(errs, err)
	}
	return out, errors.Join(errs...)
}

func (s Settings) hookSecrets(r projectfile.Registry, from hookSource, getenv func(string) string) (signature.Secrets, error) {
	out, errs := signature.Of(from.common...), []error{}
	read := func(name, whose, repo string) {
		value, err := s.namedSecret(getenv, name, whose)
		if err == nil {
			if err = long(value); err != nil {
				err = fmt.Errorf("%s (%s) %w", name, whose, err)
			}
		}
		out, errs = append(out, signature.Secret{Value: value, Repo: repo}), append(errs, err)
	}
	for _, name := range from.names {
		read(name, "webhooks of "+from.name, "")
	}
	lacking := false
	for _, p := range r.Projects.All() {
		if !from.serves(p) {
			continue
		}
		own := from.own(r.HookSecrets[p.Repo])
		lacking = lacking || len(own) == 0
		for _, name := range own {
			read(name, "webhooks of "+p.Repo, p.Repo)
		}
	}
	common := len(from.names) > 0 || len(from.common) > 0 && from.common[0] != ""
	if lacking && !common && !s.InsecureWebhooks {
		errs = append(errs, fmt.Errorf("%s is not set: webhooks would come from anybody (ORCH_INSECURE_WEBHOOKS=true takes them)",
			from.where))
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
	host, _ := v.neighbours.Host(p.Host)
	return credential.App{
		Host:        &appOfFile{id: c.AppID, file: c.AppKey, at: cmp.Or(host.URL, v.Settings.GitHubURL), with: v.Settings},
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
type appOfFile struct {
	id, file, at string
	with         Settings

	once   sync.Once
	client *github.Client
	err    error
}

func (a *appOfFile) open() (*github.Client, error) {
	a.once.Do(func() {
		key, err := os.ReadFile(a.file)
		if err != nil {
			a.err = err
			return
		}
		a.with.hideKey(string(key))
		app := &github.App{ID: a.id, Key: string(key)}
		a.client, a.err = github.New(github.Options{BaseURL: a.at, App: app, HTTPClient: a.with.client()})
	})
	return a.client, a.err
}

// MintToken implements credential.Host.
func (a *appOfFile) MintToken(ctx context.Context, repo string, permissions map[string]string) (string, time.Time, error) {
	c, err := a.open()
	if err != nil {
		return "", time.Time{}, err
	}
	return c.MintToken(ctx, repo, permissions)
}

// RevokeToken implements credential.Host.
func (a *appOfFile) RevokeToken(ctx context.Context, token string) error {
	c, err := a.open()
	if err != nil {
		return err
	}
	return c.RevokeToken(ctx, token)
}
