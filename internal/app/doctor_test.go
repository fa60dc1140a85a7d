package app_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// clinic is a deployment with nothing wrong, and servers around it that speak the real
// protocols.
type clinic struct {
	*testing.T
	dir, bare, head string
	board           *planetest.Server
	host            *forgetest.Server
	chat            *telegramtest.Server
	project         string            // on the board
	env             map[string]string // settings
	entry           map[string]string // of the registry
}

const (
	target      = "https://box.example.org/webhooks/githost"
	planeSecret = "plane-webhook-secret-of-128-bits"
)

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{T: t, dir: t.TempDir()}
	c.bare = c.repository("acme.git", "an app")
	c.head = c.git("-C", c.bare, "rev-parse", "main")
	var columns []string
	for _, s := range stage.Statuses() {
		columns = append(columns, s.Name)
	}
	c.board = planetest.New(planetest.Options{Workspace: "w", Secret: planeSecret, Tokens: map[string]string{"plane-token": "bot", "reviewer-token": "reviewer-bot"}})
	c.host = forgetest.NewGitHub(forgetest.Options{Token: "github-token"})
	c.chat = telegramtest.New("7:chat")
	c.project = c.board.AddProject("APP", columns...)
	require.NoError(t, c.host.AddRepo("acme/app", c.bare))
	c.host.SetCheckRun("acme/app", c.head, "build", "completed", "success")
	c.host.SetSettings("acme/app", func(s *forgetest.Settings) {
		s.Admin = true
		s.Hooks = []forgetest.Hook{{URL: target, ContentType: "json", Events: github.HookEvents(), Active: true, Last: 202}}
	})
	mux := http.NewServeMux()
	mux.Handle("/plane/", http.StripPrefix("/plane", c.board))
	mux.Handle("/github/", http.StripPrefix("/github", c.host))
	mux.Handle("/telegram/", http.StripPrefix("/telegram", c.chat))
	outer := httptest.NewServer(mux)
	t.Cleanup(func() { outer.Close(); c.board.Close(); c.host.Close() })
	c.env = map[string]string{
		"DATA_DIR": c.dir, "PROJECTS": filepath.Join(c.dir, "projects.yaml"), "PUBLIC_URL": "https://box.example.org", "JAIL": "none", "AGENT": "rehearse", "GPS_TRACKS_ENABLED": "false",
		"PLANE_URL": outer.URL + "/plane", "PLANE_WORKSPACE": "w", "PLANE_TOKEN": "plane-token", "PLANE_WEBHOOK_SECRET": planeSecret,
		"GITHUB_URL": outer.URL + "/github", "GITHUB_TOKEN": "github-token", "GITHUB_WEBHOOK_SECRET": "github-webhook-secret-of-128-bits",
		"TELEGRAM_URL": outer.URL + "/telegram", "TELEGRAM_TOKEN": "7:chat", "TELEGRAM_CHAT_ID": "-1001",
	}
	c.entry = map[string]string{"tracker_project": c.project, "repo": "acme/app", "clone_url": c.bare, "prefix": "APP", "ci": "[build]"}
	return c
}

func (c *clinic) git(args ...string) string {
	c.Helper()
	return gittest.Run(c, c.dir, args...)
}

// repository makes a bare one with a commit.
func (c *clinic) repository(name, text string) string {
	c.Helper()
	seed, bare := filepath.Join(c.dir, "seed-"+name), filepath.Join(c.dir, name)
	c.git("init", "--quiet", "--initial-branch=main", seed)
	c.git("-C", seed, "commit", "--quiet", "--allow-empty", "-m", text)
	c.git("clone", "--quiet", "--bare", seed, bare)
	return bare
}

// examine returns doctor's words, and how many things are wrong.
func (c *clinic) examine(e app.Examination) (said string, wrong int) {
	c.Helper()
	var entry []string
	for name, value := range c.entry {
		entry = append(entry, name+": "+value)
	}
	return c.examined("projects:\n  - {"+strings.Join(entry, ", ")+"}\n", e)
}

// finds examines a deployment in which so many things are wrong, and returns what is said of it.
func (c *clinic) finds(n int) string {
	c.Helper()
	said, wrong := c.examine(app.Examination{})
	require.Equal(c, n, wrong, said)
	return said
}

// examined is examine with another registry.
func (c *clinic) examined(registry string, e app.Examination) (said string, wrong int) {
	v := c.start(registry)
	defer func() { require.NoError(c, v.Close()) }()
	return diagnosis(c.T, v, e)
}

