package command

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

const importToken = "a-token-of-128-bits-for-the-test"

// importer is a server with a board of its own, and the command that imports a file there.
func importer(t *testing.T) (own *board.Board, imports func(csv string) (int, string)) {
	t.Helper()
	own, err := board.Open(t.Context(), board.Options{Path: filepath.Join(t.TempDir(), "x.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP"})
	require.NoError(t, err)
	store, host := memstore.New(nil), memhost.New()
	place := memwork.New(func(context.Context, work.Command, map[string]string) work.Result { return work.Result{} })
	engine, err := orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: store, Records: store, Jobs: store, Projects: projects, Tracker: own, Host: host, Workspaces: place, Agents: place, Gates: checks.All(nil),
		Runners: effects.Runners(effects.Deps{Store: store, Jobs: store, Projects: projects, Tracker: own, Host: host, Workspaces: place}),
	}, orchestrator.Options{})
	require.NoError(t, err)
	h, err := web.Handler(web.Options{
		Engine: engine, History: store, Access: access.New(access.Options{AdminToken: importToken}), Desk: admin.Desk{Engine: engine, Cards: own, Source: "board"},
	})
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Setenv("SIGNALBOX_TOKEN", importToken)
	t.Setenv("SIGNALBOX_URL", s.URL)
	return own, func(csv string) (int, string) {
		file := filepath.Join(t.TempDir(), "cards.csv")
		require.NoError(t, os.WriteFile(file, []byte(csv), 0o600))
		var out bytes.Buffer
		return Run([]string{"card", "import", file, "--server", s.URL}, &out, &out), out.String()
	}
}

// A file makes its cards once, in the order of their priorities, and leaves alone what people have done with them since.
func TestCardsAreImported(t *testing.T) {
	own, imports := importer(t)
	ctx := t.Context()
	const file = "\ufeffKey,Title,Description,Labels,Priority,State\n" +
		"7,Later,\"two\nlines\",\"fix, ops\",2,\n8,First,,,1,backlog\n9,Begin,,,,To Analyse\n10,Next,,,,To Analyse\n"
	code, said := imports(file)
	require.Zero(t, code, said)
	stand := func() (out []string) {
		list, err := own.Cards(ctx, cards.Filter{})
		require.NoError(t, err)
		for _, c := range list {
			out = append(out, c.Column+" "+c.Title)
		}
		return out
	}
	want := []string{"backlog First", "backlog Later", "to_analyse Begin", "to_analyse Next"}
	require.Equal(t, want, stand())
	list, err := own.Cards(ctx, cards.Filter{})
	require.NoError(t, err)
	story, err := own.Story(ctx, list[1].ID)
	require.NoError(t, err)
	require.Equal(t, []string{"two\nlines", "fix, ops"}, []string{story.Description, story.Labels})

	_, err = own.Move(ctx, list[2].ID, "backlog", cards.Person{Name: "Kim"})
	require.NoError(t, err)
	for _, kind := range []string{cards.ArchivedIt, cards.DeletedIt} {
		require.NoError(t, own.Arrange(ctx, cards.Arrangement{ID: list[0].ID, Kind: kind}))
	}
	code, said = imports(strings.Replace(file, "Later", "Renamed", 1))
	require.Zero(t, code, said)
	require.ElementsMatch(t, []string{"backlog Begin", "backlog Later", "to_analyse Next"}, stand(), "nothing is made or moved again")
}

// A file with a mistake makes no card, and the mistake is named by line and column.
func TestAFileWithAMistakeMakesNothing(t *testing.T) {
	own, imports := importer(t)
	const head = "key,title,priority,state\n1,Good,,\n"
	for file, want := range map[string]string{
		"":                                "line 1",
		"key,name\n1,x\n":                 `line 1, column 2: "name"`,
		"title\nx\n":                      "line 1: there is no column key",
		head + "2,,,\n":                   "line 3, column title: it is empty",
		head + "\"a\nb\",x,,\n3,x,one,\n": `line 5, column priority: "one"`,
		head + "2,x,,In Review\n":         `line 3, column state: "In Review"`,
		head + "1,x,,\n":                  `line 3, column key: "1" stands there twice`,
		head + "2,x\n":                    "line 3",
		head + "2," + strings.Repeat("x", cards.TitleMax+1) + ",,\n": "line 3, column title: it has more than",
	} {
		code, said := imports(file)
		require.NotZero(t, code, file)
		require.Contains(t, said, want)
		require.Contains(t, said, "no card was made")
	}
	list, err := own.Cards(t.Context(), cards.Filter{})
	require.NoError(t, err)
	require.Empty(t, list)
}
