package linear_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/examples/server/command"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

const (
	token      = "lin_api_token"
	hookSecret = "linear-webhook-secret-of-128-bits"
)

// TestMain lets the test's own program be the one that a team would make: its main adds the kind.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(command.Main(os.Args[1:], command.Kind{
			Name: "linear", Hook: " at Settings, API, Webhooks, to %s",
			Board: func(e command.Entry) (command.BoardHost, error) { return open(e) },
		}))
	}
	os.Exit(m.Run())
}

func start(t *testing.T) (*linear, string) {
	l := &linear{states: map[string][]state{}, log: map[string][]move{}, said: map[string][]*comment{}, comments: map[string]*comment{}, faults: map[string]faulttest.Kind{}}
	srv := httptest.NewServer(l)
	t.Cleanup(srv.Close)
	return l, srv.URL
}

// team makes a team with columns, in no order.
func (l *linear) team(columns ...stage.Status) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.id("t")
	kinds := map[stage.Status]string{stage.StatusDone: "completed", stage.StatusStop: "canceled"}
	for _, s := range columns {
		info, _ := stage.StatusNamed(s)
		l.states[id] = append([]state{{l.id("s"), info.Name, kinds[s]}}, l.states[id]...)
	}
	l.states[id] = append(l.states[id], state{l.id("s"), "Backlog", "backlog"})
	return id
}

func (l *linear) add(team, title, description string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.issues) + 7
	i := &issue{
		ID: l.id("i"), Identifier: fmt.Sprint("ENG-", n), Number: int64(n), Title: title, Description: description,
		URL: fmt.Sprint("https://linear.example.org/ENG-", n), Team: user{ID: team}, Creator: kim, CreatedAt: l.now(), UpdatedAt: l.last,
	}
	i.State = l.states[team][len(l.states[team])-1]
	l.issues = append(l.issues, i)
	l.hook("Issue", "create", kim, map[string]any{"id": i.ID, "teamId": team}, nil)
	return i.ID
}

func (l *linear) drag(id string, to stage.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, _ := stage.StatusNamed(to)
	l.move(l.find(id), info.Name, kim)
}

func (l *linear) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.find(id)
	l.now()
	l.hook("Issue", "remove", kim, map[string]any{"id": id, "teamId": i.Team.ID}, nil)
	*i = issue{}
}

func (l *linear) column(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(id).State.Name
}

func (l *linear) setHook(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hookURL = url
}

func TestConformance(t *testing.T) {
	t.Parallel()
	operations := map[string]string{
		"Item": "Issue", "List": "Issues", "Comments": "Comments", "Columns": "States", "LastMove": "History",
		"SetStatus": "UpdateIssue", "AddComment": "CreateComment", "SetComment": "UpdateComment",
	}
	trackertest.Run(t, func(t *testing.T) trackertest.Fixture {
		l, url := start(t)
		c, err := open(command.Entry{URL: url, Token: token, Secrets: signature.Of(hookSecret), HTTP: &http.Client{}})
		require.NoError(t, err)
		require.NoError(t, c.Identify(t.Context()))
		return trackertest.Fixture{
			Tracker: c, NewProject: l.team, NewItem: l.add, Move: l.drag, Person: tracker.Person{ID: kim.ID, Name: kim.Name, Email: kim.Email},
			Say: func(item, text string) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.say(l.id("c"), item, text, kim)
			},
			Fail: func(call string, how faulttest.Kind) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.faults[operations[call]] = how
			},
			Edges: trackertest.Edges{HookTo: l.setHook},
		}
	})
}

// box is the program as a process, with a repository without a git host.
type box struct {
	*testing.T
	dir, bare, addr string
	env             []string
}

func (b *box) sh(script string, args ...string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "sh", append([]string{"-ec", script, "sh"}, args...)...)
	cmd.Env = append(b.env, "GIT_AUTHOR_NAME=k", "GIT_AUTHOR_EMAIL=k@example.org", "GIT_COMMITTER_NAME=k", "GIT_COMMITTER_EMAIL=k@example.org")
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "%s", out)
	return string(out)
}

