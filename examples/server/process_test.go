package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/examples/server/command"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// TestMain lets the test's own program be the server, its commands and the agents' shim.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(command.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// agentScript is an agent: it does the work of its role and commits it. A
// file with the name of a work item, a role and a phase is read first: it makes
// that agent do something else.
const agentScript = `set -e
docs=$SIGNALBOX_DOCS
mkdir -p "$docs"
echo "$SIGNALBOX_WORK_ITEM $SIGNALBOX_ROLE $SIGNALBOX_PHASE task=$SIGNALBOX_TASK_ID run=$SIGNALBOX_RUN attempt=$SIGNALBOX_ATTEMPT" >>"$WORLD_DIR/runs"
verdict() { printf -- '---\nverdict: %s\nsha: %s\nsummary: by a script\n---\n' "$1" "$SIGNALBOX_SHA" >"$SIGNALBOX_REPORT"; }
keep() { git add --all; git diff --cached --quiet || git commit --quiet -m "$SIGNALBOX_ROLE"; }
fixed() { [ -e "$WORLD_DIR/${SIGNALBOX_WORK_ITEM%-*}-fixed" ]; }
await() { while ! [ -e "$1" ]; do sleep 0.02; done; }
instead="$WORLD_DIR/$SIGNALBOX_WORK_ITEM-$SIGNALBOX_ROLE$SIGNALBOX_PHASE"
if [ -e "$instead" ]; then . "$instead"; fi
case "$SIGNALBOX_ROLE/$SIGNALBOX_STAGE/$SIGNALBOX_PHASE" in
analyst/*) echo r >"$docs/requirements.md"; echo a >"$docs/acceptance.md" ;;
architect/*) echo d >"$docs/design.md" ;;
developer/*) mkdir -p src; echo "$SIGNALBOX_WORK_ITEM" >"src/$SIGNALBOX_WORK_ITEM" ;;
reviewer/*) verdict approved ;;
tester/*) verdict passed ;;
deployer/deploy-staging/*) verdict success ;;
deployer/deploy/a) echo p >"$docs/deploy-plan.md" ;;
*) echo "$SIGNALBOX_SHA" >>"$WORLD_DIR/deployed-$SIGNALBOX_WORK_ITEM"; verdict success ;;
esac
keep
echo done
`

// place is a repository and its board.
type place struct {
	prefix, id, repo, bare string
	self                   bool   // it hosts the service, which is looked at after a deployment
	remote                 bool   // git reaches it by HTTP
	plain                  bool   // it has no git host
	monitor                string // what is looked at after a deployment: a path of the outside world, or an address; empty = the service
	more                   string // of its entry in the registry, as ", key: value"
}

// operatorToken is ORCH_ADMIN_TOKEN.
const operatorToken = "the operator's token"

// world is everything outside the service, and the service as a process, as a
// test sees it.
type world struct {
	*testing.T
	*parts
}

// in is the world of a part of the test.
func (w *world) in(t *testing.T) *world { return &world{T: t, parts: w.parts} }

// parts holds the parts of a world.
type parts struct {
	dir      string // where agents may write
	data     string // of the service
	board    *planetest.Server
	host     *forgetest.Server
	chat     *telegramtest.Server
	sick     map[string]*fakehttp.Switch // by neighbour
	places   map[string]*place
	outer    *httptest.Server
	registry string // as it was at first
	addr     string

	mu      sync.Mutex
	calls   []call // of the service to the board
	env     map[string]string
	cmd     *exec.Cmd
	ended   chan struct{}
	merge   map[string]chan struct{} // merges wait for its end, by repository
	merging map[string]bool          // one does

	decided []telegramtest.Button // of questions in the chat
}

// conclude is CI: it says what the commit's file ci says (failure, or none for no result at
// all), and success when there is no such file.
func conclude(p forgetest.Push) forgetest.Outcome {
	file, err := p.File("ci")
	switch word := strings.TrimSpace(string(file)); {
	case err != nil || word == "":
		return forgetest.Outcome{Conclusion: "success", Title: "built"}
	case word == "none":
		return forgetest.Outcome{}
	default:
		return forgetest.Outcome{Conclusion: word, Title: "not built"}
	}
}

