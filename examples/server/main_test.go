package main

import (
	"bytes"
	"encoding/json"
	"io"
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
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
)

func server(args ...string) (int, string) {
	var out bytes.Buffer
	return command.Run(args, &out, &out), out.String()
}

// environment sets up a whole outside world and the settings for it.
func environment(t *testing.T) (board *planetest.Server, project string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "ORCH_") {
			t.Setenv(name, "") // restored afterwards
			require.NoError(t, os.Unsetenv(name))
		}
	}
	board = planetest.New(planetest.Options{Workspace: "w", Tokens: map[string]string{"pt": "bot"}})
	host := forgetest.NewGitHub(forgetest.Options{Token: "gt"})
	mux := http.NewServeMux()
	mux.Handle("/plane/", http.StripPrefix("/plane", board))
	mux.Handle("/github/", http.StripPrefix("/github", host))
	mux.Handle("/telegram/", http.StripPrefix("/telegram", telegramtest.New("tt")))
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { board.Close(); host.Close(); srv.Close() })
	project = board.AddProject("GPX", planetest.StandardStates()...)
	registry := filepath.Join(t.TempDir(), "projects.yaml")
	bare := filepath.Join(t.TempDir(), "app.git")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `git init --quiet --bare --initial-branch=main "$1" && cd "$1" &&
		git update-ref refs/heads/main "$(git -c user.name=k -c user.email=k@example.org commit-tree -m begin "$(git mktree </dev/null)")"`, "sh", bare).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, host.AddRepo("acme/app", bare))
	require.NoError(t, os.WriteFile(registry, []byte("projects:\n  - tracker_project: "+project+"\n    repo: acme/app\n    clone_url: "+bare+"\n    prefix: GPX\n"), 0o600))
	for name, value := range map[string]string{
		"DATA_DIR": t.TempDir(), "PROJECTS": registry, "PLANE_URL": srv.URL + "/plane", "PLANE_WORKSPACE": "w", "PLANE_TOKEN": "pt", "PLANE_WEBHOOK_SECRET": "plane-webhook-secret-of-128-bits",
		"GITHUB_URL": srv.URL + "/github", "GITHUB_TOKEN": "gt", "GITHUB_WEBHOOK_SECRET": "github-webhook-secret-of-128-bits", "AGENT": "/bin/true",
		"TELEGRAM_URL": srv.URL + "/telegram", "TELEGRAM_TOKEN": "tt", "TELEGRAM_CHAT_ID": "1",
	} {
		t.Setenv("ORCH_"+name, value)
	}
	return board, project
}

func TestConfig(t *testing.T) {
	typed := typist(t)
	environment(t)
	t.Setenv("ORCH_MAX_CONCURRENCY", "7")
	out := typed(0, "config")
	require.Regexp(t, `ORCH_MAX_CONCURRENCY +7 +2 +environment`, out)
	require.Regexp(t, `ORCH_LISTEN +127.0.0.1:8080 +127.0.0.1:8080 +default`, out)
	require.NotContains(t, out, "plane-webhook-secret-of-128-bits")
	require.Contains(t, out, "***")
}

func TestValidate(t *testing.T) {
	typed := typist(t)
	environment(t)
	t.Setenv("ORCH_QG0_TITLE_MAX", "many") // a bad title limit is no reason not to start
	out := typed(0, "validate", "--table")
	require.Contains(t, out, "check_analysis_approved")
	require.Contains(t, out, "1 projects")
	require.Contains(t, out, "ORCH_PLANE_WEBHOOK_SECRET: from environment\n")
	t.Setenv("ORCH_AGENT", "no-such-agent --fast")
	out = typed(0, "validate")
	require.Contains(t, out, "warning: the program of the agent no-such-agent --fast is not installed for this user: tasks that need it will wait\n")
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("webhook-secret-of-a-file\n"), 0o600))
	t.Setenv("ORCH_PLANE_WEBHOOK_SECRET", "")
	t.Setenv("ORCH_PLANE_WEBHOOK_SECRET_FILE", file)
	out = typed(0, "validate")
	require.Contains(t, out, "ORCH_PLANE_WEBHOOK_SECRET: from file "+file+"\n")
	require.NotContains(t, out, "webhook-secret-of-a-file")
	t.Setenv("ORCH_PLANE_WEBHOOK_SECRET_FILE", "")
	require.Contains(t, typed(1, "validate"), "ORCH_PLANE_WEBHOOK_SECRET is not set")
	t.Setenv("ORCH_PROJECTS", filepath.Join(t.TempDir(), "none.yaml"))
	require.Contains(t, typed(1, "validate"), "cannot be read")
}

