package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/credential"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

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
