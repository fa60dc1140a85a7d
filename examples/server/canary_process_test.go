package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

// thief is an agent that looks for secrets wherever it may, and puts what it has found into
// everything that it leaves behind: its output, a failure, its report.
const thief = `found() { printf 'allowed: %s\n' "$WORLD_API_KEY"; cat "$WORLD_DIR/loot"; env; cat /proc/*/environ | tr '\0' '\n'; }
found 2>&1; env | base64 -w0; head -n 1 "$WORLD_DIR/loot" | base64 -w0
printf '%s' "$WORLD_API_KEY" >"$WORLD_DIR/control"
if [ "$SIGNALBOX_ROLE$SIGNALBOX_ATTEMPT" = developer1 ]; then echo "401 for $WORLD_API_KEY and $(cat "$WORLD_DIR/loot")" >&2; exit 3; fi
verdict() { printf -- '---\nverdict: %s\nsha: %s\nsummary: saw %s and %s\n---\n' "$1" "$SIGNALBOX_SHA" "$WORLD_API_KEY" "$(head -n 1 "$WORLD_DIR/loot")" >"$SIGNALBOX_REPORT"; }
`

// shows returns how a text stands in a body: as it is, as in an address, or within base64;
// empty: it does not.
func shows(body []byte, text string) string {
	for _, spelling := range spellings(text) {
		if bytes.Contains(body, []byte(spelling)) {
			return spelling
		}
	}
	return ""
}

func spellings(text string) []string {
	out := []string{text, url.QueryEscape(text), url.PathEscape(text)}
	for before := range 3 { // what the bytes around it do not change
		code := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		out = append(out, code[4:len(code)-6])
	}
	return out
}

// pages are the answers of the server: what its pages and its API lead to.
func (w *world) pages() map[string][]byte {
	w.Helper()
	out := map[string][]byte{}
	links := regexp.MustCompile(`(?:href|src)="([^"#]+)"`)
	for next := []string{"/", "/tasks", "/tasks/1", "/tasks/1/explain", "/queue", "/metrics", "/readyz", "/tasks/1/deps", "/events?after=0"}; len(next) > 0 && len(out) < 500; next = next[1:] {
		at := next[0]
		if _, seen := out[at]; seen {
			continue
		}
		client := http.Client{Timeout: 2 * time.Second} // streams do not end
		resp, err := client.Get("http://" + w.addr + at)
		require.NoError(w, err)
		body, _ := io.ReadAll(resp.Body)
		require.NoError(w, resp.Body.Close())
		out[at] = body
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			for _, found := range links.FindAllSubmatch(body, -1) {
				to, err := resp.Request.URL.Parse(html.UnescapeString(string(found[1])))
				require.NoError(w, err)
				if to.Host == w.addr {
					next = append(next, to.RequestURI())
				}
			}
			if path := resp.Request.URL.Path; strings.Contains(path, "/runs/") {
				next = append(next, path+"/log?all=1", path+"/log?all=1&errors=1")
			}
		}
	}
	return out
}

// sinks are all that the service has written or sent, by name.
func (w *world) sinks() map[string][]byte {
	w.Helper()
	out := w.pages()
	require.Greater(w, len(out), 20)
	require.NoError(w, filepath.WalkDir(w.data, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[name], err = os.ReadFile(name)
		}
		return err
	}))
	out["log"] = []byte(w.read("server.log"))
	for name, v := range map[string]any{"comments": w.board.Comments(""), "cards": w.board.Items(""), "chat": w.chat.Messages(), "pull requests": w.host.Pulls()} {
		body, err := json.Marshal(v)
		require.NoError(w, err)
		out[name] = body
	}
	out["history"] = []byte(w.git(w.places["APP"].bare, "log", "-p", "--all"))
	cmd, _ := w.process()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	require.True(w, err == nil || os.Getuid() != 0)
	out["environ"] = environ
	return out
}

