package setup_test

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/adapters/labelboard"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/setup"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// forge is a Gitea with a repository, and what init is called with.
func forge(t *testing.T) (*forgetest.Server, setup.Options) {
	t.Helper()
	repository(t)
	for _, name := range []string{"GITEA_WEBHOOK_SECRET", "BOARD_WEBHOOK_SECRET", "ORCH_GITHUB_TOKEN"} {
		unset(t, name)
	}
	t.Setenv("GITEA_TOKEN", "gitea-token")
	server := forgetest.NewGitea(forgetest.Options{Token: "gitea-token"})
	bare, err := filepath.Abs("../shop.git")
	require.NoError(t, err)
	git(t, "clone", "--quiet", "--bare", ".", bare)
	require.NoError(t, server.AddRepo("acme/shop", bare))
	server.SetSettings("acme/shop", func(s *forgetest.Settings) { s.Admin = true })
	server.SetStatus("acme/shop", git(t, "rev-parse", "HEAD"), "build", "success")
	outer := httptest.NewServer(server)
	t.Cleanup(func() { outer.Close(); server.Close() })
	return server, setup.Options{Agent: "rehearse", Repo: "acme/shop", CloneURL: bare, PublicURL: "https://box.example.org", Accounts: setup.Accounts{
		OnGitea: gitea.OnGitea{Gitea: outer.URL + "/"}, OnLabels: labelboard.OnLabels{Labels: true},
	}}
}

// examine returns doctor's words about the working directory.
func examine(t *testing.T, e app.Examination) (said string, wrong int) {
	t.Helper()
	s, err := app.Load(append(os.Environ(), "ORCH_JAIL=none", "ORCH_GPS_TRACKS_ENABLED=false"))
	require.NoError(t, err)
	require.NoError(t, s.Prepare())
	v, err := app.Open(t.Context(), s, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, v.Close()) }()
	var out strings.Builder
	wrong = app.Examine(t.Context(), v, e, app.ReportTo(&out))
	return out.String(), wrong
}

// A team whose only account is one at its git host has a board there: init writes the
// registry, and doctor makes the labels and the webhooks.
func TestGiteaWithLabels(t *testing.T) {
	server, o := forge(t)
	said := proposed(t, o)
	require.Contains(t, said, `acme/shop: main is main, checks: ["build"]`)
	require.NotContains(t, said, "gitea-token")
	r := registry(t)
	p := r.Projects.All()[0]
	require.Equal(t, []string{"issues:acme/shop", "issues", "gitea", "SHOP", "build"}, []string{p.TrackerProject, p.Board, p.Host, p.Prefix, p.Contexts[0]})

	said, wrong := examine(t, app.Examination{})
	require.Equal(t, 2, wrong, said) // columns and the webhook
	require.Contains(t, said, "the board lacks")
	require.Contains(t, said, "webhooks: none is registered to https://box.example.org/webhooks/gitea")
	for range 2 {
		said, wrong = examine(t, app.Examination{Fix: true})
		require.Zero(t, wrong, said)
		require.Len(t, server.Settings("acme/shop").Hooks, 2, "of the host and of its issues, once")
	}
	server.SetSettings("acme/shop", func(s *forgetest.Settings) { s.Admin = false })
	said, wrong = examine(t, app.Examination{Fix: true})
	require.Zero(t, wrong, said)
	require.Contains(t, said, "webhooks: one of the board to https://box.example.org/webhooks/issues cannot be registered")
	require.Contains(t, said, "SHOP         every board status has a column")
	for i, label := range server.Issues().Labels("acme/shop") {
		require.Equal(t, "status/"+cards.Columns()[i+1].Name, label.Name, "columns are made in the order in which cards meet them")
	}
	require.Len(t, server.Issues().Labels("acme/shop"), len(stage.Statuses()))

	said = proposed(t, setup.Options{})
	require.Contains(t, said, "projects.yaml: has acme/shop, with cards SHOP-…; kept as it is")
	require.NotContains(t, said, "not taken")

	o.Prefix, o.Main, o.CI, o.Agent = "OTHER", "trunk", "make test", "claude"
	said = proposed(t, o)
	for _, want := range []string{
		"projects.yaml:11: project 1 (acme/shop): main: --main is not taken", "projects.yaml:12: project 1 (acme/shop): prefix: --prefix is not taken",
		"projects.yaml:13: project 1 (acme/shop): ci: --ci is not taken", "signalbox.env:6: ORCH_AGENT is rehearse: --agent is not taken",
	} {
		require.Contains(t, said, want)
	}
	require.Equal(t, 4, strings.Count(said, "not taken"), said)
}

