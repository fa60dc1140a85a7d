package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What protects the edge cannot be short; the error names the setting and the mend.
func TestShortSecrets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ORCH_ADMIN_TOKEN", "ORCH_PLANE_WEBHOOK_SECRET", "ORCH_PLANE_WEBHOOK_SECRET_OLD", "ORCH_GITHUB_WEBHOOK_SECRET", "ORCH_GITHUB_WEBHOOK_SECRET_OLD"} {
		for value, bits := range map[string]int{"sixteen-bytes-ok": 96, "0123456789abcdef0123456789abcde": 124, "a long pass phrase!": 124, "31415926535897932384626433832795028841": 126} {
			_, err := app.Load([]string{name + "=" + value})
			require.ErrorContains(t, err, fmt.Sprintf("%s has at most %d bits, want at least 128", name, bits))
			require.ErrorContains(t, err, "openssl rand -hex 32")
			require.NotContains(t, err.Error(), value)
		}
		for _, value := range []string{"0123456789abcdef0123456789abcdef", "AAECAwQFBgcICQoLDA0ODw", "a long pass phrase !", "\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f"} {
			_, err := app.Load([]string{name + "=" + value})
			require.NoError(t, err, value)
		}
	}
}

// projects is a registry of two repositories, of which the first has secrets of its own.
const projects = `projects:
  - {tracker_project: p1, repo: acme/app, clone_url: u, prefix: APP, githost_secret_env: [APP_HOOK, APP_HOOK_OLD], tracker_secret_env: [APP_BOARD]}
  - {tracker_project: p2, repo: acme/two, clone_url: u, prefix: TWO}
`

func TestSecretsOfProjects(t *testing.T) {
	t.Parallel()
	r, err := projectfile.Parse("projects.yaml", []byte(projects))
	require.NoError(t, err)
	s := load(t, []string{"ORCH_PLANE_WEBHOOK_SECRET=common-of-the-board-of-128-bits", "ORCH_GITHUB_WEBHOOK_SECRET=common-of-the-host-of-128-bits", "ORCH_GITHUB_WEBHOOK_SECRET_OLD=common-until-now-of-128-bits"})
	env := map[string]string{"APP_HOOK": "own-of-the-host-new-of-128-bits", "APP_HOOK_OLD": "own-of-the-host-old-of-128-bits", "APP_BOARD": "own-of-the-board-of-128-bits"}
	all, err := s.HookSecrets(r, func(name string) string { return env[name] })
	require.NoError(t, err)
	for secret, want := range map[string][2]bool{ // speaks for acme/app, acme/two
		"common-of-the-host-of-128-bits": {false, true}, "common-until-now-of-128-bits": {false, true}, "own-of-the-host-new-of-128-bits": {true, false}, "own-of-the-host-old-of-128-bits": {true, false},
		"own-of-the-board-of-128-bits": {false, false}, "common-of-the-board-of-128-bits": {false, false},
	} {
		require.Equal(t, want, speaks(all["github"], secret), secret)
	}
	require.Equal(t, [2]bool{true, false}, speaks(all["plane"], "own-of-the-board-of-128-bits"))
	require.Equal(t, [2]bool{false, true}, speaks(all["plane"], "common-of-the-board-of-128-bits"))

	s.GitHub.Token, s.Plane.Tokens = secret.New("t"), map[stage.Role]secret.String{"auditor": secret.New("t")}
	require.EqualError(t, s.CheckNames(r), `ORCH_PLANE_TOKEN_<ROLE>: there is no role "auditor" in the pipeline`)
	r.Pipeline.Stages[3].Role = "auditor"
	require.NoError(t, s.CheckNames(r))

	env["APP_HOOK"], env["APP_HOOK_OLD"] = "short", ""
	_, err = s.HookSecrets(r, func(name string) string { return env[name] })
	require.ErrorContains(t, err, "APP_HOOK (webhooks of acme/app) has at most 25 bits, want at least 128")
	require.ErrorContains(t, err, "APP_HOOK_OLD is not set: projects.yaml names it for the webhooks of acme/app")

	env["APP_HOOK"], env["APP_HOOK_OLD"], s.AgentEnv = "own-of-the-host-new-of-128-bits", "own-of-the-host-old-of-128-bits", []string{"APP_*"}
	_, err = s.HookSecrets(r, func(name string) string { return env[name] })
	require.ErrorContains(t, err, "ORCH_AGENT_ENV lets agents see APP_HOOK, which projects.yaml names for the webhooks of acme/app")
	s.AgentEnv = nil

	s.GitHub.Secret, s.Plane.Secret = secret.String{}, secret.String{}
	_, err = s.HookSecrets(r, func(string) string { return strings.Repeat("x", 32) })
	require.ErrorContains(t, err, "ORCH_GITHUB_WEBHOOK_SECRET is not set", "acme/two has none of its own")
	r, err = projectfile.Parse("projects.yaml", []byte(projects[:strings.Index(projects, "  - {tracker_project: p2")]))
	require.NoError(t, err)
	_, err = s.HookSecrets(r, func(string) string { return strings.Repeat("x", 32) })
	require.NoError(t, err, "nobody needs the common one")
	r.HookSecrets["acme/app"] = projectfile.HookSecrets{Host: []string{"ORCH_HOOK"}, Tracker: []string{"APP_BOARD"}}
	_, err = s.HookSecrets(r, func(string) string { return strings.Repeat("x", 32) })
	require.ErrorContains(t, err, "ORCH_HOOK")
}

func speaks(s signature.Secrets, secret string) (out [2]bool) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("body"))
	c := s.Check(mac.Sum(nil))
	_, _ = c.Write([]byte("body"))
	return [2]bool{c.SpeaksFor("acme/app"), c.SpeaksFor("acme/two")}
}

// Settings can be printed: what is secret in them does not show.
func TestSettingsPrintNoSecret(t *testing.T) {
	t.Parallel()
	var environ []string
	for _, s := range app.List(nil) {
		if s.Secret {
			environ = append(environ, strings.Replace(s.Name, "<ROLE>", "STREAM", 1)+"=postgres://canary-of-the-settings/n")
		}
	}
	require.Greater(t, len(environ), 10)
	s := load(t, append(environ, "ORCH_TELEGRAM_CHAT_ID=1", "ORCH_GITHUB_APP_ID=1", "ORCH_SLACK_CHANNEL=C1", "ORCH_PROXY_USER_HEADER=X-User", "ORCH_PROXY_USERS_FROM=127.0.0.1/32", "ORCH_ACCESS_ROLES=*=viewer", "ORCH_EVENTS_URL=https://canary-of-the-settings/n", "ORCH_OTLP_URL=https://canary-of-the-settings/n"))
	require.Equal(t, "postgres://canary-of-the-settings/n", s.Plane.Tokens[stage.Stream].Reveal())
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", s, &s, s), "canary")
}
