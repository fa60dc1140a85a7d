package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A file has what the environment does not say, as the environment would say it.
func TestSettingsFile(t *testing.T) {
	dir := t.TempDir()
	token := put(t, filepath.Join(dir, "token"), "plane-token-of-a-file")
	name := put(t, filepath.Join(dir, "box.yaml"), `# settings of this server
listen: 127.0.0.1:9
max_concurrency: 3
reconcile_enabled: false
agent_retry_delays: [1s, 2m]
hosts:
  - box.example.org
  - forge.example.org
access_roles: ["devs=operator@acme/app+acme/web", "*=viewer"]
oidc_issuer: https://id.example.org
oidc_client_id: box
public_url: "https://box.example.org"
reconcile_grace: development:10m,review:1h
budget_task_usd: 2.50
telegram_chat_id: -100200
plane_token: of the settings file
plane_token_stream: stream-token-of-the-file
telegram_token: telegram-token-of-the-file
github_app_id: 1
github_app_key: |
  -----BEGIN KEY-----
  abc
  -----END KEY-----
`)
	environ := []string{"ORCH_CONFIG=" + name, "ORCH_MAX_CONCURRENCY=5", "ORCH_PLANE_TOKEN_FILE=" + token}
	s := load(t, environ)
	require.Equal(t, "127.0.0.1:9", s.Listen)
	require.Equal(t, 5, s.Engine.MaxConcurrency, "the environment goes first")
	require.Equal(t, "plane-token-of-a-file", s.Plane.Token.Reveal(), "and the file that it names")
	require.Equal(t, "stream-token-of-the-file", s.Plane.Tokens[stage.Stream].Reveal())
	require.False(t, s.Features.Reconcile)
	require.Len(t, s.Engine.AgentRetries, 2)
	require.Equal(t, []string{"box.example.org", "forge.example.org"}, s.Hosts)
	require.Len(t, s.AccessRoles, 2)
	require.Len(t, s.Features.Reconciler.Grace, 2)
	require.Equal(t, "-100200", s.Telegram.ChatID)
	require.Equal(t, "-----BEGIN KEY-----\nabc\n-----END KEY-----\n", s.GitHub.AppKey.Reveal())
	for setting, origin := range map[string]string{
		"ORCH_LISTEN": name + ":2", "ORCH_HOSTS": name + ":6", "ORCH_MAX_CONCURRENCY": "environment", "ORCH_PLANE_TOKEN": "file " + token, "ORCH_TELEGRAM_TOKEN": name + ":18", "ORCH_POLL": "default",
	} {
		require.Equal(t, origin, shown(t, setting, environ...).Origin, setting)
	}
	require.Equal(t, "***", shown(t, "ORCH_TELEGRAM_TOKEN", environ...).Value)
}

// What is wrong in a file is named with its line and its key.
func TestWrongSettingsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"listen: x\nmax_concurency: 2\n":   "signalbox.yaml:2: max_concurency is no setting of this program; did you mean max_concurrency? (config lists all, without ORCH_ and in lower case here)",
		"ORCH_DATA_DIR: x\n":               "signalbox.yaml:1: ORCH_DATA_DIR is no setting of this program; did you mean data_dir?",
		"\nmax_concurrency: two\n":         `signalbox.yaml:2: max_concurrency is "two": write a whole number such as 2`,
		"max_concurrency: 0\n":             "signalbox.yaml:1: max_concurrency is 0, want at least 1",
		"max_concurrency: [1, 2]\n":        "signalbox.yaml:1: max_concurrency is a list, want one value",
		"hosts: {a: b}\n":                  "signalbox.yaml:1: hosts has a value of another form",
		"hosts: [\"a,b\"]\n":               `signalbox.yaml:1: hosts has an entry with a comma, "a,b": make entries of it`,
		"budget_task_usd: much\n":          `signalbox.yaml:1: budget_task_usd: "much", want an amount in dollars`,
		"listen:\n":                        "signalbox.yaml:1: listen has no value",
		"listen: a\npoll: 1s\nlisten: b\n": "signalbox.yaml:3: ",
		"config: other.yaml\n":             "signalbox.yaml:1: config names this file: set ORCH_CONFIG in the environment",
		"- listen\n":                       "signalbox.yaml:1: want settings, as listen: 127.0.0.1:8080",
		"listen: \"x\n":                    "signalbox.yaml:1: ",
		"listen: x\nadmin_token: a-token-that-is-long-1-2-3": "signalbox.yaml:2: admin_token is a secret, and all users may read the file: chmod o-r signalbox.yaml, or put the secret into a file of its own (ORCH_ADMIN_TOKEN_FILE)",
	} {
		put(t, "signalbox.yaml", text)
		require.NoError(t, os.Chmod("signalbox.yaml", 0o644))
		_, err := app.Load(nil)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "1-2-3")
	}
	put(t, "signalbox.yaml", "max_concurency: 2\npoll: never\nlog_levels: info\n")
	_, err := app.Load(nil)
	require.ErrorContains(t, err, "signalbox.yaml:3: log_levels", "all of them are named")
	require.NoError(t, os.Chmod("signalbox.yaml", 0o666))
	_, err = app.Load(nil)
	require.EqualError(t, err, "signalbox.yaml has the mode 0666, and may be written by others: chmod o-w signalbox.yaml")
}

// One file is read: the one that ORCH_CONFIG names, or that of the working directory.
func TestWhichSettingsFile(t *testing.T) {
	t.Chdir(t.TempDir())
	other := put(t, "other.yaml", "listen: other:1\n")
	listen := func(environ ...string) string {
		t.Helper()
		return load(t, environ).Listen
	}
	require.Equal(t, "127.0.0.1:8080", listen())
	put(t, "signalbox.yaml", "listen: here:1\nlog_level: warn\n")
	require.Equal(t, "here:1", listen())
	require.Equal(t, "other:1", listen("ORCH_CONFIG="+other))
	require.Equal(t, "default", shown(t, "ORCH_LOG_LEVEL", "ORCH_CONFIG="+other).Origin)
	require.Equal(t, "127.0.0.1:8080", listen("ORCH_CONFIG=none"))
	put(t, "signalbox.yaml", "# nothing yet\n")
	require.Equal(t, "127.0.0.1:8080", listen())
	_, err := app.Load([]string{"ORCH_CONFIG=missing.yaml"})
	require.ErrorContains(t, err, "ORCH_CONFIG: open missing.yaml: no such file")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown("signalbox.yaml", 12345, 12345))
		_, err = app.Load(nil)
		require.ErrorContains(t, err, "signalbox.yaml belongs to another user")
	}
}