func (b *box) until(what string, is func() bool) {
	b.Helper()
	for end := time.Now().Add(90 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			log, _ := os.ReadFile(filepath.Join(b.dir, "log"))
			require.FailNow(b, "it never comes: "+what, "%s", log[max(0, len(log)-6000):])
		}
	}
}

// A main that adds a kind serves a board of it: a card goes to done under its own key, and one that is removed holds its task.
func TestCardOfAnotherVendor(t *testing.T) {
	t.Parallel()
	l, url := start(t)
	team := l.team(stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusInReview, stage.StatusApproved, stage.StatusBlocked, stage.StatusDone, stage.StatusStop)
	b := &box{T: t, dir: t.TempDir(), bare: filepath.Join(t.TempDir(), "app.git")}
	b.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir}
	b.sh(`git init --quiet --bare --initial-branch=main "$1"; cd "$1"; git update-ref refs/heads/main "$(git commit-tree -m begin "$(git mktree </dev/null)")"`, b.bare)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.addr = free.Addr().String()
	require.NoError(t, free.Close())
	registry := filepath.Join(b.dir, "projects.yaml")
	require.NoError(t, os.WriteFile(registry, []byte(`
boards: [{name: eng, kind: linear, url: "`+url+`", token_env: LINEAR_TOKEN, secret_env: [LINEAR_HOOK]}]
projects: [{host: git, repo: acme/app, clone_url: "`+b.bare+`", prefix: APP, board: eng, tracker_project: `+team+`, ci: none}]
`), 0o600))
	b.env = append(b.env, "ORCH_CONFIG=none", "ORCH_DATA_DIR="+filepath.Join(b.dir, "data"), "ORCH_PROJECTS="+registry, "ORCH_LISTEN="+b.addr,
		"ORCH_ADMIN_TOKEN=0123456789abcdef0123456789abcdef", "ORCH_AGENT=rehearse", "ORCH_JAIL=none", "ORCH_GPS_TRACKS_ENABLED=false",
		"ORCH_POLL=50ms", "ORCH_STATUS_DEFER=50ms", "ORCH_GIT_POLL=300ms", "ORCH_RECONCILE_INTERVAL=1h",
		"LINEAR_TOKEN="+token, "LINEAR_HOOK="+hookSecret)
	self, err := os.Executable()
	require.NoError(t, err)
	require.Contains(t, b.sh(`"$1" validate`, self), "1 projects")
	log, err := os.Create(filepath.Join(b.dir, "log"))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, self, "serve")
	cmd.Env, cmd.Stdout, cmd.Stderr = b.env, log, log
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 20*time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	get := func(path string) string {
		resp, err := http.Get("http://" + b.addr + path)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, string(body))
	}
	b.until("it is ready", func() bool { return strings.HasPrefix(get("/readyz"), "200") })
	l.setHook("http://" + b.addr + "/webhooks/eng")

	card := l.add(team, "Hello", "what is wanted")
	l.drag(card, stage.StatusToAnalyse)
	b.until("the requirements are ready", func() bool { return l.column(card) == "In Review" })
	l.drag(card, stage.StatusApproved)
	b.until("it is done", func() bool { return l.column(card) == "Done" })
	require.Contains(t, b.sh(`git -C "$1" ls-tree -r --name-only main`, b.bare), "docs/work/ENG-7/requirements.md")
	require.Contains(t, b.sh(`"$1" show ENG-7`, self), "feature/ENG-7-hello")
	next := l.add(team, "Next", "what is wanted")
	l.drag(next, stage.StatusToAnalyse)
	b.until("the requirements are ready", func() bool { return l.column(next) == "In Review" })
	l.remove(next)
	b.until("its task is held", func() bool {
		return strings.Contains(b.sh(`"$1" why ENG-8`, self), "the card is not on the board any more")
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	require.NotEmpty(t, l.answers)
	require.NotContains(t, l.answers, http.StatusUnauthorized)
}