// isEveryday reports whether a world is played by the quick suite too: a whole life, a STOP
// over a restart, agents that forge verdicts, and a first card.
func isEveryday(test string) bool {
	name, _, _ := strings.Cut(test, "/")
	return slices.Contains([]string{"TestWholeLife", "TestStopOutlivesTheServer", "TestForgedVerdictsAreNone", "TestFromNothing"}, name)
}

// newWorld makes the outside world and starts the server.
func newWorld(t *testing.T, settings map[string]string, places ...*place) *world {
	t.Helper()
	if testing.Short() && !isEveryday(t.Name()) {
		t.Skip("make long plays it")
	}
	w := &world{T: t, parts: &parts{dir: t.TempDir(), data: filepath.Join(t.TempDir(), "data"), places: map[string]*place{}, merge: map[string]chan struct{}{}, merging: map[string]bool{}}}
	w.environment(settings)
	w.board = planetest.New(planetest.Options{Workspace: "w", RateLimit: 1_000_000, Drag: 60 * time.Millisecond, Tokens: w.accounts(), Secret: w.env["PLANE_WEBHOOK_SECRET"]})
	w.host = forgetest.NewGitHub(forgetest.Options{Token: w.env["GITHUB_TOKEN"], Secret: w.env["GITHUB_WEBHOOK_SECRET"], CI: conclude})
	w.chat = telegramtest.New(cmp.Or(w.env["TELEGRAM_TOKEN"], chatToken))
	w.outer = httptest.NewServer(w.neighbours())
	w.Cleanup(func() {
		if t.Failed() {
			w.logState()
		}
		w.end(syscall.SIGTERM)
		w.board.Close()
		w.host.Close()
		w.outer.CloseClientConnections() // a merge that is held up would keep it open
		w.outer.Close()
		if t.Failed() {
			body, _ := os.ReadFile(filepath.Join(w.dir, "server.log"))
			t.Logf("the server's log ends with:\n%s", body[max(0, len(body)-8000):])
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.addr = l.Addr().String()
	require.NoError(t, l.Close())
	for name, at := range map[string]string{"LISTEN": w.addr, "PLANE_URL": w.outer.URL + "/plane", "GITHUB_URL": w.outer.URL + "/github", "TELEGRAM_URL": w.outer.URL + "/telegram"} {
		w.env[name] = cmp.Or(settings[name], at)
	}
	w.board.SetHookURL("http://" + w.addr + "/webhooks/tracker")
	w.host.SetHookURL("http://" + w.addr + "/webhooks/githost")
	w.write("agent.sh", agentScript)
	w.found(places)
	w.start()
	return w
}

// logState logs the server's state when a test has failed.
func (w *world) logState() {
	var v json.RawMessage
	w.get("/queue", &v)
	w.Logf("the queue: %s\nagents:\n%s", v, w.read("runs"))
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, _ := os.ReadFile(d + "/environ")
		if line, err := os.ReadFile(d + "/cmdline"); err == nil && bytes.Contains(env, []byte(w.dir)) {
			stat, _ := os.ReadFile(d + "/stat")
			w.Logf("%q %.60s", line, stat)
		}
	}
}

func (w *world) environment(settings map[string]string) {
	w.env = map[string]string{
		"CONFIG": "none", "DATA_DIR": w.data, "JAIL_WRITE": w.dir, "PROJECTS": w.path("projects.yaml"), "ADMIN_TOKEN": operatorToken, "LOG_LEVEL": "debug",
		"AGENT": "sh " + w.path("agent.sh"), "AGENT_ENV": "WORLD_*", "AGENT_TERM_GRACE": "300ms", "AGENT_TIMEOUT": "5m", "MAX_CONCURRENCY": "8",
		"POLL": "30ms", "JOB_TTL": "5s", "STATUS_DEFER": "40ms", "RECONCILE_INTERVAL": "300ms", "CI_POLL": "200ms", "MERGE_DEFER_DELAY": "200ms",
		"PLANE_WORKSPACE": "w", "PLANE_TOKEN": "plane-token", "PLANE_WEBHOOK_SECRET": "plane-webhook-secret-of-128-bits",
		"GITHUB_TOKEN": "github-token", "GITHUB_WEBHOOK_SECRET": "github-webhook-secret-of-128-bits",
	}
	for name, value := range settings {
		w.env[name] = value
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, body string) {
	w.Helper()
	require.NoError(w, os.WriteFile(w.path(name), []byte(body), 0o600))
}

func (w *world) read(name string) string {
	body, _ := os.ReadFile(w.path(name)) // what is not there says nothing
	return string(body)
}

// git runs git as a person would.
func (w *world) git(dir string, args ...string) string {
	w.Helper()
	return gittest.Run(w, dir, append([]string{"-c", "safe.directory=*"}, args...)...)
}

func (w *world) commit(dir, name, body string) string {
	w.Helper()
	require.NoError(w, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600))
	w.git(dir, "add", "--all")
	w.git(dir, "commit", "--quiet", "-m", name)
	return w.git(dir, "rev-parse", "HEAD")
}

// start starts the server and waits until it is ready.
func (w *world) start() {
	w.Helper()
	w.launch()
	w.until("the server gets ready", func() bool {
		resp, err := http.Get("http://" + w.addr + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
}

// launch starts the server. Its number is in a file, for the agent that ends it.
func (w *world) launch() {
	w.Helper()
	log, err := os.OpenFile(w.path("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(w, err)
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", "serve") // ended by the test
	cmd.Env = w.environ()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, &syscall.SysProcAttr{Setpgid: true}
	require.NoError(w, cmd.Start())
	w.write("server.pid", fmt.Sprint(cmd.Process.Pid))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is the test's business
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cmd, w.ended = cmd, ended
}

func (w *world) process() (*exec.Cmd, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cmd, w.ended
}

// end ends the server with a signal and waits until it is gone.
func (w *world) end(s syscall.Signal) {
	if cmd, ended := w.process(); cmd != nil {
		_ = cmd.Process.Signal(s) // it may be gone already
		<-ended
	}
}

// until waits for something that happens in another process. With five busy processes a
// core, of which some are hostile agents that fork on and on, it was not there after 30 s once.
func (w *world) until(what string, is func() bool) {
	w.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		require.True(w, time.Now().Before(deadline), "it never happens that %s", what)
	}
}

// card puts a card on a board, as a person would.
func (w *world) card(prefix, title string) string {
	w.Helper()
	id, err := w.board.AddItem(w.places[prefix].id, title, "<p>what is wanted</p>")
	require.NoError(w, err)
	return id
}

// move moves a card as a person does.
func (w *world) move(item, column string) {
	w.Helper()
	require.NoError(w, w.board.Move(item, column))
}

func (w *world) column(item string) string {
	for _, i := range w.board.Items("") {
		if i.ID == item {
			return i.StateName
		}
	}
	return ""
}

// get reads a path of the server; false when it does not answer.
func (w *world) get(path string, into any) bool {
	base, client := "http://"+w.addr, http.DefaultClient
	if socket, is := strings.CutPrefix(w.addr, socketKind); is {
		base, client = "http://127.0.0.1", through(socket)
	}
	resp, err := client.Get(base + path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(into) == nil
}

// tasks lists all tasks of a card, dead ones too.
func (w *world) tasks(item string) (out []web.TaskDetail) {
	var list web.TaskList
	if !w.get("/tasks", &list) {
		return nil
	}
	for _, t := range list.Tasks {
		var d web.TaskDetail
		if strings.HasPrefix(t.TrackerIssueID, item) && w.get(fmt.Sprintf("/tasks/%d", t.ID), &d) {
			out = append(out, d)
		}
	}
	return out
}

// task is a card's newest task; the zero value when it has none.
func (w *world) task(item string) web.TaskDetail {
	if list := w.tasks(item); len(list) > 0 {
		return list[len(list)-1]
	}
	return web.TaskDetail{}
}

// approve waits for the analyst and approves what it has written.
func (w *world) approve(item string) {
	w.Helper()
	w.analysed(item)
	w.move(item, "Approved")
}

// runs are the agents that were started for a work item.
func (w *world) runs(workItem string) (out []string) {
	for line := range strings.Lines(w.read("runs")) {
		if rest, ok := strings.CutPrefix(line, workItem+" "); ok {
			out = append(out, strings.TrimSpace(rest))
		}
	}
	return out
}

// post is a request of an operator.
func (w *world) post(path string) int {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+w.addr+path, bytes.NewReader(nil))
	require.NoError(w, err)
	req.Header.Set("Authorization", "Bearer "+operatorToken)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	require.NoError(w, resp.Body.Close())
	return resp.StatusCode
}

// put writes a file that may be executed.
func put(t testing.TB, body string, path ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(path...), []byte(body), 0o700))
}

func contents(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	return body
}