func diagnosis(t *testing.T, v *app.Service, e app.Examination) (said string, wrong int) {
	var out strings.Builder
	wrong = app.Examine(t.Context(), v, e, app.ReportTo(&out))
	return out.String(), wrong
}

func (c *clinic) host1(change func(*forgetest.Settings)) { c.host.SetSettings("acme/app", change) }

func (c *clinic) hook(change func(*forgetest.Hook)) {
	c.host1(func(s *forgetest.Settings) { change(&s.Hooks[0]) })
}

// tool puts a program into the path that is called as a known agent is.
func (c *clinic) tool(name, script string) {
	c.Helper()
	bin := filepath.Join(c.dir, "bin")
	require.NoError(c, os.MkdirAll(bin, 0o700))
	require.NoError(c, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o700))
	c.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// Each mistake that people make has a line that names it, and what mends it.
func TestDoctorFindsMistakes(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "| mistake | mend |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	told := map[string]bool{} // the mistakes that the page tells of
	for row := range strings.Lines(table) {
		told[strings.TrimSpace(strings.Split(row, "|")[1])] = true
	}
	require.GreaterOrEqual(t, len(told), 20)
	defer func() { require.Empty(t, told, "no such mistake is made here") }()
	const page = "https://github.com/acme/app/settings"
	for name, m := range map[string]struct {
		make  func(c *clinic)
		wants []string
	}{
		"GitHub's token":       {func(c *clinic) { c.env["GITHUB_TOKEN"] = "wrong" }, []string{"FAIL  github ", "set it as ORCH_GITHUB_TOKEN: "}},
		"no such repository":   {func(c *clinic) { c.entry["repo"] = "acme/ap" }, []string{"the repository acme/ap: ", "correct repo in ", "or let the token see it: "}},
		"archived":             {func(c *clinic) { c.host1(func(s *forgetest.Settings) { s.Archived = true }) }, []string{"acme/app is archived", "unarchive it at " + page}},
		"no right to push":     {func(c *clinic) { c.host1(func(s *forgetest.Settings) { s.Push, s.Admin = false, false }) }, []string{"the token may read acme/app and not push to it: give it write access to contents and pull requests at "}},
		"no method of merging": {func(c *clinic) { c.host1(func(s *forgetest.Settings) { s.Methods = nil }) }, []string{"allows no method of merging: allow merge commits at " + page}},
		"no clone URL":         {func(c *clinic) { c.entry["clone_url"] = filepath.Join(c.dir, "none.git") }, []string{"clone_url: git cannot read it: ", "GitHub says that it is https://github.com/acme/app.git"}},
		"another repository":   {func(c *clinic) { c.entry["clone_url"] = c.repository("other.git", "another") }, []string{"clone_url is another repository than acme/app: main is at "}},
		"no main branch":       {func(c *clinic) { c.entry["main"] = "master" }, []string{"acme/app has no branch master: push a first commit to it, or name another in main (its default is main)"}},
		"check misspelt":       {func(c *clinic) { c.entry["ci"] = "[biuld]" }, []string{"ci: no check of main is called biuld; did you mean build? Correct it in "}},
		"protection without CI": {func(c *clinic) {
			c.entry["ci"] = "none"
			c.host1(func(s *forgetest.Settings) { s.Required["main"] = []string{"e2e"} })
		}, []string{"the protection of main demands the check e2e, and ci is none: every merge would be refused; name it in ci"}},
		"merge method": {func(c *clinic) {
			c.entry["merge"] = "rebase"
			c.host1(func(s *forgetest.Settings) { s.Methods = []string{"merge", "squash"} })
		}, []string{"merge is rebase, and acme/app is merged by merge, squash alone: every merge would be refused; allow it at " + page + ", or correct merge in "}},
		"ruleset without CI": {func(c *clinic) {
			c.entry["ci"] = "none"
			c.host1(func(s *forgetest.Settings) { s.Rules["main"] = []string{"e2e"} })
		}, []string{"the ruleset 42 of acme/app demands the check e2e, and ci is none"}},
		"no webhook":             {func(c *clinic) { c.host1(func(s *forgetest.Settings) { s.Hooks = nil }) }, []string{"webhooks: none is registered to " + target + ": signalbox doctor --fix does it, or make one at " + page + "/hooks"}},
		"webhook is off":         {func(c *clinic) { c.hook(func(h *forgetest.Hook) { h.Active = false }) }, []string{"is switched off: make it active at " + page + "/hooks"}},
		"webhook lacks events":   {func(c *clinic) { c.hook(func(h *forgetest.Hook) { h.Events = []string{"push", "check_run"} }) }, []string{"lacks the events check_suite, pull_request, pull_request_review, status: add them at " + page + "/hooks"}},
		"webhook's secret":       {func(c *clinic) { c.hook(func(h *forgetest.Hook) { h.Last = 401 }) }, []string{"was answered 401: its secret is not ORCH_GITHUB_WEBHOOK_SECRET; set the same one at " + page + "/hooks"}},
		"webhook goes elsewhere": {func(c *clinic) { c.hook(func(h *forgetest.Hook) { h.Last = 502 }) }, []string{"was answered 502 (Invalid HTTP Response: Bad Gateway): look whether the address leads here"}},
		"Plane's token":          {func(c *clinic) { c.env["PLANE_TOKEN"] = "wrong" }, []string{"FAIL  plane ", "set it as ORCH_PLANE_TOKEN"}},
		"no such project":        {func(c *clinic) { c.entry["tracker_project"] = "My-Project" }, []string{"the board's columns: ", `"My-Project" is not the id of a project, which is a UUID`, "correct tracker_project in ", "(APP)"}},
		"columns":                {func(c *clinic) { require.NoError(c, c.board.RemoveState(c.project, "Approved")) }, []string{"the board lacks Approved: the pipeline cannot be used without them; add columns of these names, or let signalbox doctor --fix do it"}},
		"outside the project": {
			func(c *clinic) { c.board.SetRole(c.project, "bot", planetest.Nobody) },
			[]string{"the board's columns: ", "; the project is there, and the token's account is no member of it: make it one at http", "/plane/w/settings/projects/"},
		},
		"another workspace": {
			func(c *clinic) { c.env["PLANE_WORKSPACE"] = "v" },
			[]string{"403", "; the token may not read the workspace: correct ORCH_PLANE_WORKSPACE (the slug of its pages), or invite the account at http"},
		},
		"a guest": {func(c *clinic) { c.board.SetRole(c.project, "bot", planetest.Guest) }, []string{"ORCH_PLANE_TOKEN: bot may not change cards, so none would ever move: make it a member of the project, and no guest, at http", "/plane/w/settings/projects/"}},
		"a role's account": {func(c *clinic) {
			c.env["PLANE_TOKEN_REVIEWER"] = "reviewer-token"
			c.board.SetRole(c.project, "reviewer-bot", planetest.Nobody)
		}, []string{"ORCH_PLANE_TOKEN_REVIEWER: reviewer-bot is not a member of the project, so no comment of the reviewer would be posted: add it at http", "/plane/w/settings/projects/"}},
		"chat's token": {func(c *clinic) { c.env["TELEGRAM_TOKEN"] = "8:other" }, []string{"FAIL  telegram ", "@BotFather gives the token for ORCH_TELEGRAM_TOKEN"}},
		"chat":         {func(c *clinic) { c.chat.Break("getChat", telegramtest.NoChat) }, []string{"chat not found: add the bot to the chat, and set its id as ORCH_TELEGRAM_CHAT_ID"}},
		"no agent":     {func(c *clinic) { c.env["AGENT"] = "no-such-agent" }, []string{"no-such-agent", "install it for the service's user, or name another in agents or ORCH_AGENT"}},
		"broken agent": {func(c *clinic) { c.tool("gemini", "echo no node >&2; exit 3\n"); c.env["AGENT"] = "gemini" }, []string{"gemini --version: exit status 3: no node: the agent gemini does not start: install it again"}},
	} {
		t.Run(name, func(t *testing.T) {
			delete(told, name)
			c := newClinic(t)
			m.make(c)
			said := c.finds(1)
			for _, want := range m.wants {
				require.Contains(t, said, want)
			}
			for line := range strings.Lines(said) {
				if strings.HasPrefix(line, "FAIL") {
					require.Contains(t, line, m.wants[len(m.wants)-1], "one line names the mistake and the mend")
				}
			}
			require.NotContains(t, said, "github-token")
		})
	}
}

