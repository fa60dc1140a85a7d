package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/slack-go/slack/slacktest"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
)

const manual = "../../docs/operations.md"

// examples are addresses of the documentation, and what they are in a test.
type examples map[string]string

// section is the text below a heading of the second level, up to the next; all of the page without one.
func section(t *testing.T, file, heading string) string {
	t.Helper()
	body := contents(t, file)
	if heading == "" {
		return string(body)
	}
	_, text, found := strings.Cut(string(body), "\n## "+heading+"\n")
	require.True(t, found, "%s has no section %q", file, heading)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// Each command of the manual does what the manual says.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("make long plays it")
	}
	t.Parallel()
	played := map[string]func(t *testing.T, page []step){
		"Connect Plane and GitHub": planeAndGitHub, "Telegram": onTelegram, "Slack": onSlack, "PostgreSQL": onPostgreSQL, "Several servers": twoServers, "Back up and restore": backedUp,
		"Upgrade and roll back": func(*testing.T, []step) {}, // make drill
	}
	for _, part := range strings.Split(section(t, manual, ""), "\n## ")[1:] {
		heading, _, _ := strings.Cut(part, "\n")
		page := steps(t, manual, heading)
		if len(page) == 0 {
			continue
		}
		play, ok := played[heading]
		require.True(t, ok, "nobody follows %q", heading)
		delete(played, heading)
		t.Run(heading, func(t *testing.T) {
			t.Parallel()
			play(t, page)
		})
	}
	require.Empty(t, played, "the manual has no such sections")
	t.Run("the jail", func(t *testing.T) {
		t.Parallel()
		jailed(t, steps(t, "../../docs/agents.md", "The jail"))
	})
}

// Commands that no test runs are in the manual, each with its reason.
func TestUnrunCommands(t *testing.T) {
	for command, reason := range unrun() {
		require.NotEmpty(t, reason)
		require.Contains(t, section(t, manual, ""), "\n"+command+"\n", "no page has it any more")
	}
}

// settled is a reader in a repository that init has set up as the tutorial says.
func settled(t *testing.T, env ...string) *doer {
	t.Helper()
	return newNewcomer(t).read(env...).settle()
}

func (r *reader) settle() *doer {
	r.Helper()
	for _, line := range []string{
		"mkdir app", "cd app", "git init --quiet --initial-branch=main", "echo app > README.md", "git add README.md", "git commit --quiet -m Begin",
		"signalbox init --prefix APP --ci 'test -e README.md' --agent rehearse --no-rehearse",
	} {
		r.types(line)
	}
	return &doer{reader: r}
}

// as is the page with the test's addresses.
func (e examples) as(page []step) []step {
	for i := range page {
		for from, to := range e {
			page[i].command = strings.ReplaceAll(page[i].command, from, to)
		}
	}
	return page
}

func onTelegram(t *testing.T, page []step) {
	t.Helper()
	chat := telegramtest.New("123456:the-token-of-the-bot")
	outer := httptest.NewServer(chat)
	t.Cleanup(outer.Close)
	d := settled(t, "ORCH_TELEGRAM_URL="+outer.URL)
	said := d.follow(page, map[string]func(){"begins a card": d.begins})
	require.Regexp(t, `ok +telegram`, said["signalbox doctor"])
	require.Regexp(t, `ORCH_TELEGRAM_TOKEN +\*\*\* .*telegram-token`, said["signalbox config"])
	d.until("the chat has the task's message", func() bool { return len(chat.Messages()) > 0 })
}

