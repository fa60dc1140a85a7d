package command

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// sourced is the command that imports from a board.
func sourced(t *testing.T, env ...string) func(args ...string) (int, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "projects.yaml")
	require.NoError(t, os.WriteFile(file, []byte("projects:\n  - {tracker_project: p, repo: acme/app, clone_url: u, prefix: APP}\n"), 0o600))
	for _, one := range append(env, "ORCH_PROJECTS="+file, "ORCH_TRACKER=board", "ORCH_DATA_DIR="+t.TempDir()) {
		name, value, _ := strings.Cut(one, "=")
		t.Setenv(name, value)
	}
	return func(args ...string) (int, string) {
		var out bytes.Buffer
		return Run(append([]string{"card", "import"}, args...), &out, &out), out.String()
	}
}

func listed(t *testing.T, own cards.Board) (out []cards.Story) {
	t.Helper()
	list, err := own.Cards(t.Context(), cards.Filter{})
	require.NoError(t, err)
	for _, c := range list {
		story, err := own.Story(t.Context(), c.ID)
		require.NoError(t, err)
		out = append(out, story)
	}
	return out
}

func serving(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// The work items of Plane become cards once, with what was said on them; what is over stays there, and people's changes here stay.
func TestCardsComeFromPlane(t *testing.T) {
	own, _ := importer(t)
	now := time.Date(2031, 5, 4, 8, 0, 0, 0, time.UTC)
	p := planetest.New(planetest.Options{Workspace: "team", Tokens: map[string]string{"bot-token": "bot"}, Now: func() time.Time { return now }})
	t.Cleanup(p.Close)
	project := p.AddProject("GPX", "Backlog", "Done")
	p.AddMember(planetest.Member{ID: planetest.Human, Name: "Ann *Lee*", Role: planetest.Normal})
	add := func(name, html string) string {
		id, err := p.AddItem(project, name, html)
		require.NoError(t, err)
		return id
	}
	first := add("First, with a comma", "<p>Why <strong>now</strong></p><ul><li>one</li></ul>")
	add("Second", "")
	require.NoError(t, p.Move(add("Over", ""), "Done"))
	p.SetLabels(first, "fix", "a, b")
	require.NoError(t, p.Say(first, "It is late."))
	imports := sourced(t, "ORCH_PLANE_URL="+serving(t, p), "ORCH_PLANE_WORKSPACE=team", "ORCH_PLANE_TOKEN=bot-token")
	settings, err := app.Load(os.Environ())
	require.NoError(t, err)
	b, err := settings.OpenSource(t.Context(), "plane", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = b.AddComment(t.Context(), tracker.NewComment{ProjectID: project, ItemID: first, Key: "k", Body: "The task is taken up."})
	require.NoError(t, err)

	code, said := imports("--from", "plane", "--project", project, "--dry-run")
	require.Zero(t, code, said)
	require.Contains(t, said, "backlog First, with a comma (plane/"+first+"; 1 comments; labels: fix, a b)")
	require.Empty(t, listed(t, own), "a dry run makes none")
	for range 2 {
		code, said = imports("--from", "plane", "--project", project)
		require.Zero(t, code, said)
		list := listed(t, own)
		require.Len(t, list, 2)
		require.Equal(t, []string{"First, with a comma", "fix, a b", "Second"}, []string{list[0].Title, list[0].Labels, list[1].Title})
		require.Contains(t, list[0].Description, "Why **now**\n\n- one\n\n---\n\nFrom plane, [#1](http://")
		require.Contains(t, list[0].Description, "> **Ann Lee**, 2031-05-04 08:00:00Z:\n>\n> It is late.")
		require.NotContains(t, list[0].Description, "taken up", "what a service has said there")
		p.Edit(first, "Renamed there", "")
	}
	code, said = imports("--from", "plane", "--project", project, "--over")
	require.Zero(t, code, said)
	require.Len(t, listed(t, own), 3)

	code, said = imports("--from", "plane", "--project", "0000")
	require.NotZero(t, code)
	require.Contains(t, said, "no card was made")
	code, said = imports("--from", "jira", "--project", "x")
	require.NotZero(t, code)
	require.Contains(t, said, `there is no board or host "jira", want one of`)
	code, _ = imports("--from", "plane")
	require.Equal(t, exitUsage, code)
}

// A mistake on the way makes no card at all.
func TestNothingIsHalfImported(t *testing.T) {
	own, _ := importer(t)
	p := planetest.New(planetest.Options{Workspace: "team", Tokens: map[string]string{"bot-token": "bot"}})
	t.Cleanup(p.Close)
	project := p.AddProject("GPX", "Backlog")
	for _, text := range []string{"fine", strings.Repeat("too long ", cards.TextMax/8)} {
		_, err := p.AddItem(project, text[:4], "<p>"+text+"</p>")
		require.NoError(t, err)
	}
	imports := sourced(t, "ORCH_PLANE_URL="+serving(t, p), "ORCH_PLANE_WORKSPACE=team", "ORCH_PLANE_TOKEN=bot-token")
	code, said := imports("--from", "plane", "--project", project)
	require.NotZero(t, code)
	require.Contains(t, said, fmt.Sprintf("item 2: its text with its comments is longer than %d characters", cards.TextMax))
	require.Empty(t, listed(t, own))
}

// Issues of GitHub become cards, and no pull request does.
func TestCardsComeFromGitHub(t *testing.T) {
	own, _ := importer(t)
	bare := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bare, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	g := forgetest.NewGitHub(forgetest.Options{Token: "bot-token", Poll: time.Hour})
	t.Cleanup(g.Close)
	require.NoError(t, g.AddRepo("acme/shop", bare))
	issues := g.Issues()
	issues.AddPerson(forgetest.Person{Login: "kim"})
	issues.AddLabel("acme/shop", "bug")
	n := issues.Open("acme/shop", "kim", "The map is blank", "## Steps\n\n1. open it")
	require.NoError(t, issues.Label("acme/shop", n, "kim", "bug"))
	require.NoError(t, issues.Say("acme/shop", n, "kim", "since **yesterday**\nnot before"))
	issues.SetOpen("acme/shop", issues.Open("acme/shop", "kim", "Closed", ""), "kim", false)
	imports := sourced(t, "ORCH_GITHUB_URL="+serving(t, g), "ORCH_GITHUB_TOKEN=bot-token")
	code, said := imports("--from", "github", "--project", "acme/shop")
	require.Zero(t, code, said)
	list := listed(t, own)
	require.Len(t, list, 1)
	require.Equal(t, []string{"The map is blank", "bug", cards.Backlog}, []string{list[0].Title, list[0].Labels, list[0].Column})
	require.Contains(t, list[0].Description, "## Steps\n\n1. open it\n\n---\n\nFrom github, [")
	require.Contains(t, list[0].Description, "/acme/shop/issues/1")
	require.Contains(t, list[0].Description, "kim**, ")
	require.Contains(t, list[0].Description, "> since **yesterday**\n> not before")
	require.NotEqual(t, string(stage.StatusToAnalyse), list[0].Column)
}
