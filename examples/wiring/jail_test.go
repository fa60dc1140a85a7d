package wiring_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/examples/wiring"
)

// The jail's settings are refused by name when they would open what it closes.
func TestJailSettings(t *testing.T) {
	for want, setting := range map[string]string{
		"ORCH_JAIL is":                  "ORCH_JAIL=perhaps",
		"the port of ORCH_LISTEN":       "ORCH_JAIL_PORTS=443,8080",
		"the port of ORCH_HOOKS_LISTEN": "ORCH_JAIL_PORTS=443,8081",
		"ORCH_JAIL_PORTS":               "ORCH_JAIL_PORTS=0-70000",
		"ORCH_JAIL_READ has":            "ORCH_JAIL_READ=caches",
		"ORCH_AGENT_HOME has":           "ORCH_AGENT_HOME=../.ssh/id",
	} {
		_, err := wiring.Load([]string{"ORCH_HOOKS_LISTEN=127.0.0.1:8081", setting})
		require.ErrorContains(t, err, want)
	}
	_, err := wiring.Load([]string{"ORCH_JAIL_PORTS=443,8000-9000"})
	require.NoError(t, err, "its own port is left out of a range")
}

// Without a jail that was proven nothing is opened; /bin/true proves nothing.
func TestJailIsProvenOrRefused(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	projects := filepath.Join(dir, "projects.yaml")
	require.NoError(t, os.WriteFile(projects, []byte("projects:\n  - {tracker_project: p, repo: acme/app, clone_url: \"https://github.com/acme/app.git\", prefix: APP}\n"), 0o600))
	data := filepath.Join(dir, "data")
	require.NoError(t, os.Mkdir(data, 0o700))
	for want, settings := range map[string][]string{
		"the jail's self-test":            nil,
		"would open the data directory":   {"ORCH_JAIL_READ=" + dir},
		"ORCH_JAIL_WRITE":                 {"ORCH_JAIL_WRITE=" + filepath.Join(data, ".")},
		"would open the service's HOME":   {"ORCH_JAIL_READ=" + home},
		"no such file":                    {"ORCH_JAIL_WRITE=" + filepath.Join(dir, "caches")},
		"which agents must be able to":    {"ORCH_DATA_DIR=/usr"},
		"ORCH_JAIL=landlock: agents cann": {"ORCH_JAIL=landlock"},
	} {
		s, err := wiring.Load(append([]string{
			"ORCH_DATA_DIR=" + data, "ORCH_PROJECTS=" + projects, "ORCH_PLANE_URL=https://plane.example.org", "ORCH_PLANE_WORKSPACE=acme", "ORCH_PLANE_TOKEN=t",
			"ORCH_PLANE_WEBHOOK_SECRET=plane-webhook-secret", "ORCH_GITHUB_TOKEN=t", "ORCH_GITHUB_WEBHOOK_SECRET=github-webhook-secret", "ORCH_AGENT=/bin/true",
		}, settings...))
		require.NoError(t, err)
		_, err = wiring.Open(t.Context(), s, []string{"/bin/true"}, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, want)
	}
}