// A token of a person who works on the board is no mistake, and yet one to mend.
func TestDoctorOfAPersonsToken(t *testing.T) {
	c := newClinic(t)
	_, err := c.board.AddItem(c.project, "of a person", "")
	require.NoError(t, err)
	said := c.finds(0)
	require.NotContains(t, said, "belongs to")
	_, err = c.board.AddItemAs("bot", c.project, "of the token's account", "")
	require.NoError(t, err)
	said = c.finds(0)
	require.Regexp(t, `warn  APP +ORCH_PLANE_TOKEN belongs to bot, who makes cards on the board: .* invite an account for the service at http.*/plane/w/settings/members/, make it a member of the project, and make the token in its own profile settings`, said)
}

// A proxy that is believed by an address of this machine alone is no mistake, and yet a hole.
func TestDoctorOfAProxyHere(t *testing.T) {
	c := newClinic(t)
	c.env["PROXY_USER_HEADER"], c.env["PROXY_USERS_FROM"], c.env["ACCESS_ROLES"] = "X-User", "127.0.0.1/32", "*=viewer"
	const hole = "each user of this machine may name anybody in X-User: let the proxy use a unix socket"
	said := c.finds(0)
	require.Contains(t, said, hole)
	c.env["PROXY_SECRET"] = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
	said, _ = c.examine(app.Examination{})
	require.NotContains(t, said, hole)
}