func onSlack(t *testing.T, page []step) {
	t.Helper()
	var posted atomic.Int64
	outer := slacktest.NewTestServer(func(c slacktest.Customize) {
		c.Handle("/chat.postMessage", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"ok":true,"channel":"C0123ABCD","ts":"1.%d"}`, posted.Add(1))
		})
	})
	outer.Start()
	t.Cleanup(outer.Stop)
	d := settled(t, "ORCH_SLACK_URL="+outer.GetAPIURL())
	said := d.follow(page, map[string]func(){"begins a card": d.begins})
	require.Regexp(t, `ok +slack`, said["signalbox doctor"])
	d.until("the channel has the task's message", func() bool { return posted.Load() > 0 })
}

// database makes what the page's SQL says in a real PostgreSQL, and returns its address.
func database(t *testing.T) string {
	t.Helper()
	super := pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
	_, rest, _ := strings.Cut(section(t, manual, "PostgreSQL"), "```sql\n")
	sql, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	c, err := pgx.Connect(t.Context(), super)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	for line := range strings.Lines(sql) {
		_, err := c.Exec(t.Context(), line)
		require.NoError(t, err)
	}
	return "postgres:///signalbox?host=" + c.Config().Host + "&user=signalbox&password=a-password-that-is-long"
}

const documented = "postgres://signalbox:a-password-that-is-long@db.example.org/signalbox"

func onPostgreSQL(t *testing.T, page []step) {
	t.Helper()
	url := database(t)
	d := settled(t)
	d.parts.env["DATABASE_URL"] = url // of the desk
	d.parts.env["DATABASE_SCHEMA"] = "signalbox"
	said := d.follow(examples{documented: url}.as(page), map[string]func(){"begins a card": d.begins})
	require.Contains(t, said["signalbox doctor"], "PostgreSQL, database signalbox")
	require.Contains(t, said["signalbox tasks"], "APP-1")
}

func twoServers(t *testing.T, page []step) {
	t.Helper()
	url := database(t)
	d := settled(t)
	d.parts.env["DATABASE_URL"] = url
	addresses := examples{documented: "'" + url + "'"}
	for _, at := range []string{"127.0.0.1:8081", "127.0.0.1:8082"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addresses[at] = l.Addr().String()
		require.NoError(t, l.Close())
	}
	said := d.follow(addresses.as(page), map[string]func(){
		"begins a card":          func() { d.addr = addresses["127.0.0.1:8081"]; d.begins() },
		"kills the first server": func() { d.stops(0, "KILL"); d.addr = addresses["127.0.0.1:8082"]; d.kim = d.sign() },
		"approves it":            d.approves,
	})
	for _, at := range []string{"127.0.0.1:8081", "127.0.0.1:8082"} {
		require.Contains(t, said["signalbox tasks --server http://"+addresses[at]], "APP-1")
	}
}

func backedUp(t *testing.T, page []step) {
	t.Helper()
	d := settled(t)
	said := d.follow(page, map[string]func(){"begins a card": d.begins, "stops the server": func() { d.stops(0, "TERM") }})
	require.Contains(t, said["ls backup-monday"], "signalbox.db")
	require.Contains(t, said["signalbox restore backup-monday"], "signalbox.db.before-")
	require.Contains(t, said["signalbox tasks"], "APP-1")
}

func jailed(t *testing.T, page []step) {
	t.Helper()
	d := settled(t)
	said := d.follow(page, nil)
	require.Regexp(t, `(ok|warn) +jail`, said["signalbox doctor"])
	require.NotContains(t, said["signalbox doctor security"], "FAIL")
}

func planeAndGitHub(t *testing.T, page []step) {
	t.Helper()
	n := newNewcomer(t)
	bare := filepath.Join(t.TempDir(), "shop.git")
	n.git(n.dir, "clone", "--quiet", "--bare", n.dir, bare)
	n.git(bare, "branch", "--quiet", "-m", "trunk", "main")
	n.board = planetest.New(planetest.Options{Workspace: "team", RateLimit: 6000, Tokens: map[string]string{"the-token-of-plane": "bot"}, Secret: "plane-webhook-secret-of-128-bits", HookURL: "http://" + n.addr + "/webhooks/tracker"})
	n.host = forgetest.NewGitHub(forgetest.Options{Token: "the-token-of-github", CI: conclude})
	require.NoError(t, n.host.AddRepo("acme/shop", bare))
	n.host.SetSettings("acme/shop", func(s *forgetest.Settings) { s.Admin, s.CloneURL = true, bare })
	project := n.board.AddProject("SHOP", "Backlog", "Todo", "In Progress", "Done")
	mux := http.NewServeMux()
	mux.Handle("/plane/", http.StripPrefix("/plane", n.board))
	mux.Handle("/github/", http.StripPrefix("/github", n.host))
	outer := httptest.NewServer(mux)
	t.Cleanup(func() { n.board.Close(); n.host.Close(); outer.Close() })
	r := n.read("ORCH_GITHUB_URL="+outer.URL+"/github", "ORCH_PLANE_WEBHOOK_SECRET=plane-webhook-secret-of-128-bits",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+bare+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/acme/shop.git")
	var id string
	said := r.follow(examples{"https://plane.example.org": outer.URL + "/plane"}.as(page), map[string]func(){
		"begins a card": func() {
			var err error
			id, err = n.board.AddItem(project, "My first card", "<p>what is wanted</p>")
			require.NoError(t, err)
			n.move(id, "To Analyse")
		},
		"approves it": func() {
			n.approve(id)
			n.ends(id)
		},
	})
	require.Contains(t, said["git log --oneline"], "SHOP-2: rehearsal of the developer")
	require.Contains(t, said["signalbox doctor --json"], `"findings"`)
	require.Len(t, n.host.Settings("acme/shop").Hooks, 1)
	require.Equal(t, "https://box.example.org/webhooks/githost", n.host.Settings("acme/shop").Hooks[0].URL)
}
