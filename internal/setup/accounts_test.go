package setup_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/setup"
)

// offices are servers that speak the protocols of Plane and GitHub, and what is right there.
type offices struct {
	board   *planetest.Server
	host    *forgetest.Server
	project string
	bare    string
	o       setup.Options
}

func open(t *testing.T) *offices {
	t.Helper()
	repository(t)
	for _, name := range []string{"ORCH_PLANE_URL", "ORCH_PLANE_WORKSPACE", "ORCH_PLANE_WEBHOOK_SECRET", "ORCH_GITHUB_URL", "ORCH_GITHUB_WEBHOOK_SECRET", "ORCH_GITHUB_CLONE_BASE"} {
		unset(t, name)
	}
	t.Setenv("ORCH_PLANE_TOKEN", "plane-token")
	t.Setenv("ORCH_GITHUB_TOKEN", "github-token")
	f := &offices{
		board: planetest.New(planetest.Options{Workspace: "team", Tokens: map[string]string{"plane-token": "bot"}}),
		host:  forgetest.NewGitHub(forgetest.Options{Token: "github-token"}),
	}
	bare, err := filepath.Abs("../shop.git")
	require.NoError(t, err)
	git(t, "clone", "--quiet", "--bare", ".", bare)
	git(t, "remote", "add", "origin", "git@github.com:acme/shop.git")
	require.NoError(t, f.host.AddRepo("acme/shop", bare))
	f.host.SetCheckRun("acme/shop", git(t, "rev-parse", "HEAD"), "build", "completed", "success")
	f.project, f.bare = f.board.AddProject("SHOP", "Backlog", "Done"), bare
	mux := http.NewServeMux()
	mux.Handle("/plane/", http.StripPrefix("/plane", f.board))
	mux.Handle("/github/", http.StripPrefix("/github", f.host))
	outer := httptest.NewServer(mux)
	t.Cleanup(func() { outer.Close(); f.board.Close(); f.host.Close() })
	f.o = setup.Options{Agent: "rehearse", PublicURL: "https://box.example.org", CloneURL: bare, Accounts: setup.Accounts{
		OnPlane:  plane.OnPlane{Plane: true, PlaneURL: outer.URL + "/plane", PlaneWorkspace: "team"},
		OnGitHub: github.OnGitHub{GitHub: true, GitHubURL: outer.URL + "/github"},
	}}
	return f
}

// What the accounts know is read, and the rest is written.
func TestPlaneAndGitHub(t *testing.T) {
	f := open(t)
	said := proposed(t, f.o)
	require.Contains(t, said, `acme/shop: main is main, checks: ["build"]`)
	require.NotContains(t, said, "-token")
	r := registry(t)
	p := r.Projects.All()[0]
	require.Equal(t, []string{f.project, "acme/shop", f.bare, "main", "SHOP", "build"}, []string{p.TrackerProject, p.Repo, p.CloneURL, p.Main, p.Prefix, p.Contexts[0]})
	require.False(t, p.Plain())
	pairs, err := app.ReadEnvFile(app.EnvFile)
	require.NoError(t, err)
	s, err := app.Load(append(pairs, "ORCH_PLANE_TOKEN=plane-token", "ORCH_GITHUB_TOKEN=github-token"))
	require.NoError(t, err)
	_, _, err = s.ReadRegistry()
	require.NoError(t, err)
	require.NotEqual(t, s.Plane.Secret.Reveal(), s.GitHub.Secret.Reveal())
	require.Contains(t, s.Clicks()[0], "make a webhook for work items (issues) to https://box.example.org/webhooks/tracker")
	before := contents(t, app.EnvFile)
	said = proposed(t, setup.Options{})
	require.Contains(t, said, "projects.yaml: has acme/shop, with cards SHOP-…; kept as it is\nsignalbox.env: complete, nothing was changed\n")
	require.Equal(t, string(before), string(contents(t, app.EnvFile)))
}

