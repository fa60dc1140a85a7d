// Package credential gives single executions of an agent a secret of their own, which is minted
// when they begin and revoked when they end, whatever ends them.
//
// A Minter is a command of the operator, or an app of the git host. Before it is called, a record
// without the secret is written; what a killed service has left is revoked by it at the next start.
package credential

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// For is the execution that a credential is minted for. It is what the record of it keeps.
type For struct {
	ID       string      `json:"id"` // of the credential: made by the Link, and given to the Minter
	TaskID   int64       `json:"task_id"`
	WorkItem string      `json:"work_item"`
	Repo     string      `json:"repo"`
	Role     stage.Role  `json:"role"`
	Stage    stage.Stage `json:"stage"`
	Run      int64       `json:"run"`
	Attempt  int         `json:"attempt"`
}

// minted is a credential.
type minted struct {
	Secret  string
	Expires time.Time // zero = not known
}

// Minter makes credentials and ends them.
type Minter interface {
	Mint(ctx context.Context, f For) (minted, error)
	// Revoke ends one, also one that was never minted. The secret is empty when the service was
	// started anew since: ErrNeedsSecret reports that it cannot be ended without.
	Revoke(ctx context.Context, f For, secret string) error
}

// ErrNeedsSecret means that a credential can be revoked by its secret alone, which is not kept.
var ErrNeedsSecret = errors.New("it can be revoked by its secret alone, which is not kept; it ends by itself")

// Grant describes what an execution is to get.
type Grant struct {
	Env string // the variable that has the secret
	By  Minter
}

// Link gives executions their credentials. Its fields are set before it is used.
type Link struct {
	Dir string // of the records
	// Grant returns what a role of a repository gets; nil: nothing.
	Grant func(repo string, role stage.Role) *Grant
	Hide  func(secret string)                                  // hides it in all that leaves the service
	Note  func(ctx context.Context, taskID int64, text string) // writes into a task's story
	Log   *slog.Logger

	live sync.Map // ids of credentials of executions that live
}

// Bounds of a secret, in bytes. A shorter one cannot be hidden.
const (
	secretMin = 16
	secretMax = 8 << 10
)

// callMax is how long a Minter may take.
const callMax = 30 * time.Second

// Open implements agentcli.Link.
func (l *Link) Open(ctx context.Context, x agentcli.LinkedRun) (none agentcli.Opened, err error) {
	g := l.Grant(x.Repo, x.Role)
	if g == nil {
		return agentcli.Opened{Close: func() agentcli.Seen { return agentcli.Seen{} }}, nil
	}
	l.Sweep(ctx)
	f := For{
		ID:     fmt.Sprintf("signalbox-%d-%d-%d", x.TaskID, x.Run, x.Attempt),
		TaskID: x.TaskID, WorkItem: x.WorkItem, Repo: x.Repo,
		Role: x.Role, Stage: x.Stage, Run: x.Run, Attempt: x.Attempt,
	}
	l.live.Store(f.ID, true)
	if err := l.record(f); err != nil {
		l.live.Delete(f.ID)
		return none, fmt.Errorf("credential: %w", err)
	}
	minted, err := l.mint(ctx, g, f)
	unstopped := context.WithoutCancel(ctx)
	if err != nil {
		l.revoke(unstopped, g, f, minted.Secret)
		return none, fmt.Errorf("credential of the %s: %w", x.Role, err)
	}
	until := ""
	if !minted.Expires.IsZero() {
		until = ", until " + minted.Expires.UTC().Format(time.RFC3339)
	}
	l.Note(ctx, f.TaskID, fmt.Sprintf("%s was minted for run %d of the %s (fingerprint %.6x%s)",
		f.ID, f.Run, f.Role, sha256.Sum256([]byte(minted.Secret)), until))
	return agentcli.Opened{Env: map[string]string{g.Env: minted.Secret}, Close: func() agentcli.Seen {
		l.revoke(unstopped, g, f, minted.Secret)
		return agentcli.Seen{}
	}}, nil
}

// mint calls the Minter, and checks what it gives. The secret is hidden before anything is said.
func (l *Link) mint(ctx context.Context, g *Grant, f For) (minted, error) {
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	m, err := g.By.Mint(ctx, f)
	if m.Secret != "" {
		l.Hide(m.Secret)
	}
	switch {
	case err != nil:
		return m, err
	case len(m.Secret) < secretMin || len(m.Secret) > secretMax || strings.ContainsAny(m.Secret, "\x00\n\r"):
		return m, fmt.Errorf("what was minted is no secret of %d to %d bytes in one line: a shorter one cannot be hidden",
			secretMin, secretMax)
	}
	return m, nil
}

// revoke ends a credential. Where that fails its record stays for the next sweep.
func (l *Link) revoke(ctx context.Context, g *Grant, f For, secret string) {
	defer l.live.Delete(f.ID)
	ctx, cancel := context.WithTimeout(ctx, callMax)
	defer cancel()
	err := g.By.Revoke(ctx, f, secret)
	switch {
	case errors.Is(err, ErrNeedsSecret):
		l.Note(ctx, f.TaskID, fmt.Sprintf("%s of run %d could not be revoked: %v", f.ID, f.Run, err))
	case err != nil:
		l.Log.Error("a credential could not be revoked; it is tried again",
			"task", f.TaskID, "repo", f.Repo, "run", f.Run, "credential", f.ID, "err", err)
		return
	default:
		l.Note(ctx, f.TaskID, fmt.Sprintf("%s of run %d was revoked", f.ID, f.Run))
	}
	if err := os.Remove(l.file(f.ID)); err != nil {
		l.Log.Warn("the record of a credential cannot be removed", "task", f.TaskID, "repo", f.Repo, "credential", f.ID, "err", err)
	}
}

func (l *Link) file(id string) string { return filepath.Join(l.Dir, id+".json") }

func (l *Link) record(f For) error {
	body, _ := json.Marshal(f) // texts and numbers always encode
	if err := errors.Join(os.MkdirAll(l.Dir, 0o700), os.WriteFile(l.file(f.ID)+".new", body, 0o600)); err != nil {
		return err
	}
	return os.Rename(l.file(f.ID)+".new", l.file(f.ID))
}

// Sweep revokes what executions have left that live no more: of a service that was killed, or
// where revoking has failed.
func (l *Link) Sweep(ctx context.Context) {
	names, err := filepath.Glob(filepath.Join(l.Dir, "signalbox-*.json"))
	if err != nil {
		l.Log.Error("credentials cannot be looked for", "err", err)
		return
	}
	for _, name := range names {
		var f For
		body, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(body, &f)
		}
		if err != nil || l.file(f.ID) != name {
			l.Log.Error("the record of a credential cannot be read", "file", name, "err", err)
			continue
		}
		if _, lives := l.live.Load(f.ID); lives {
			continue
		}
		if g := l.Grant(f.Repo, f.Role); g != nil {
			l.revoke(ctx, g, f, "")
			continue
		}
		l.Log.Error("a credential was not revoked: the registry does not say by what any more",
			"task", f.TaskID, "repo", f.Repo, "credential", f.ID)
	}
}