// Where nothing is wrong, doctor says what it has seen.
func TestDoctorOfAGoodDeployment(t *testing.T) {
	c := newClinic(t)
	c.tool("claude", "if [ \"$1\" = --version ]; then echo 9.8.7; exit; fi\necho \"$*\" >"+filepath.Join(c.dir, "called")+"\necho '{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"ok\"}'\n")
	c.env["AGENT"] = "claude"
	said, wrong := c.examine(app.Examination{Probe: true})
	require.Zero(t, wrong, said)
	for _, want := range []string{
		"ok    github       the token is accepted\n", "the bot sees the chat\n", "the token may push to acme/app\n", "pull requests may be merged by merge, squash, rebase\n",
		"the repository acme/app answers, and main is at " + c.head[:12], "ci: build is a check of main\n", "its last delivery was answered 202\n",
		"ok    plane        idle cost is 1 of at least 60 requests a minute, for each server with this token (1 boards)\n", "every board status has a column\n", "warn  plane        no webhook has come yet: make one for work items (issues) to https://box.example.org/webhooks/tracker",
		"agent claude (9.8.7) has run, as it will for cards\n",
	} {
		require.Contains(t, said, want)
	}
	called, err := os.ReadFile(filepath.Join(c.dir, "called"))
	require.NoError(t, err)
	require.Contains(t, string(called), "Change no file")
	left, err := filepath.Glob(filepath.Join(c.dir, "probe-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	c.tool("claude", "if [ \"$1\" = --version ]; then echo 9.8.7; exit; fi\necho 'Invalid API key' >&2; exit 1\n")
	said, wrong = c.examine(app.Examination{Probe: true})
	require.Equal(t, 1, wrong, said)
	require.Regexp(t, `FAIL  APP +the agent claude failed .*Invalid API key.*: run it by hand as the service's user, and sign in`, said)
}

// A check that a rule demands and that has never reported is said, with the name that was meant.
func TestDoctorOfRules(t *testing.T) {
	c := newClinic(t)
	c.entry["ci"], c.entry["merge"] = "any", "squash"
	c.host1(func(s *forgetest.Settings) {
		s.Required["main"], s.Rules["main"] = []string{"build"}, []string{"biuld", "security scan"}
	})
	said := c.finds(0)
	require.Contains(t, said, "pull requests may be merged by squash, which merge names\n")
	require.Contains(t, said, "warn  APP          the ruleset 42 of acme/app demands the check biuld, and nothing has reported one of that name on main: cards wait for it, at most 6h0m0s, ")
	require.Contains(t, said, "whoever may write there can report it then: say who does, as in ci: [{name: biuld, app: …}]")
	require.Contains(t, said, "else correct the rule; did you mean build?\n")
	require.Contains(t, said, "demands the check security scan, ")
	require.NotContains(t, said, "demands the check build,")
}

// An app has its own rights, and signs git in as well.
func TestDoctorOfAnApp(t *testing.T) {
	c := newClinic(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	file := filepath.Join(c.dir, "app.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	delete(c.env, "GITHUB_TOKEN")
	c.env["GITHUB_APP_ID"], c.env["GITHUB_APP_KEY_FILE"] = "12345", file
	hostApp := forgetest.App{ID: "12345", Key: &key.PublicKey, Rights: map[string]string{"checks": "read", "statuses": "read", "actions": "read", "contents": "write", "pull_requests": "write", "issues": "write", "metadata": "read"}}
	c.host.SetApp(&hostApp)
	said := c.finds(0)
	require.Contains(t, said, "ok    github       the app is accepted\n")
	require.Contains(t, said, "the app signalbox has the permissions that cards of acme/app need\n")
	require.Equal(t, 1, c.host.Issued())
	delete(hostApp.Rights, "contents")
	said = c.finds(1)
	require.Contains(t, said, "the app signalbox lacks permissions for acme/app: contents (write): give them to it in its settings")
	hostApp.ID = "another"
	said = c.finds(1)
	require.Contains(t, said, "look whether ORCH_GITHUB_APP_KEY is a private key of the app ORCH_GITHUB_APP_ID")
	require.NotContains(t, said, "PRIVATE")
	none, err := task.NewProjects()
	require.NoError(t, err)
	s, err := app.Load([]string{"ORCH_GITHUB_TOKEN=github-token", "ORCH_GITHUB_APP_ID=1", "ORCH_GITHUB_APP_KEY_FILE=" + file})
	require.NoError(t, err)
	require.ErrorContains(t, s.NeedsToServe(none), "ORCH_GITHUB_TOKEN and ORCH_GITHUB_APP_KEY are set")
	_, err = app.Load([]string{"ORCH_GITHUB_APP_ID=1"})
	require.ErrorContains(t, err, "ORCH_GITHUB_APP_ID and ORCH_GITHUB_APP_KEY must be set together")
}

// With --fix columns and webhooks are made, once.
func TestDoctorFixes(t *testing.T) {
	c := newClinic(t)
	require.NoError(t, c.board.RemoveState(c.project, "Approved"))
	require.NoError(t, c.board.RemoveState(c.project, "STOP"))
	require.NoError(t, c.board.RemoveState(c.project, "In Review")) // In Progress would serve
	c.host1(func(s *forgetest.Settings) { s.Hooks = nil })
	for range 2 {
		said, wrong := c.examine(app.Examination{Fix: true})
		require.Zero(t, wrong, said)
		require.Contains(t, said, "every board status has a column\n")
	}
	require.Equal(t, []forgetest.Hook{{URL: target, ContentType: "json", Secret: "github-webhook-secret-of-128-bits", Events: github.HookEvents(), Active: true}}, c.host.Settings("acme/app").Hooks)
	made := map[string]planetest.State{}
	for _, s := range c.board.States(c.project) {
		require.NotContains(t, made, s.Name)
		made[s.Name] = s
	}
	require.Equal(t, "started", made["Approved"].Group)
	require.Contains(t, made, "In Review")
	require.Equal(t, "cancelled", made["STOP"].Group)

	require.NoError(t, c.board.RemoveState(c.project, "Approved"))
	c.board.SetRole(c.project, "bot", planetest.Guest)
	said, wrong := c.examine(app.Examination{Fix: true})
	require.Equal(t, 3, wrong, said)
	require.Contains(t, said, "add a column Approved to the board yourself, or let the token's account be a member of the project")
	require.NotContains(t, said, "plane-token")
}

// Doctor makes a card on the board, waits for its webhook, and takes the card away.
func TestDoctorMakesACard(t *testing.T) {
	c := newClinic(t)
	free := httptest.NewServer(nil)
	free.Close()
	c.env["LISTEN"] = free.Listener.Addr().String()
	c.board.SetHookURL("http://" + c.env["LISTEN"] + "/webhooks/tracker")
	said, wrong := c.examine(app.Examination{Card: true})
	require.Zero(t, wrong, said)
	require.Contains(t, said, "ok    APP          a card was made on the board, moved, commented on, and taken away\n")
	require.Contains(t, said, "ok    plane        the last webhook came at ")
	require.Equal(t, planetest.Deleted, c.board.Items(c.project)[0].Gone)

	c.board.SetRole(c.project, "bot", planetest.Guest)
	said, wrong = c.examine(app.Examination{Card: true})
	require.Equal(t, 2, wrong, "the guest, too")
	require.Contains(t, said, "FAIL  APP          a card cannot be made on the board: ")
	require.Len(t, c.board.Items(c.project), 1)
}