// Without a terminal everything that only a person knows is named at once; on one it is asked
// for, and a token is typed unseen.
func TestWhatIsMissing(t *testing.T) {
	f := open(t)
	unset(t, "ORCH_PLANE_TOKEN")
	unset(t, "ORCH_GITHUB_TOKEN")
	_, err := attempt(t, setup.Options{Accounts: setup.Accounts{OnPlane: plane.OnPlane{Plane: true}, OnGitHub: github.OnGitHub{GitHub: true}}})
	require.EqualError(t, err, "nobody is there to answer, and this is missing:\n"+
		"  --plane-url: Address of Plane, such as https://plane.example.org\n"+
		"  --plane-workspace: Slug of the workspace, as in Plane's addresses\n"+
		"  ORCH_PLANE_TOKEN (in the environment): Token of Plane (profile settings, API tokens, at Plane)\n"+
		"  ORCH_GITHUB_TOKEN (in the environment): Token of GitHub that may write contents and pull requests (https://github.com/settings/personal-access-tokens)")
	absent(t, "projects.yaml", app.EnvFile)

	f.board.AddProject("WEB", "Backlog")
	_, err = attempt(t, f.withTokens(t))
	require.ErrorContains(t, err, "this is missing:\n  --plane-project: Project of Plane: SHOP, WEB")
	absent(t, "projects.yaml", app.EnvFile)

	unset(t, "ORCH_PLANE_TOKEN")
	shown, seen := true, []bool{}
	o := f.o
	o.Prefix, o.Echo = "S", func(on bool) { shown = on; seen = append(seen, on) }
	proposed(t, o, "plane-token\n", "web\n")
	require.True(t, shown)
	require.Equal(t, []bool{false, true}, seen)
	require.Contains(t, string(contents(t, app.EnvFile)), "\nORCH_PLANE_TOKEN=plane-token\n", "serve finds it")
}

// withTokens are the options, with the tokens in the environment.
func (f *offices) withTokens(t *testing.T) setup.Options {
	t.Helper()
	t.Setenv("ORCH_PLANE_TOKEN", "plane-token")
	t.Setenv("ORCH_GITHUB_TOKEN", "github-token")
	return f.o
}

// What is wrong at the accounts is said at once, with where it is mended, and nothing is written.
func TestWrongAccounts(t *testing.T) {
	for name, c := range map[string]struct {
		make  func(t *testing.T, f *offices)
		wants []string
	}{
		"Plane's token":  {func(t *testing.T, _ *offices) { t.Helper(); t.Setenv("ORCH_PLANE_TOKEN", "wrong") }, []string{"ORCH_PLANE_TOKEN is refused", "tokens are made in the profile settings (API tokens) at http://"}},
		"no Plane":       {func(_ *testing.T, f *offices) { f.o.PlaneURL += "/nowhere" }, []string{"ORCH_PLANE_URL is no Plane"}},
		"workspace":      {func(_ *testing.T, f *offices) { f.o.PlaneWorkspace = "other" }, []string{"--plane-workspace: the workspace other cannot be read", "its slug stands in the addresses of its pages at http://"}},
		"project":        {func(_ *testing.T, f *offices) { f.o.PlaneProject = "My Project" }, []string{`--plane-project: the token sees no project "My Project", but SHOP`}},
		"GitHub's token": {func(t *testing.T, _ *offices) { t.Helper(); t.Setenv("ORCH_GITHUB_TOKEN", "wrong") }, []string{"ORCH_GITHUB_TOKEN is refused", "make one at http://"}},
		"no GitHub":      {func(_ *testing.T, f *offices) { f.o.GitHubURL = "http://127.0.0.1:1" }, []string{"--github-url: GitHub does not answer: "}},
		"repository":     {func(_ *testing.T, f *offices) { f.o.Repo = "acme/chop" }, []string{"--repo: the token sees no repository acme/chop", "correct the name, or give the token access to it at http://"}},
		"right to push": {func(_ *testing.T, f *offices) {
			f.host.SetSettings("acme/shop", func(s *forgetest.Settings) { s.Push = false })
		}, []string{"the token may read acme/shop and not push to it: give it write access to contents and pull requests at http://"}},
		"main":             {func(_ *testing.T, f *offices) { f.o.Main = "trunk" }, []string{"--main: acme/shop has no branch trunk: push a first commit to it, or name another"}},
		"address of Plane": {func(_ *testing.T, f *offices) { f.o.PlaneURL = "plane" }, []string{"plane: "}},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			c.make(t, f)
			_, err := attempt(t, f.o)
			for _, want := range c.wants {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "-token")
			absent(t, "projects.yaml", app.EnvFile)
		})
	}
}
