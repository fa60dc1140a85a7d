package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/setup"
)

// What tests a repository is found by its files: it is the default of the question, and a hint where nobody is there.
func TestHowItIsTested(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"Makefile":     {"build:\n\ttrue\ntest: build\n\ttrue\n", "make test"},
		"go.mod":       {"module x\n", "go test ./..."},
		"package.json": {`{"scripts": {"test": "true"}}`, "npm test"},
		"README":       {"test: by hand\n", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t)
			require.NoError(t, os.WriteFile(name, []byte(c.body), 0o600))
			said, err := attempt(t, setup.Options{}, "SHOP\n")
			require.ErrorIs(t, err, setup.ErrStopped)
			require.Contains(t, said, "Command that tests a commit, such as make test ["+c.want+"]: ")
			said = proposed(t, setup.Options{Agent: "rehearse"})
			require.Equal(t, c.want != "none", strings.Contains(said, "nothing tests commits: --ci '"+c.want), said)
			require.True(t, registry(t).Projects.All()[0].WithoutCI(), "nobody has agreed to it")
		})
	}
}

// Of the tools that are installed one is taken that somebody is signed in at.
func TestToolOfTheDefault(t *testing.T) {
	repository(t)
	bin, home := t.TempDir(), t.TempDir()
	for _, tool := range []string{"claude", "codex"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"), 0o700)) //nolint:gosec // it is a program
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", home)
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY"} {
		unset(t, name)
	}
	said := proposed(t, setup.Options{}, "SHOP\n", "none\n", "\n")
	require.Contains(t, said, "[claude]: ")
	require.Contains(t, said, "nobody seems to be signed in at claude")

	repository(t)
	require.NoError(t, os.Mkdir(filepath.Join(home, ".codex"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".codex", "auth.json"), []byte("{}"), 0o600))
	said = proposed(t, setup.Options{}, "SHOP\n", "none\n", "\n")
	require.Contains(t, said, "[codex]: ")
	require.NotContains(t, said, "signed in")
}

// A repository that was cloned from GitHub ends there where a token is set, and says how it could where none is.
func TestClonedFromGitHub(t *testing.T) {
	f := open(t)
	o := f.o
	t.Setenv("ORCH_GITHUB_URL", o.GitHubURL)
	o.GitHub, o.GitHubURL, o.Plane, o.CloneURL = false, "", false, ""
	proposed(t, o)
	r := registry(t)
	require.Equal(t, "acme/shop", r.Projects.All()[0].Repo)
	require.Equal(t, "github", r.Projects.All()[0].HostName())

	require.NoError(t, os.Remove("projects.yaml"))
	require.NoError(t, os.Remove(app.EnvFile))
	unset(t, "ORCH_GITHUB_TOKEN")
	for origin, told := range map[string]bool{
		"https://github.com/acme/shop": true, "ssh://git@github.com:22/acme/shop": true, "https://notgithub.com/acme/shop": false,
		"/srv/github.com/acme": false,
	} {
		git(t, "remote", "set-url", "origin", origin)
		said := proposed(t, setup.Options{Agent: "rehearse"})
		require.Equal(t, told, strings.Contains(said, "the repository was cloned from GitHub"), "%s: %s", origin, said)
	}
}

func contents(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	return body
}

func registry(t *testing.T) projectfile.Registry {
	t.Helper()
	r, err := projectfile.Load("projects.yaml")
	require.NoError(t, err)
	return r
}

// proposed is an attempt that succeeds.
func proposed(t *testing.T, o setup.Options, typed ...string) string {
	t.Helper()
	said, err := attempt(t, o, typed...)
	require.NoError(t, err)
	return said
}
