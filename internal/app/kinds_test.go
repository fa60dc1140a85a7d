package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// shed is a git host of a kind that the program does not have.
type shed struct {
	GitHost
	repository githost.Repository
	queue      string
}

func (s *shed) Ping(context.Context) error   { return nil }
func (s *shed) SetSecrets(signature.Secrets) {}
func (s *shed) Habits() (h signature.Habits) { return h }
func (s *shed) AddWebhook(_ context.Context, _, _, _ string) error {
	return errors.New("nothing is to be added")
}

func (s *shed) Repository(context.Context, string) (githost.Repository, error) {
	return s.repository, nil
}

func (s *shed) Rules(context.Context, string, string) (githost.Rules, error) {
	return githost.Rules{Queue: s.queue}, nil
}

func (s *shed) Protection(context.Context, string, string) (githost.Protection, error) {
	return githost.Protection{}, githost.ErrNotFound
}

func (s *shed) Webhooks(context.Context, string) ([]githost.Webhook, error) { return nil, nil }

// paper is a board of such a kind, and examines itself.
type paper struct {
	BoardHost
	name string
}

func (p *paper) SetSecrets(signature.Secrets) {}
func (p *paper) Habits() (h signature.Habits) { return h }

func (p *paper) Columns(context.Context, string) (map[stage.Status]string, error) {
	return nil, errors.New("the ink has run")
}

func (p *paper) Examine(
	_ context.Context, name, token, workspace, registry string, report func(level, what, text string),
) func(ctx context.Context, id, prefix string, unread error) error {
	report("ok", name, p.name+" is pinned: "+token+", "+workspace)
	return func(_ context.Context, id, _ string, unread error) error {
		return errors.Join(unread, errors.New("dry the sheet "+id+" of "+filepath.Base(registry)))
	}
}

// pigeon is a chat of such a kind.
type pigeon struct{ Chat }

func (pigeon) Moved(context.Context) error { return nil }

func (pigeon) Examine(_ context.Context, report func(level, what, text string)) {
	report("FAIL", "pigeon", "has flown: buy grain")
}

