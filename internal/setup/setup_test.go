package setup_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/setup"
)

func git(t *testing.T, args ...string) string {
	t.Helper()
	return gittest.Run(t, "", args...)
}

// repository makes one, and works in it, with no setting in the environment.
func repository(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my.shop-2")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, app.Prefix) {
			unset(t, name)
		}
	}
	for _, name := range []string{"ORCH_TRACKER", "ORCH_AGENT", "ORCH_LISTEN", "ORCH_ADMIN_TOKEN", "ORCH_PUBLIC_URL", "ORCH_EGRESS"} {
		unset(t, name)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	git(t, "init", "--quiet", "--initial-branch=main")
	require.NoError(t, os.WriteFile("README", []byte("a shop\n"), 0o600))
	git(t, "add", "--all")
	git(t, "commit", "--quiet", "-m", "begin")
}

// unset takes a variable away until the test ends.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "")
	require.NoError(t, os.Unsetenv(name))
}

// attempt runs it with what a person types; without any, nobody is there.
func attempt(t *testing.T, o setup.Options, typed ...string) (said string, err error) {
	t.Helper()
	var out strings.Builder
	o.Out = &out
	if typed != nil {
		o.In = strings.NewReader(strings.Join(typed, ""))
	}
	err = setup.Run(t.Context(), o)
	return out.String(), err
}

func absent(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		require.NoFileExists(t, name)
	}
}

// A setup that is stopped at a question has written nothing, and begins again with it.
func TestQuestions(t *testing.T) {
	repository(t)
	answers := []string{"SHOP\n", "make test\n", "rehearse\n"}
	for n := range answers {
		_, err := attempt(t, setup.Options{}, append([]string{""}, answers[:n]...)...)
		require.ErrorIs(t, err, setup.ErrStopped)
		absent(t, "projects.yaml", app.EnvFile)
		require.NoDirExists(t, "data")
	}
	said := proposed(t, setup.Options{}, answers...)
	require.Contains(t, said, "Prefix of cards [MYSH]: Command that tests a commit, such as make test [none]: ")
	r := registry(t)
	p := r.Projects.All()[0]
	require.Equal(t, []string{"local/my.shop-2", "SHOP", "shop", "main", "git"}, []string{p.Repo, p.Prefix, p.TrackerProject, p.Main, p.Host})
	require.Equal(t, [][]string{{"make", "test"}}, p.CI)
	require.Equal(t, git(t, "rev-parse", "HEAD"), git(t, "-C", p.CloneURL, "rev-parse", "main"))
	require.Equal(t, "rehearse", os.Getenv("ORCH_AGENT"), "the settings are in the environment")
	require.Len(t, os.Getenv("ORCH_ADMIN_TOKEN"), 64)
	require.Equal(t, "allow-list", os.Getenv("ORCH_EGRESS"))
}

// A signal at a question ends it, although nothing more is typed.
func TestStoppedByASignal(t *testing.T) {
	repository(t)
	in, typist := io.Pipe()
	defer typist.Close()
	ctx, stop := context.WithCancel(t.Context())
	echo := true
	o := setup.Options{In: in, Out: io.Discard, Echo: func(on bool) {
		if echo = on; !on {
			stop()
		}
	}, Accounts: setup.Accounts{OnGitHub: github.OnGitHub{GitHub: true}}}
	unset(t, "ORCH_GITHUB_TOKEN")
	require.ErrorIs(t, setup.Run(ctx, o), setup.ErrStopped)
	require.True(t, echo, "what is typed next is seen")
	absent(t, "projects.yaml", app.EnvFile)
}

// What is there is kept, and what is missing is added behind it.
func TestWhatIsThereIsKept(t *testing.T) {
	repository(t)
	const mine = "# mine\nprojects:\n  - {tracker_project: other, host: git, repo: acme/other, clone_url: /srv/other.git, prefix: OTH}   # first"
	require.NoError(t, os.WriteFile("projects.yaml", []byte(mine), 0o600))
	require.NoError(t, os.WriteFile(app.EnvFile, []byte("ORCH_AGENT=claude # best"), 0o600))
	said := proposed(t, setup.Options{Agent: "rehearse"})
	require.Contains(t, said, "projects.yaml: has acme/other, with cards OTH-…; kept as it is\nsignalbox.env:1: ORCH_AGENT is claude # best: --agent is not taken: change it here\n.git/info/exclude: /signalbox.env, /data\nsignalbox.env: added ORCH_TRACKER, ORCH_ADMIN_TOKEN\n")
	require.NoDirExists(t, "data", "nothing was to be done with this repository")

	require.NoError(t, os.Unsetenv("ORCH_ADMIN_TOKEN"))
	said = proposed(t, setup.Options{Repo: "acme/shop", CI: "./test.sh 'a b'"})
	require.Contains(t, said, "projects.yaml: added acme/shop, with cards SHOP-…\n")
	body := contents(t, "projects.yaml")
	require.True(t, strings.HasPrefix(string(body), mine+"\n"), "%s", body)
	require.Equal(t, [][]string{{"./test.sh", "a b"}}, registry(t).Projects.All()[1].CI)
	body = contents(t, app.EnvFile)
	require.True(t, strings.HasPrefix(string(body), "ORCH_AGENT=claude # best\n"), "%s", body)
	require.Equal(t, 1, strings.Count(string(body), "ORCH_ADMIN_TOKEN="))
	require.NotContains(t, string(body), "ORCH_EGRESS", "what is at work goes on")
	require.Contains(t, git(t, "remote", "-v"), "signalbox")

	git(t, "commit", "--quiet", "--allow-empty", "-m", "of another owner")
	proposed(t, setup.Options{Repo: "bea/shop", Prefix: "BEA"})
	require.Equal(t, git(t, "rev-parse", "HEAD"), git(t, "-C", registry(t).Projects.All()[2].CloneURL, "rev-parse", "main"), "not acme/shop")

	const inline = "projects: [{tracker_project: other, host: git, repo: acme/other, clone_url: /srv/other.git, prefix: OTH}]\n"
	require.NoError(t, os.WriteFile("projects.yaml", []byte(inline), 0o600))
	_, err := attempt(t, setup.Options{Repo: "acme/shop"})
	require.ErrorContains(t, err, "the entry cannot be added: ")
	require.ErrorContains(t, err, "Add it yourself, if the file is to stay as it is:\n  - tracker_project: \"shop\"\n")
	body = contents(t, "projects.yaml")
	require.Equal(t, inline, string(body))
}