func TestDoctor(t *testing.T) {
	typed := typist(t)
	board, _ := environment(t)
	out := typed(0, "doctor")
	for _, want := range []string{"git", "database", "plane", "github", "telegram", "every board status has a column", "agent /bin/true", "agents and checks are confined"} {
		require.Contains(t, out, want)
	}
	t.Setenv("ORCH_PLANE_TOKEN", "wrong")
	t.Setenv("ORCH_AGENT", "no-such-agent")
	require.Contains(t, typed(1, "doctor"), "FAIL  plane")
	require.Empty(t, board.Comments(""), "a doctor changes nothing")
}

// What is mistyped ends each command that would work with it, in words.
func TestMistypedSettings(t *testing.T) {
	environment(t)
	for pair, want := range map[string]string{
		"ORCH_MERGE_GATE_ENABLE=false":      "ORCH_MERGE_GATE_ENABLE is no setting of this program; did you mean ORCH_MERGE_GATE_ENABLED?",
		"ORCH_SERIAL_GATE_REPOS=acme/ap":    `ORCH_SERIAL_GATE_REPOS names "acme/ap", which is not in `,
		"ORCH_MERGE_GATE_REPOS=*,banana":    `ORCH_MERGE_GATE_REPOS names "banana", which is not in `,
		"ORCH_STOP_STATUS_ENABLED=banana":   `ORCH_STOP_STATUS_ENABLED is "banana": write true or false`,
		"ORCH_MAX_CONCURRENCY=two":          `ORCH_MAX_CONCURRENCY is "two": write a whole number such as 2`,
		"ORCH_POLL=1":                       `ORCH_POLL is "1": write a span of time such as 500ms, 30s, 5m or 1h`,
		"ORCH_AGENT_RETRY_DELAYS=1s,banana": `ORCH_AGENT_RETRY_DELAYS is "1s,banana": write spans of time such as 30s,2m,10m`,
		"ORCH_TRUSTED_PROXIES=10.0.0.1":     `ORCH_TRUSTED_PROXIES is "10.0.0.1": write networks such as 127.0.0.1/32,10.0.0.0/8`,
	} {
		name, value, _ := strings.Cut(pair, "=")
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			for _, command := range []string{"validate", "serve", "doctor"} {
				out := typist(t)(1, command)
				require.Contains(t, out, want, command)
				require.NotContains(t, out, "strconv")
				require.NotContains(t, out, "ParsePrefix")
			}
		})
	}
}

// The doctor looks at a PostgreSQL too, and never says its password.
func TestDoctorPostgres(t *testing.T) {
	typed := typist(t)
	environment(t)
	s := pgtest.Start(t, pgtest.Options{Durable: true})
	t.Setenv("ORCH_DATABASE_URL", s.URL("postgres")+"&password=hidden")
	out := typed(0, "doctor")
	require.Contains(t, out, "PostgreSQL, database postgres at /")
	require.Contains(t, out, "ok    leases")
	require.NotContains(t, out, "hidden")
	t.Setenv("ORCH_DATABASE_URL", s.URL("nowhere")+"&password=hidden")
	out = typed(1, "doctor")
	require.Contains(t, out, `ORCH_DATABASE_URL: postgres: `)
	require.Contains(t, out, `database "nowhere" does not exist`)
	require.NotContains(t, out, "hidden")
}

func TestWhy(t *testing.T) {
	typed := typist(t)
	environment(t)
	x := explain.Explanation{
		TaskID: 3, WorkItem: "GPX-1", Repo: "acme/app", Title: "Tiles", Stage: "review", Since: time.Unix(0, 0), Summary: "Waits for CI.",
		Blockers: []explain.Blocker{{Kind: "ci", Why: "CI has not finished", Who: admit.WhoOutside, Do: "Look at the checks"}},
		Moves:    []explain.Move{{On: "ci", To: "review", Why: "CI is green"}}, LastNote: "the developer has finished",
		Owed: []explain.Owed{{Text: "the comment is about to be made"}, {Text: "the notice was refused for good: no", GivenUp: true}},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/tasks/3/explain":
			_ = json.NewEncoder(w).Encode(x)
		case r.URL.Query().Get("work_item") == "GPX-1":
			_, _ = w.Write([]byte(`{"tasks":[{"id":3}]}`))
		case r.URL.Path == "/tasks":
			_, _ = w.Write([]byte(`{"tasks":[]}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"detail":"There is no such task."}`))
		}
	}))
	defer srv.Close()
	for _, task := range []string{"3", "GPX-1", "gpx-1"} {
		out := typed(0, "why", "--url", srv.URL, task)
		require.Contains(t, out, "waits (outside): CI has not finished\n      do: Look at the checks\n")
		require.Contains(t, out, "last: the developer has finished")
		require.Contains(t, out, "  owed: the comment is about to be made\n  given up: the notice was refused for good: no\n")
	}
	for task, want := range map[string]string{"9": "There is no such task", "GPX-9": `no task "GPX-9"`} {
		require.Contains(t, typed(3, "why", "--server", srv.URL, task), want)
	}
	t.Setenv("ORCH_LISTEN", "127.0.0.1:1")
	out := typed(5, "why", "3")
	require.Contains(t, out, "the server http://127.0.0.1:1 does not answer; is it running? (--server and SIGNALBOX_URL name another)")
	t.Setenv("SIGNALBOX_URL", srv.URL)
	require.Contains(t, typed(0, "why", "--json", "3"), `"work_item":"GPX-1"`)
}