// A host, a board and a chat of kinds that are registered beside those of the program are opened and examined with their own
// words, as entries of the registry and as those that the settings describe.
func TestFurtherKinds(t *testing.T) {
	dir := t.TempDir()
	bare, seed := filepath.Join(dir, "app.git"), filepath.Join(dir, "seed")
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", seed},
		{"-C", seed, "commit", "--quiet", "--allow-empty", "-m", "one"}, {"clone", "--quiet", "--bare", seed, bare},
	} {
		gittest.Run(t, dir, args...)
	}
	registry := filepath.Join(dir, "projects.yaml")
	write := func(boardKind string) {
		require.NoError(t, os.WriteFile(registry, []byte(`
hosts: [{name: barn, kind: shed, url: "https://barn.example.org", clone_base: "https://barn.example.org/", token_env: BARN_TOKEN, secret_env: [BARN_HOOK]}]
boards: [{name: wall, kind: `+boardKind+`, url: "https://wall.example.org", token_env: WALL_TOKEN, secret_env: [WALL_HOOK]}]
projects:
  - {host: barn, repo: acme/app, clone_url: `+bare+`, prefix: APP, board: wall, tracker_project: sheet}
  - {host: barn, repo: acme/lib, clone_url: `+bare+`, prefix: LIB, tracker_project: scrap}
`), 0o600))
	}
	write("paper")
	for name, value := range map[string]string{
		"BARN_TOKEN": "barn-token", "BARN_HOOK": "barn-webhook-secret-of-128-bits", "WALL_TOKEN": "wall-token", "WALL_HOOK": "wall-webhook-secret-of-128-bits",
	} {
		t.Setenv(name, value)
	}
	host := &shed{queue: "the farmer", repository: githost.Repository{CloneURL: "https://barn.example.org/acme/app.git", Push: true}}
	further := map[projectfile.Kind]kind{
		"shed": {
			host:      func(_ *Service, n neighbour) (GitHost, error) { return host, nil },
			tokenPage: func(n neighbour) string { return "the key hangs at " + n.URL },
		},
		"paper": {
			own: func(Settings) neighbour {
				return neighbour{isBoard: true, signed: true, workspaceName: "the drawer", Host: projectfile.Host{TokenEnv: Prefix + "PAPER_TOKEN"}}
			},
			board: func(_ *Service, n neighbour) (BoardHost, error) { return &paper{name: n.what()}, nil },
			hook:  func(neighbour) string { return " by a string to %s" },
		},
		"pigeon": {chat: func(*Service) (Chat, error) { return pigeon{}, nil }},
	}
	environ := []string{
		"ORCH_TRACKER=paper", "ORCH_DATA_DIR=" + dir, "ORCH_PROJECTS=" + registry, "ORCH_JAIL=none", "ORCH_AGENT=true",
		"ORCH_GPS_TRACKS_ENABLED=false", "ORCH_PUBLIC_URL=https://box.example.org",
	}
	_, err := Load(environ)
	require.ErrorContains(t, err, `ORCH_TRACKER is "paper", want plane, or board`)
	s, err := load(environ, further)
	require.NoError(t, err)
	open := func() (*Service, error) {
		return Open(t.Context(), s, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
	}
	v, err := open()
	require.NoError(t, err)
	defer func() { require.NoError(t, v.Close()) }()
	var out strings.Builder
	Examine(t.Context(), v, Examination{}, ReportTo(&out))
	for _, want := range []string{
		"ok    barn         the token is accepted\n", "ok    github       is not used: no repository is there\n",
		"ok    paper        board paper is pinned: ORCH_PAPER_TOKEN, the drawer\n", "ok    wall         board wall is pinned: WALL_TOKEN, workspace in " + registry + "\n",
		"by a string to https://box.example.org/webhooks/wall; without it ", "by a string to https://box.example.org/webhooks/paper; without it ",
		"FAIL  APP          the board's columns: the ink has run\ndry the sheet sheet of projects.yaml\n", "dry the sheet scrap of projects.yaml\n",
		"ok    APP          pull requests go into the merge queue that the farmer demands\n",
		"make one at https://barn.example.org/acme/app/settings/hooks\n", "FAIL  pigeon       has flown: buy grain\n",
	} {
		require.Contains(t, out.String(), want)
	}
	require.NotContains(t, out.String(), "GitHub")
	require.NotContains(t, out.String(), "telegram")
	host.repository.Push, host.queue = false, ""
	out.Reset()
	Examine(t.Context(), v, Examination{}, ReportTo(&out))
	require.Contains(t, out.String(), "give it write access to contents and pull requests at the key hangs at https://barn.example.org\n")

	s.Telegram.Token, s.Telegram.ChatID = secret.New("1:x"), "1"
	_, err = open()
	require.ErrorContains(t, err, "both pigeon and telegram are set up, and a service has one chat")
	s.rehearses = true
	quiet, err := open()
	require.NoError(t, err)
	require.Nil(t, quiet.Chat, "a rehearsal tells nobody")
	require.NoError(t, quiet.Close())
	write("shed")
	_, err = open()
	require.ErrorContains(t, err, `the board wall: nothing of the kind "shed" can be one`)
}

// A kind that a main adds has a name of its own, and is something.
func TestKindsOfAMain(t *testing.T) {
	s, err := Load([]string{"ORCH_DATA_DIR=" + t.TempDir()})
	require.NoError(t, err)
	opens := func(Entry) (BoardHost, error) { return &paper{}, nil }
	s, err = s.With(Kind{Name: "paper", Board: opens}, Kind{Name: "slate", Board: opens})
	require.NoError(t, err)
	require.ElementsMatch(t, []projectfile.Kind{"paper", "slate"}, s.Kinds())
	for _, k := range []Kind{{Name: "paper", Board: opens}, {Name: "plane", Board: opens}, {Board: opens}, {Name: "wood"}} {
		_, err = s.With(k)
		require.ErrorContains(t, err, "its name is taken or empty, or it is no host, board or chat")
	}
	again, err := s.With()
	require.NoError(t, err)
	require.Len(t, again.Kinds(), 2)
}