// What is wrong is said before anything is written.
func TestWrongAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		before func(t *testing.T)
		o      setup.Options
		wrong  string
	}{
		"no repository": {func(t *testing.T) { t.Helper(); t.Chdir(t.TempDir()) }, setup.Options{}, "this is no git repository: run it in one, or name one with --clone-url"},
		"no commit":     {func(t *testing.T) { t.Helper(); t.Chdir(t.TempDir()); git(t, "init", "--quiet") }, setup.Options{}, "has no commit: make a first one"},
		"no branch":     {func(t *testing.T) { t.Helper(); git(t, "checkout", "--quiet", "--detach") }, setup.Options{}, "has no branch checked out: git switch main"},
		"shallow": {func(t *testing.T) {
			t.Helper()
			require.NoError(t, os.WriteFile(".git/shallow", []byte(git(t, "rev-parse", "HEAD")), 0o600))
		}, setup.Options{}, "is a shallow clone: git fetch --unshallow"},
		"no such address": {nil, setup.Options{CloneURL: "/no/such.git"}, "--clone-url: the repository cannot be read: "},
		"no such main":    {nil, setup.Options{CloneURL: ".", Main: "trunk"}, "has no branch trunk: push a first commit to it, or name another"},
		"prefix":          {nil, setup.Options{Prefix: "shop"}, `prefix: is "shop", want capitals and digits such as GPX, at most 12`},
		"repo":            {nil, setup.Options{Repo: "shop"}, `repo: is "shop", want owner/name`},
		"ci":              {nil, setup.Options{CI: "make 'test"}, "--ci: a quote is not closed"},
		"agent":           {nil, setup.Options{Agent: `"`}, "--agent: a quote is not closed"},
		"wrong registry": {func(t *testing.T) {
			t.Helper()
			require.NoError(t, os.WriteFile("projects.yaml", []byte("projects: 1\n"), 0o600))
		}, setup.Options{}, "projects.yaml:1"},
		"open settings": {func(t *testing.T) {
			t.Helper()
			require.NoError(t, os.WriteFile(app.EnvFile, nil, 0o600))
			require.NoError(t, os.Chmod(app.EnvFile, 0o644))
		}, setup.Options{}, "chmod 600 signalbox.env"},
		"settings in repo": {func(t *testing.T) {
			t.Helper()
			require.NoError(t, os.WriteFile(app.EnvFile, nil, 0o600))
			git(t, "add", app.EnvFile)
		}, setup.Options{}, "signalbox.env is under version control"},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t)
			if c.before != nil {
				c.before(t)
			}
			had, _ := os.ReadFile("projects.yaml")
			_, err := attempt(t, c.o)
			require.ErrorContains(t, err, c.wrong)
			now, _ := os.ReadFile("projects.yaml")
			require.Equal(t, string(had), string(now))
			require.NoDirExists(t, "data")
			body, _ := os.ReadFile(app.EnvFile)
			require.Empty(t, body)
		})
	}
}

// A repository elsewhere: its address and its main branch are what counts.
func TestRepositoryElsewhere(t *testing.T) {
	repository(t)
	git(t, "clone", "--quiet", "--bare", ".", "../hub.git")
	git(t, "-C", "../hub.git", "branch", "--quiet", "-m", "main", "stable")
	hub, err := filepath.Abs("../hub.git")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	proposed(t, setup.Options{CloneURL: hub})
	r := registry(t)
	p := r.Projects.All()[0]
	require.Equal(t, []string{"local/hub", "stable", hub, "HUB"}, []string{p.Repo, p.Main, p.CloneURL, p.Prefix})
	require.NoDirExists(t, "data")
}

// What has secrets is in no commit of the repository, whatever its list of ignored files ends with, and also when the
// registry cannot be written.
func TestSecretsStayOut(t *testing.T) {
	repository(t)
	require.NoError(t, os.WriteFile(".git/info/exclude", []byte("*.log"), 0o600))
	t.Setenv("ORCH_PROJECTS", "no/such/projects.yaml")
	_, err := attempt(t, setup.Options{})
	require.ErrorContains(t, err, "no/such/")
	require.FileExists(t, app.EnvFile)
	require.Empty(t, git(t, "status", "--porcelain", "--untracked-files=all"))
}

// A registry that others read, at another place, is so after an entry was added.
func TestRegistryStaysWhereItIs(t *testing.T) {
	repository(t)
	const mine = "projects:\n  - {tracker_project: other, host: git, repo: acme/other, clone_url: /srv/other.git, prefix: OTH}\n"
	at := filepath.Join(t.TempDir(), "shared.yaml")
	require.NoError(t, os.WriteFile(at, []byte(mine), 0o600))
	require.NoError(t, os.Chmod(at, 0o640)) //nolint:gosec // a group reads it
	require.NoError(t, os.Symlink(at, "projects.yaml"))
	proposed(t, setup.Options{Repo: "acme/shop"})
	require.Contains(t, string(contents(t, at)), "acme/shop")
	info, err := os.Stat(at)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
}