// What init was given by the environment the next shell has too, from a file that nobody else reads.
func TestTokensOfTheEnvironmentAreKept(t *testing.T) {
	_, o := forge(t)
	proposed(t, o)
	pairs, err := app.ReadEnvFile(app.EnvFile) // refuses one that others may read
	require.NoError(t, err)
	require.Contains(t, pairs, "GITEA_TOKEN=gitea-token")
}

// Where nothing reports on main no card waits for CI, unless a file there configures one.
func TestNothingReports(t *testing.T) {
	for name, c := range map[string]struct {
		file, command, wrote, said string
	}{
		"no CI":               {"README", "", "    ci: none\n", "nothing reports on main, and no file there configures a CI: ci is none"},
		"a command in place":  {"README", "make test", "    ci: none\n    verify: [[\"make\",\"test\"]]\n", "ci is none"},
		"a workflow is there": {".gitea/workflows/test.yaml", "", "    ci: any\n", "nothing has reported on main yet: cards wait for the first check that does"},
	} {
		t.Run(name, func(t *testing.T) {
			_, o := forge(t)
			require.NoError(t, os.MkdirAll(filepath.Dir(c.file), 0o700))
			require.NoError(t, os.WriteFile(c.file, []byte("another\n"), 0o600))
			git(t, "add", "--all")
			git(t, "commit", "--quiet", "-m", "on which nothing has reported")
			git(t, "push", "--quiet", o.CloneURL, "main")
			o.CI = c.command
			said := proposed(t, o)
			require.Contains(t, said, c.said)
			require.Contains(t, string(contents(t, "projects.yaml")), c.wrote)
		})
	}
}

// What is wrong at the forge is said, by init and by doctor, with where it is mended.
func TestGiteaMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, s *forgetest.Server, o *setup.Options)
		want string
	}{
		"the token": {func(t *testing.T, _ *forgetest.Server, _ *setup.Options) {
			t.Helper()
			t.Setenv("GITEA_TOKEN", "wrong")
		}, "GITEA_TOKEN is refused"},
		"no Gitea":       {func(_ *testing.T, _ *forgetest.Server, o *setup.Options) { o.Gitea = "http://127.0.0.1:1" }, "--gitea: Gitea does not answer"},
		"the repository": {func(_ *testing.T, _ *forgetest.Server, o *setup.Options) { o.Repo = "acme/other" }, "--repo: the token sees no repository acme/other"},
		"two boards":     {func(_ *testing.T, _ *forgetest.Server, o *setup.Options) { o.Plane = true }, "--labels and --plane are two boards"},
		"two hosts":      {func(_ *testing.T, _ *forgetest.Server, o *setup.Options) { o.GitHub = true }, "--github and --gitea are two git hosts"},
		"labels alone":   {func(_ *testing.T, _ *forgetest.Server, o *setup.Options) { o.Gitea = "" }, "--labels: there are no issues without a git host"},
		"may not push": {func(_ *testing.T, s *forgetest.Server, _ *setup.Options) {
			s.SetSettings("acme/shop", func(x *forgetest.Settings) { x.Push, x.Admin = false, false })
		}, "the token may read acme/shop and not push to it"},
	} {
		t.Run(name, func(t *testing.T) {
			server, o := forge(t)
			c.make(t, server, &o)
			_, err := attempt(t, o)
			require.ErrorContains(t, err, c.want)
			absent(t, "projects.yaml", app.EnvFile)
		})
	}
}

// Doctor examines a forge as it does GitHub.
func TestGiteaIsExamined(t *testing.T) {
	for name, c := range map[string]struct {
		make func(s *forgetest.Server)
		want string
	}{
		"archived":          {func(s *forgetest.Server) { change(s, func(x *forgetest.Settings) { x.Archived = true }) }, "is archived"},
		"may not push":      {func(s *forgetest.Server) { change(s, func(x *forgetest.Settings) { x.Push, x.Admin = false, false }) }, "may read acme/shop and not push to it"},
		"no way of merging": {func(s *forgetest.Server) { change(s, func(x *forgetest.Settings) { x.Methods = nil }) }, "allows no method of merging"},
		"a column is gone":  {func(s *forgetest.Server) { s.Issues().DeleteLabel("acme/shop", "status/Approved") }, "the board lacks Approved"},
	} {
		t.Run(name, func(t *testing.T) {
			server, o := forge(t)
			proposed(t, o)
			said, wrong := examine(t, app.Examination{Fix: true})
			require.Zero(t, wrong, said)
			c.make(server)
			said, wrong = examine(t, app.Examination{})
			require.Positive(t, wrong, said)
			require.Contains(t, said, c.want)
		})
	}
}

func change(s *forgetest.Server, f func(*forgetest.Settings)) { s.SetSettings("acme/shop", f) }