// No secret of the service's settings, and none that an agent was given or has come by, is
// in anything that the service writes or sends in a card's whole life.
func TestCanaries(t *testing.T) {
	t.Parallel()
	canaries := map[string]string{"WORLD_API_KEY": rand.Text() + "+/&=?"}
	settings := map[string]string{
		"PROXY_USER_HEADER": "X-Forwarded-User", "PROXY_USERS_FROM": "192.0.2.1/32", "ACCESS_ROLES": "*=viewer", "PUBLIC_URL": "https://box.example.org",
		"WORLD_API_KEY": canaries["WORLD_API_KEY"], "TELEGRAM_CHAT_ID": "1", "MODEL_GATEWAY": "127.0.0.1:0", "CALL_TIMEOUT": "1s", "AGENT_RETRY_DELAYS": "1s,1s",
	}
	events := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // it takes all
	t.Cleanup(events.Close)
	files := t.TempDir() // out of the agents' reach
	for _, s := range app.List(nil) {
		name := strings.TrimPrefix(s.Name, app.Prefix)
		// This is a server with SQLite, which signs in with a token and has its chat at Telegram.
		if !s.Secret || slices.Contains([]string{"DATABASE_URL", "GITHUB_APP_KEY", "CHAT_URL", "CHAT_SECRET", "SLACK_TOKEN", "SLACK_APP_TOKEN"}, name) {
			continue
		}
		canaries[name] = rand.Text() + "+&="
		if name == "EVENTS_URL" || name == "OTLP_URL" {
			settings[name] = events.URL + "/" + canaries[name]
			continue
		}
		if !strings.HasSuffix(name, "_OLD") { // what no neighbour has to have
			settings[name] = canaries[name]
			continue
		}
		settings[name+"_FILE"] = filepath.Join(files, name)
		require.NoError(t, os.WriteFile(settings[name+"_FILE"], []byte(canaries[name]+"\n"), 0o600))
	}
	require.Greater(t, len(canaries), 12)
	w := newWorld(t, settings, &place{prefix: "APP"})
	w.write("loot", strings.Join(spellings(canaries["GITHUB_TOKEN"])[:3], "\n")+"\n"+base64.StdEncoding.EncodeToString([]byte(canaries["PLANE_TOKEN"]))+"\n")
	for _, role := range []string{"analyst", "developer", "reviewer", "tester"} {
		w.write("APP-1-"+role, thief)
	}
	w.sick["telegram"].Sicken(fakehttp.Hang) // its token is in the address of each call
	item := w.cardIn("APP", "A card with a life", "To Analyse")
	w.until("the chat is missed", func() bool { return strings.Contains(w.read("server.log"), "telegram: ") })
	w.sick["telegram"].Heal()
	w.approve(item)
	w.over(item)
	w.owesNothing()

	sinks := w.sinks()
	for name, canary := range canaries {
		for sink, body := range sinks {
			require.Empty(t, shows(body, canary), "%s has %s", sink, name)
		}
	}
	// The controls: the agent had the variable, it and the loot were printed and are starred, nothing
	// else is, and what is looked for could have been found.
	require.Equal(t, canaries["WORLD_API_KEY"], w.read("control"))
	loot := []byte(w.read("loot"))
	for _, name := range []string{"GITHUB_TOKEN", "PLANE_TOKEN"} {
		require.NotEmpty(t, shows(loot, canaries[name]), name)
	}
	out := string(sinks[filepath.Join(w.data, "logs", "task-1", "001-analyst-1.out")])
	require.Contains(t, out, "allowed: "+strings.Repeat("*", len(canaries["WORLD_API_KEY"]))+"\n"+strings.Repeat("*", len(canaries["GITHUB_TOKEN"]))+"\n")
	require.Contains(t, out, "WORLD_DIR="+w.dir+"\n")
	require.NotContains(t, out, "ORCH_")
	require.Contains(t, string(sinks["comments"])+string(sinks["history"]), "summary: saw *****")
	logs := 0
	for sink, body := range sinks {
		if strings.Contains(sink, "/log?all=1") && bytes.Contains(body, []byte("allowed: ***")) {
			logs++
		}
	}
	require.Positive(t, logs, "pages of logs were among them")
}
