package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

const entry = `  - {tracker_project: p, repo: acme/app, clone_url: "https://github.com/acme/app.git", prefix: APP}
`

// ready returns the words of /readyz and of the log.
func ready(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, localRequest("/readyz"))
	return w.Body.String()
}

// ping is the answer to a webhook of a repository, signed with a secret.
func ping(h http.Handler, repo, secret string) int {
	body := `{"ref":"refs/heads/main","before":"` + strings.Repeat("a", 40) + `","after":"` + strings.Repeat("b", 40) + `","repository":{"full_name":"` + repo + `"},"sender":{"login":"kim"}}`
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/webhooks/githost", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "push")
	r.Header.Set("X-GitHub-Delivery", secret)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// A registry is taken whole or not at all.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hook")
	t.Setenv("NEW_HOOK_FILE", file)
	v := open(t, "ORCH_SERIAL_GATE_REPOS=acme/app")
	write := func(text string) {
		t.Helper()
		put(t, v.Settings.Projects, "projects:\n"+text)
	}
	const more = `  - {tracker_project: n, repo: acme/new, clone_url: u, prefix: NEW, githost_secret_env: [NEW_HOOK]}
`
	for text, want := range map[string]string{
		entry + more: "NEW_HOOK cannot be read from the file",
		entry + "  - {tracker_project: n, repo: acme/new, clone_url: u, prefix: NEW, wip: -1}\n":                    "projects.yaml:3: project 2 (acme/new): wip: is -1",
		entry + "  - {tracker_project: n, repo: acme/new, clone_url: u, prefix: NEW, gates: {review: [nothing]}}\n": `projects.yaml:3: project 2 (acme/new): gates: "nothing" at review is no check`,
		strings.ReplaceAll(entry, "acme/app", "acme/moved"):                                                         `ORCH_SERIAL_GATE_REPOS names "acme/app", which is not in`,
		"": "no project is registered",
	} {
		write(text)
		_, err := v.Reload(t.Context())
		require.ErrorContains(t, err, want)
		require.Len(t, v.Projects.All(), 1)
		require.Contains(t, ready(t, v.Handler), "not in force")
	}
	require.Equal(t, http.StatusUnauthorized, ping(v.Handler, "acme/new", "secret-of-the-new-one-of-128-bits"))

	write(entry + more)
	put(t, file, "secret-of-the-new-one-of-128-bits")
	got, err := v.Reload(t.Context())
	require.NoError(t, err)
	require.Equal(t, web.Reloaded{Projects: 2, Added: []string{"acme/new"}, Removed: []string{}}, got)
	require.NotContains(t, ready(t, v.Handler), "not in force")
	_, known := v.Engine.Projects.ByRepo("acme/new")
	require.True(t, known)

	answers := func(secrets ...string) (out []int) {
		for _, s := range secrets {
			out = append(out, ping(v.Handler, "acme/new", s))
		}
		return out
	}
	require.Equal(t, []int{200, 403, 401}, answers("secret-of-the-new-one-of-128-bits", "github-webhook-secret-of-128-bits", "secret-of-tomorrow-of-128-bits"))
	require.Equal(t, http.StatusOK, ping(v.Handler, "acme/app", "github-webhook-secret-of-128-bits"))

	put(t, file, "secret-of-tomorrow-of-128-bits")
	got, err = v.Reload(t.Context())
	require.NoError(t, err)
	require.Equal(t, web.Reloaded{Projects: 2, Added: []string{}, Removed: []string{}}, got)
	require.Equal(t, []int{401, 403, 200}, answers("secret-of-the-new-one-of-128-bits", "github-webhook-secret-of-128-bits", "secret-of-tomorrow-of-128-bits"))
	write(entry)
	got, err = v.Reload(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"acme/new"}, got.Removed)
}

// Settings that can change while the service runs do; others are named; a wrong file changes
// nothing.
func TestReloadOfSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "signalbox.yaml")
	const base = "proxy_user_header: X-User\nproxy_users_from: [192.0.2.0/24]\npoll: 2s\n"
	put(t, file, base+"access_roles: [ann=operator]\n")
	v := open(t, "ORCH_CONFIG="+file)
	var log strings.Builder
	logger := v.Settings.Logger(&log)
	reads := func() int {
		r := localRequest("/queue")
		r.RemoteAddr = "192.0.2.7:1"
		r.Header.Set("X-User", "ann")
		w := httptest.NewRecorder()
		v.Handler.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, http.StatusForbidden, reads())

	put(t, file, base+"access_roles: [\"user:ann=viewer\"]\nlog_level: debug\nmax_concurrency: 7\nadmin_token: the-token-of-somebody-else-1-2-3\n")
	out, err := v.Reload(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"ORCH_ACCESS_ROLES", "ORCH_LOG_LEVEL"}, out.Settings)
	require.Equal(t, []string{"ORCH_ADMIN_TOKEN", "ORCH_MAX_CONCURRENCY"}, out.Restart)
	require.Equal(t, http.StatusOK, reads())
	logger.Debug("a detail")
	require.Contains(t, log.String(), "a detail")

	put(t, file, base+"access_roles: [ann=operator]\nlog_level: loud\n")
	_, err = v.Reload(t.Context())
	require.EqualError(t, err, file+`:5: log_level is "loud", want debug, info, warn or error`)
	require.Equal(t, http.StatusOK, reads(), "the ones before stay in force")
	require.Contains(t, ready(t, v.Handler), "the settings file was changed and is not in force, because it is wrong: "+file+":5: ")

	put(t, file, base+"access_roles: [\"user:ann=viewer\"]\nlog_level: warn\n")
	out, err = v.Reload(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"ORCH_LOG_LEVEL"}, out.Settings)
	require.Empty(t, out.Restart, "they are as at the start again")
	logger.Info("no news")
	require.NotContains(t, log.String(), "no news")
	require.NotContains(t, ready(t, v.Handler), "the settings file")
}
