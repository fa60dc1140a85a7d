package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// twoHosts is the clinic with a second host and a second board, which have a repository of
// the same name; its name here is another one.
func twoHosts(t *testing.T) (c *clinic, registry string) {
	c = newClinic(t)
	second := forgetest.NewGitHub(forgetest.Options{Token: "forge-token"})
	board := planetest.New(planetest.Options{Workspace: "product", Tokens: map[string]string{"product-token": "bot"}})
	require.NoError(t, second.AddRepo("acme/app", c.bare))
	second.SetCheckRun("acme/app", c.head, "build", "completed", "success")
	var columns []string
	for _, s := range stage.Statuses() {
		columns = append(columns, s.Name)
	}
	project := board.AddProject("FRG", columns...)
	forge, plane := httptest.NewServer(second), httptest.NewServer(board)
	t.Cleanup(func() { forge.Close(); plane.Close(); second.Close(); board.Close() })
	t.Setenv("FORGE_TOKEN", "forge-token")
	t.Setenv("FORGE_HOOK", "forge-webhook-secret-of-128-bits")
	t.Setenv("PRODUCT_TOKEN", "product-token")
	t.Setenv("PRODUCT_HOOK", "product-webhook-secret")
	return c, fmt.Sprintf(`
hosts:
  - {name: forge, kind: github, url: %q, clone_base: "https://forge.example.org/", token_env: FORGE_TOKEN, secret_env: [FORGE_HOOK]}
boards:
  - {name: product, kind: plane, url: %q, workspace: product, token_env: PRODUCT_TOKEN, secret_env: [PRODUCT_HOOK]}
projects:
  - {tracker_project: %s, repo: acme/app, clone_url: %s, prefix: APP, ci: [build]}
  - {board: product, tracker_project: %s, host: forge, repo: forge/app, path: acme/app, clone_url: %s, prefix: FRG, ci: [build]}
`, forge.URL, plane.URL, c.project, c.bare, project, c.bare)
}

func (c *clinic) open(registry string) *app.Service {
	v := c.start(registry)
	c.Cleanup(func() { require.NoError(c, v.Close()) })
	return v
}

// start opens a service, which its caller closes.
func (c *clinic) start(registry string) *app.Service {
	require.NoError(c, os.WriteFile(c.env["PROJECTS"], []byte(registry), 0o600))
	var settings []string
	for name, value := range c.env {
		settings = append(settings, app.Prefix+name+"="+value)
	}
	s := load(c, settings)
	v, err := app.Open(c.Context(), s, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
	require.NoError(c, err)
	return v
}

// Two hosts and two boards are examined each with its own credentials.
func TestTwoHostsAreExamined(t *testing.T) {
	c, registry := twoHosts(t)
	said, _ := c.examined(registry, app.Examination{})
	for _, want := range []string{"ok    forge ", "ok    github ", "ok    FRG          the token may push to forge/app", "ok    product      the tokens are accepted by http", "ok    FRG          bot may change cards", "ok    FRG          every board status has a column", "ok    APP          every board status has a column"} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "forge-token")
	said, _ = c.examined(strings.Replace(registry, "product, tracker_project: ", "product, tracker_project: x", 1), app.Examination{})
	require.Regexp(t, `FRG .*; correct tracker_project in .*: the token sees .* \(FRG\)`, said, "a project of that board")

	v := c.open(registry)
	_, err := v.Reload(t.Context())
	require.NoError(t, err)
	put(t, c.env["PROJECTS"], strings.Replace(registry, "https://forge.example.org/", "https://git.example.org/", 1))
	_, err = v.Reload(t.Context())
	require.ErrorContains(t, err, "hosts or boards are others than at the start")
}

// A webhook speaks for the repositories of its own host alone, whoever has the name there.
func TestWebhooksOfTwoHosts(t *testing.T) {
	c, registry := twoHosts(t)
	v := c.open(registry)
	n := 0
	post := func(source, secret string) (int, string) {
		n++
		body := fmt.Appendf(nil, `{"repository":{"full_name":"acme/app"},"sha":"%040d","state":"success","context":"build","branches":[]}`, n)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/webhooks/"+source, strings.NewReader(string(body)))
		for k, value := range map[string]string{"Content-Type": "application/json", "X-GitHub-Event": "status", "X-GitHub-Delivery": fmt.Sprint(n), "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))} {
			r.Header.Set(k, value)
		}
		w := httptest.NewRecorder()
		v.Handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, one := range []struct {
		source, secret string
		want           int
	}{
		{"forge", "forge-webhook-secret-of-128-bits", http.StatusAccepted}, {"github", "github-webhook-secret-of-128-bits", http.StatusAccepted}, {"githost", "github-webhook-secret-of-128-bits", http.StatusAccepted},
		{"forge", "github-webhook-secret-of-128-bits", http.StatusUnauthorized}, {"githost", "forge-webhook-secret-of-128-bits", http.StatusUnauthorized}, {"gitlab", "forge-webhook-secret-of-128-bits", http.StatusNotFound},
	} {
		code, body := post(one.source, one.secret)
		require.Equal(t, one.want, code, "%s %s", one.source, body)
	}
	waiting := map[string]int{}
	jobs, err := v.DB.Jobs(t.Context(), queue.Filter{})
	require.NoError(t, err)
	for _, j := range jobs {
		waiting[j.Lane]++
	}
	require.Equal(t, map[string]int{"acme/app": 2, "forge/app": 1}, waiting)
}