// What has no known price is no 0.00 on the command line.
func TestUnknownPrices(t *testing.T) {
	typed := typist(t)
	environment(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/costs" {
			_, _ = w.Write([]byte(`{"total":{"runs":3,"cost_usd":1.2,"unpriced_runs":2},"costs":[{"repo":"a/b","runs":1,"cost_usd":1.2},{"repo":"a/c","runs":2,"cost_usd":0,"unpriced_runs":2}]}`))
			return
		}
		_, _ = w.Write([]byte(`{"id":3,"stage":"done","totals":{"cost_usd":1.2,"unpriced_runs":1},"agent_runs":[{"run":1,"attempt":1,"role":"analyst","cost_usd":0,"unpriced_runs":1}]}`))
	}))
	defer srv.Close()
	out := typed(0, "costs", "--url", srv.URL)
	require.Regexp(t, `a/b +1\.20 +1 `, out)
	require.Regexp(t, `a/c +\? +2 `, out)
	require.Regexp(t, `all +1\.20 \+ \? +3 `, out)
	out = typed(0, "show", "--url", srv.URL, "3")
	require.Contains(t, out, "1 runs, 1.20 + ? USD")
	require.NotContains(t, out, "0.00")
}

// Dependencies are listed, added and removed with the operator's token. A name is the newest
// task's that lives, or the cancelled one's when there is no other.
func TestDepsCommand(t *testing.T) {
	typed := typist(t)
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/tasks" && r.URL.Query().Get("work_item") == "GPX-1":
			_, _ = w.Write([]byte(`{"tasks":[{"id":3,"stage":"review"},{"id":5,"stage":"cancelled"}]}`))
		case r.URL.Path == "/tasks" && r.URL.Query().Get("cancelled") == "true":
			_, _ = w.Write([]byte(`{"tasks":[{"id":7,"stage":"cancelled"}]}`))
		case r.Method != http.MethodGet && r.Header.Get("Authorization") != "Bearer 0123456789abcdef0123456789abcdef":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"detail":"Send the operator's token."}`))
		default:
			asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body))
			_, _ = w.Write([]byte(`{"dependencies":[{"task_id":3,"depends_on_task_id":7,"source":"db"}]}`))
		}
	}))
	defer srv.Close()
	out := typed(4, "deps", "add", "--url", srv.URL, "gpx-1", "9")
	require.Contains(t, out, "operator's token")
	require.Contains(t, out, "commands send the token of SIGNALBOX_TOKEN")
	t.Setenv("ORCH_ADMIN_TOKEN", "0123456789abcdef0123456789abcdef")
	for _, args := range [][]string{{"list", "gpx-1"}, {"add", "gpx-1", "GPX-2"}, {"remove", "3", "7"}} {
		require.Contains(t, typed(0, append([]string{"deps", args[0], "--url", srv.URL}, args[1:]...)...), "task 3 waits for task 7 (db")
	}
	require.Equal(t, []string{"GET /tasks/3/deps {}", `POST /tasks/3/deps {"on":7}`, `DELETE /tasks/3/deps {"on":7}`}, asked)
}

func TestCommandLine(t *testing.T) {
	typed := typist(t)
	help := typed(0, "help")
	require.Equal(t, typed(0, "--help"), help)
	require.Contains(t, help, "doctor")
	require.Contains(t, help, "Usage: signalbox <command>")
	require.Contains(t, typed(0, "help", "tasks"), "Usage: signalbox tasks")
	require.Contains(t, typed(2, "dance"), "signalbox: unexpected argument dance")
	for _, arg := range []string{"version", "--version"} {
		require.Regexp(t, `^signalbox \S+ \(commit \S+, go1\.\d+`, typed(0, arg))
	}
}
