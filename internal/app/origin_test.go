package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// put writes a file and gives its name.
func put(t *testing.T, name, body string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(body), 0o600))
	return name
}

// shown is a line of the listing.
func shown(t *testing.T, name string, environ ...string) app.Setting {
	t.Helper()
	for _, s := range app.List(environ) {
		if s.Name == name {
			return s
		}
	}
	require.Fail(t, "no such setting")
	return app.Setting{}
}

// Each secret may be in a variable, a file that a variable names, or systemd's credentials,
// in this order.
func TestSecretsFromFiles(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "token"), "token-from-a-file-of-128-bits\n")
	put(t, filepath.Join(dir, "orch_plane_token"), "plane-token-of-systemd\r\n")
	put(t, filepath.Join(dir, "orch_github_token"), "not this one")
	put(t, filepath.Join(dir, "orch_plane_token_tester"), "tester-of-systemd")
	environ := []string{"ORCH_ADMIN_TOKEN_FILE=" + file, "CREDENTIALS_DIRECTORY=" + dir, "ORCH_GITHUB_TOKEN=github-token", "ORCH_GITHUB_TOKEN_FILE=/nowhere", "ORCH_PLANE_TOKEN_REVIEWER=reviewer", "ORCH_PLANE_TOKEN_SEC_AUDIT_FILE=" + file}
	s := load(t, environ)
	require.Equal(t, "token-from-a-file-of-128-bits", s.AdminToken.Reveal())
	require.Equal(t, "plane-token-of-systemd", s.Plane.Token.Reveal())
	require.Equal(t, "github-token", s.GitHub.Token.Reveal())
	require.False(t, s.Telegram.Token.IsSet())
	require.Equal(t, map[stage.Role]string{"sec-audit": "token-from-a-file-of-128-bits", stage.Tester: "tester-of-systemd", stage.Reviewer: "reviewer"}, s.Plane.Options().RoleTokens)
	for name, origin := range map[string]string{
		"ORCH_ADMIN_TOKEN": "file " + file, "ORCH_PLANE_TOKEN": "credential " + filepath.Join(dir, "orch_plane_token"), "ORCH_GITHUB_TOKEN": "environment",
		"ORCH_PLANE_TOKEN_SEC_AUDIT": "file " + file,
	} {
		require.Equal(t, origin, shown(t, name, environ...).Origin)
		require.Equal(t, "***", shown(t, name, environ...).Value)
	}
	_, err := app.Load([]string{"ORCH_LISTEN_FILE=/x"})
	require.ErrorContains(t, err, "ORCH_LISTEN_FILE is no setting", "what is no secret is in no file")
}

// What cannot be read ends the start, with the name of the setting and of the file, and
// without a word of what is in it.
func TestUnreadableSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		put(t, filepath.Join(dir, "empty"), "\n"):                          "it is empty, want the secret in one line",
		put(t, filepath.Join(dir, "large"), strings.Repeat("x", 64<<10+1)): "it has more than 65536 bytes",
		put(t, filepath.Join(dir, "lines"), "one\ntwo\n"):                  "it has more than one line",
		filepath.Join(dir, "none"):                                         "no such file",
		dir:                                                                "is a directory",
	} {
		_, err := app.Load([]string{"ORCH_PLANE_TOKEN_FILE=" + name, "ORCH_LOG_FORMAT=json"})
		require.ErrorContains(t, err, "ORCH_PLANE_TOKEN cannot be read from the file "+name+": "+want)
		require.NotContains(t, err.Error(), "two")
		line := shown(t, "ORCH_PLANE_TOKEN", "ORCH_PLANE_TOKEN_FILE="+name)
		require.Equal(t, app.Setting{Name: "ORCH_PLANE_TOKEN", Origin: "file " + name, Doc: line.Doc, Secret: true}, line)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "orch_plane_token"), 0o700))
	_, err := app.Load([]string{"CREDENTIALS_DIRECTORY=" + dir})
	require.ErrorContains(t, err, "ORCH_PLANE_TOKEN cannot be read from the file "+filepath.Join(dir, "orch_plane_token"))
}

// The secrets of projects may be in files too.
func TestSecretsOfProjectsFromFiles(t *testing.T) {
	r, err := projectfile.Parse("projects.yaml", []byte(projects))
	require.NoError(t, err)
	s := load(t, []string{"ORCH_PLANE_WEBHOOK_SECRET=common-of-the-board-of-128-bits", "ORCH_GITHUB_WEBHOOK_SECRET=common-of-the-host-of-128-bits"})
	dir := t.TempDir()
	env := map[string]string{
		"APP_HOOK_FILE": put(t, filepath.Join(dir, "hook"), "own-of-the-host-new-of-128-bits\n"), "APP_HOOK_OLD": "own-of-the-host-old-of-128-bits", "CREDENTIALS_DIRECTORY": dir,
	}
	put(t, filepath.Join(dir, "app_board"), "own-of-the-board-of-128-bits\n")
	all, err := s.HookSecrets(r, func(name string) string { return env[name] })
	require.NoError(t, err)
	require.Equal(t, [2]bool{true, false}, speaks(all["github"], "own-of-the-host-new-of-128-bits"))
	require.Equal(t, [2]bool{true, false}, speaks(all["plane"], "own-of-the-board-of-128-bits"))
	env["APP_HOOK_FILE"] = filepath.Join(dir, "none")
	_, err = s.HookSecrets(r, func(name string) string { return env[name] })
	require.ErrorContains(t, err, "APP_HOOK cannot be read from the file "+filepath.Join(dir, "none"))
}
