package app_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/internal/app"
)

// TestMain lets the test's own program be the shim of a jail.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "shim-of-test" || os.Args[1] == "agent-shim") {
		os.Exit(agentcli.RunShim())
	}
	os.Exit(m.Run())
}

// The jail's settings are refused by name when they would open what it closes.
func TestJailSettings(t *testing.T) {
	for want, setting := range map[string]string{
		"ORCH_JAIL is":                  "ORCH_JAIL=perhaps",
		"the port of ORCH_LISTEN":       "ORCH_JAIL_PORTS=443,8080",
		"the port of ORCH_HOOKS_LISTEN": "ORCH_JAIL_PORTS=443,8081",
		"ORCH_JAIL_PORTS":               "ORCH_JAIL_PORTS=0-70000",
		"ORCH_JAIL_READ has":            "ORCH_JAIL_READ=caches",
		"ORCH_AGENT_HOME has":           "ORCH_AGENT_HOME=../.ssh/id",
		"ORCH_JAIL_IMAGE is missing":    "ORCH_JAIL=container",
		"ORCH_JAIL_IMAGE is":            "ORCH_JAIL_IMAGE=--privileged",
		"ORCH_JAIL_CGROUP is":           "ORCH_JAIL_CGROUP=agents",
		"ORCH_JAIL_MEMORY_MB is 8":      "ORCH_JAIL_MEMORY_MB=8",
		"ORCH_JAIL_PROCESSES is 2":      "ORCH_JAIL_PROCESSES=2",
		"ORCH_JAIL_CPU_WEIGHT is":       "ORCH_JAIL_CPU_WEIGHT=10001",
	} {
		_, err := app.Load([]string{"ORCH_HOOKS_LISTEN=127.0.0.1:8081", setting})
		require.ErrorContains(t, err, want)
	}
	_, err := app.Load([]string{"ORCH_JAIL_PORTS=443,8000-9000"})
	require.NoError(t, err, "its own port is left out of a range")
	require.Empty(t, load(t, []string{"ORCH_JAIL_PORTS=none"}).JailPorts)
}

// Without a jail that was proven nothing is opened; /bin/true proves nothing.
func TestJailIsProvenOrRefused(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	projects := filepath.Join(dir, "projects.yaml")
	put(t, projects, "projects:\n  - {tracker_project: p, repo: acme/app, clone_url: \"https://github.com/acme/app.git\", prefix: APP}\n")
	data := filepath.Join(dir, "data")
	tools := filepath.Join(dir, "go")
	t.Setenv("PATH", os.Getenv("PATH")+":"+filepath.Join(tools, "bin"))
	require.NoError(t, errors.Join(os.Mkdir(data, 0o700), os.Mkdir(tools, 0o700)))
	for want, settings := range map[string][]string{
		"the jail's self-test":            nil,
		"would open the data directory":   {"ORCH_JAIL_READ=" + dir},
		"ORCH_JAIL_WRITE":                 {"ORCH_JAIL_WRITE=" + filepath.Join(data, ".")},
		"put programs there":              {"ORCH_JAIL_WRITE=" + tools},
		"would open the service's HOME":   {"ORCH_JAIL_READ=" + home},
		"no such file":                    {"ORCH_JAIL_WRITE=" + filepath.Join(dir, "caches")},
		"which agents must be able to":    {"ORCH_DATA_DIR=/usr"},
		"ORCH_JAIL=landlock: agents cann": {"ORCH_JAIL=landlock"},
		"ORCH_JAIL_CGROUP: /tmp is no":    {"ORCH_JAIL_CGROUP=/tmp"},
		"there is no /no/such/engine":     {"ORCH_JAIL=container", "ORCH_JAIL_IMAGE=agents", "ORCH_JAIL_ENGINE=/no/such/engine"},
	} {
		s, err := app.Load(append([]string{
			"ORCH_DATA_DIR=" + data, "ORCH_PROJECTS=" + projects, "ORCH_PLANE_URL=https://plane.example.org", "ORCH_PLANE_WORKSPACE=acme", "ORCH_PLANE_TOKEN=t",
			"ORCH_PLANE_WEBHOOK_SECRET=plane-webhook-secret-of-128-bits", "ORCH_GITHUB_TOKEN=t", "ORCH_GITHUB_WEBHOOK_SECRET=github-webhook-secret-of-128-bits", "ORCH_AGENT=/bin/true",
		}, settings...))
		require.NoError(t, err)
		_, err = app.Open(t.Context(), s, []string{"/bin/true"}, slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, want)
	}
}

// Auto takes the best jail that there is, and says what there is not; with no program for
// namespaces that is Landlock alone.
func TestAutoTakesWhatIsProven(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	shim := []string{self, "shim-of-test"}
	walls := func(settings ...string) (string, string, error) {
		dir := t.TempDir()
		s := load(t, append([]string{"ORCH_DATA_DIR=" + filepath.Join(dir, "data"), "ORCH_JAIL_CGROUP=none"}, settings...))
		return s.Walls(t.Context(), shim)
	}
	kind, said, err := walls("ORCH_JAIL=landlock")
	require.NoError(t, err)
	require.Equal(t, "landlock", kind)
	require.Contains(t, said, "proven by a process that tried to get out")
	best := "landlock"
	if kind, said, err = walls("ORCH_JAIL=bwrap"); err == nil {
		best = "bwrap"
		require.Equal(t, "bwrap", kind)
		require.Contains(t, said, "bwrap, Landlock ABI")
	}
	kind, _, err = walls()
	require.NoError(t, err)
	require.Equal(t, best, kind)
	kind, _, err = walls("ORCH_JAIL_UNIX_SOCKETS=true")
	require.NoError(t, err)
	require.Equal(t, "landlock", kind, "a socket that is not listed could not be reached in namespaces")
	t.Chdir(t.TempDir()) // the default data directory is relative
	kind, _, err = walls("ORCH_DATA_DIR=data")
	require.NoError(t, err)
	require.Equal(t, best, kind)
	t.Setenv("PATH", t.TempDir())
	kind, said, err = walls("ORCH_JAIL_IMAGE=agents")
	require.NoError(t, err)
	require.Equal(t, "landlock", kind)
	require.Contains(t, said, "no container (there is no podman or docker")
	require.Contains(t, said, "no bwrap (bubblewrap is not installed")
	_, _, err = walls("ORCH_JAIL=bwrap")
	require.ErrorContains(t, err, "ORCH_JAIL=bwrap: agents cannot be confined here: bubblewrap is not installed")
}
