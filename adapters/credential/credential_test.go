package credential_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/credential"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

const value = "a-secret-of-this-run-alone"

// kit is a Link whose minter is a real program, which keeps a file for each credential that lives.
type kit struct {
	*credential.Link
	dir    string
	hidden []string
	notes  []string
}

func newKit(t *testing.T, dir, mint string) *kit {
	t.Helper()
	k := &kit{dir: dir}
	program := func(name, body string) []string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nset -e\ncd "+dir+"\n"+body), 0o700))
		return []string{path, "x"}
	}
	by := credential.Command{
		MintArgv:   program("mint", "env >env; touch live-$SIGNALBOX_CREDENTIAL_ID\n"+mint),
		RevokeArgv: program("revoke", "test ! -e refuse\nrm -f live-$SIGNALBOX_CREDENTIAL_ID\n"),
	}
	k.Link = &credential.Link{
		Dir: filepath.Join(dir, "records"), Log: slog.New(slog.DiscardHandler), Hide: func(s string) { k.hidden = append(k.hidden, s) },
		Note: func(_ context.Context, _ int64, text string) { k.notes = append(k.notes, text) },
		Grant: func(repo string, role stage.Role) *credential.Grant {
			if role != stage.Deployer || repo != "acme/app" {
				return nil
			}
			return &credential.Grant{Env: "DEPLOY_TOKEN", By: by}
		},
	}
	return k
}

func (k *kit) live(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(k.dir, "live-*"))
	require.NoError(t, err)
	return list
}

func (k *kit) records(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(k.dir, "records", "*"))
	require.NoError(t, err)
	return list
}

func deploying() agentcli.LinkedRun {
	return agentcli.LinkedRun{Command: work.Command{TaskID: 7, WorkItem: "APP-7", Repo: "acme/app", Role: stage.Deployer, Stage: stage.Deploy, Run: 3, Attempt: 1}}
}

// A deployer's run has its secret and nobody else has one; it ends with the run.
func TestLifeOfACredential(t *testing.T) {
	t.Setenv("ORCH_GITHUB_TOKEN", "the service's own")
	for name, mint := range map[string]string{
		"text": "echo " + value, "json": `echo '{"secret":"` + value + `","expires_at":"2026-01-02T15:04:05Z"}'`,
	} {
		k := newKit(t, t.TempDir(), mint)
		o, err := k.Open(t.Context(), deploying())
		require.NoError(t, err)
		require.Equal(t, map[string]string{"DEPLOY_TOKEN": value}, o.Env)
		require.Equal(t, []string{value}, k.hidden)
		require.Len(t, k.live(t), 1)
		require.Len(t, k.records(t), 1)
		record, err := os.ReadFile(k.records(t)[0])
		require.NoError(t, err)
		require.NotContains(t, string(record), value)
		env, err := os.ReadFile(filepath.Join(k.dir, "env"))
		require.NoError(t, err)
		require.Contains(t, string(env), "SIGNALBOX_REPO=acme/app\n")
		require.NotContains(t, string(env), "the service's own")
		k.Sweep(t.Context())
		require.Len(t, k.live(t), 1, "it lives")
		o.Close()
		require.Empty(t, k.live(t))
		require.Empty(t, k.records(t))
		require.Len(t, k.notes, 2)
		require.Contains(t, k.notes[0], "signalbox-7-3-1 was minted for run 3 of the deployer (fingerprint ")
		require.Equal(t, name == "json", strings.Contains(k.notes[0], "until 2026-01-02T15:04:05Z"))
		require.Equal(t, "signalbox-7-3-1 of run 3 was revoked", k.notes[1])
		require.NotContains(t, strings.Join(k.notes, ""), value)
	}
	k := newKit(t, t.TempDir(), "echo "+value)
	x := deploying()
	x.Role = stage.Developer
	o, err := k.Open(t.Context(), x)
	require.NoError(t, err)
	require.Empty(t, o.Env)
	o.Close()
	require.NoFileExists(t, filepath.Join(k.dir, "env"), "nothing was minted")
}

// What cannot be minted starts no run, and what may have been minted is revoked.
func TestNotMinted(t *testing.T) {
	t.Parallel()
	for mint, want := range map[string]string{
		"echo broken >&2; exit 3": "mint: exit status 3: broken", "echo short": "no secret of 16 to 8192 bytes", "true": "no secret of",
		`echo '{"secret": 1}'`: "want the secret alone, or", "printf '%s\\n%s' " + value + " " + value: "in one line",
		"head -c 100000 /dev/zero | tr '\\0' x": "no secret of", "exec sleep 60": "deadline exceeded",
	} {
		k := newKit(t, t.TempDir(), mint)
		most := time.Minute
		if strings.Contains(want, "deadline") {
			most = 200 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), most)
		_, err := k.Open(ctx, deploying())
		cancel()
		require.ErrorContains(t, err, want, mint)
		require.Empty(t, k.live(t), mint)
		require.Empty(t, k.records(t), mint)
	}
}

// What a killed service has left, and what could not be revoked, is revoked by the next one.
func TestLeftCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := newKit(t, dir, "echo "+value)
	_, err := k.Open(t.Context(), deploying()) // and it is killed
	require.NoError(t, err)
	next := newKit(t, dir, "echo "+value)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "refuse"), nil, 0o600))
	next.Sweep(t.Context())
	require.Len(t, next.live(t), 1, "it could not be revoked")
	require.Len(t, next.records(t), 1)
	require.NoError(t, os.Remove(filepath.Join(dir, "refuse")))
	x := deploying()
	x.Run = 4
	o, err := next.Open(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "live-signalbox-7-4-1")}, next.live(t), "the next run's alone is there")
	o.Close()
	require.Empty(t, next.live(t))
	require.Empty(t, next.records(t))
}

// host is a git host's app.
type host struct{ minted, revoked []string }

func (h *host) MintToken(_ context.Context, repo string, permissions map[string]string) (string, time.Time, error) {
	h.minted = append(h.minted, repo+" "+permissions["contents"])
	return value, time.Unix(1, 0), nil
}

func (h *host) RevokeToken(_ context.Context, token string) error {
	h.revoked = append(h.revoked, token)
	return nil
}

// An app's token ends by itself: without it nothing can revoke it.
func TestApp(t *testing.T) {
	t.Parallel()
	h := &host{}
	a := credential.App{Host: h, Path: func(string) string { return "there/app" }, Permissions: map[string]string{"contents": "write"}}
	m, err := a.Mint(t.Context(), credential.For{Repo: "acme/app"})
	require.NoError(t, err)
	require.Equal(t, []string{"there/app write"}, h.minted)
	require.NoError(t, a.Revoke(t.Context(), credential.For{}, m.Secret))
	require.Equal(t, []string{value}, h.revoked)
	require.ErrorIs(t, a.Revoke(t.Context(), credential.For{}, ""), credential.ErrNeedsSecret)
}
