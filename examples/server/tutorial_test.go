package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github/githubtest"
	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// step is a line of a command, or what a person does.
type step struct{ command, person string }

// chapters are the steps of docs/tutorial.md, one list for each heading of the second order.
func chapters(t *testing.T) (out [][]step) {
	t.Helper()
	body, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSuffix(line, "\n")
		person, isPerson := strings.CutPrefix(line, "<!-- person: ")
		switch {
		case strings.HasPrefix(line, "```"):
			require.True(t, inside || line == "```sh", "a block that no test runs: %s", line)
			inside = !inside
		case inside:
			out[len(out)-1] = append(out[len(out)-1], step{command: line})
		case strings.HasPrefix(line, "## "):
			out = append(out, nil)
		case isPerson:
			out[len(out)-1] = append(out[len(out)-1], step{person: strings.TrimSuffix(person, " -->")})
		}
	}
	require.Len(t, out, 2)
	return out
}

// reader is somebody who types what the tutorial says into a shell.
type reader struct {
	*newcomer
	in    io.Writer
	out   *bufio.Reader
	serve int // the number of the server's process
}

// read gives somebody a shell, in an empty directory, where the program is in the path.
func (n *newcomer) read(env ...string) *reader {
	n.Helper()
	home := n.TempDir()
	bin := filepath.Join(home, "bin")
	require.NoError(n, os.Mkdir(bin, 0o700))
	self, err := os.Executable()
	require.NoError(n, err)
	require.NoError(n, os.Symlink(self, filepath.Join(bin, program)))
	config := "[user]\n\tname = Kim\n\temail = kim@example.org\n[pull]\n\tff = only\n"
	require.NoError(n, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600))
	n.parts.dir = filepath.Join(home, "work")
	require.NoError(n, os.Mkdir(n.dir, 0o700))
	sh := exec.CommandContext(n.Context(), "sh")
	sh.Dir, sh.Env = n.dir, append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "ORCH_LISTEN=" + n.addr, "ORCH_CI_POLL=500ms"}, env...)
	in, err := sh.StdinPipe()
	require.NoError(n, err)
	out, err := sh.StdoutPipe()
	require.NoError(n, err)
	sh.Stderr = sh.Stdout
	require.NoError(n, sh.Start())
	r := &reader{newcomer: n, in: in, out: bufio.NewReader(out)}
	n.Cleanup(func() {
		if r.serve > 0 {
			_ = syscall.Kill(r.serve, syscall.SIGTERM) // it ends its agents, too
		}
		_ = in.Close()
		_ = sh.Wait() // what it ended with was looked at, line by line
	})
	return r
}

// types runs one line, which must succeed, and returns what it has printed.
func (r *reader) types(line string) (said string) {
	r.Helper()
	const end = "end of the line:"
	_, err := fmt.Fprintf(r.in, "%s\necho \"%s$?\"\n", line, end)
	require.NoError(r, err)
	for {
		text, err := r.out.ReadString('\n')
		require.NoError(r, err, said)
		if at := strings.Index(text, end); at >= 0 {
			said += text[:at]
			require.Equal(r, "0", strings.TrimSpace(text[at+len(end):]), "%s\n%s", line, said)
			return said
		}
		said += text
	}
}

// serves starts the server in the background, where a person would use another terminal.
func (r *reader) serves() {
	r.Helper()
	said := r.types(program + " serve >serve.log 2>&1 & echo $!")
	number, err := strconv.Atoi(strings.TrimSpace(said))
	require.NoError(r, err)
	r.serve = number
	r.until("the server gets ready", func() bool {
		var into any
		return r.get("/readyz", &into)
	})
}

// follow does what a chapter says; persons are what is done on the board.
func (r *reader) follow(steps []step, persons map[string]func()) (said map[string]string) {
	r.Helper()
	said = map[string]string{}
	for _, s := range steps {
		switch {
		case s.person != "":
			require.Contains(r, persons, s.person)
			persons[s.person]()
		case s.command == program+" serve":
			r.serves()
		default:
			said[s.command] += r.types(s.command)
		}
	}
	return said
}

// Each command of the tutorial does what the tutorial says.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("make check plays it")
	}
	t.Parallel()
	parts := chapters(t)
	t.Run("no account", func(t *testing.T) {
		t.Parallel()
		r := newNewcomer(t).read()
		var kim *browser
		var desk cards.Reader
		var id string
		said := r.follow(parts[0], map[string]func(){
			"begins a card": func() {
				r.parts.dir = filepath.Join(r.dir, "app")
				r.data = filepath.Join(r.dir, "data")
				kim, desk = r.sign(), r.desk()
				id = kim.begin("app", "My first card")
				r.until("the analyst finishes", func() bool { return story(t, desk, id).Column == string(stage.StatusInReview) })
			},
			"approves it": func() {
				kim.submit("board/cards/"+id+"/move", url.Values{"column": {"approved"}})
				r.until("it is done", func() bool { return story(t, desk, id).Column == string(stage.StatusDone) && !owed(r.task(id)) })
			},
		})
		require.Contains(t, said["signalbox why APP-1"], "do: Set Approved on the card")
		require.Contains(t, said["git log --oneline"], "APP-1: rehearsal of the developer")
		require.Contains(t, said["ls docs/work/APP-1"], "rehearsal.md")
		require.Contains(t, said["git remote -v"], "data/repositories/app.git")
	})
	t.Run("Plane and GitHub", func(t *testing.T) {
		t.Parallel()
		n := newNewcomer(t)
		bare := filepath.Join(t.TempDir(), "shop.git")
		n.git(n.dir, "clone", "--quiet", "--bare", n.dir, bare)
		n.git(bare, "branch", "--quiet", "-m", "trunk", "main")
		n.board = planetest.New(planetest.Options{Workspace: "team", RateLimit: 6000, Tokens: map[string]string{"the-token-of-plane": "bot"}, Secret: "plane-webhook-secret-of-128-bits", HookURL: "http://" + n.addr + "/webhooks/tracker"})
		n.host = githubtest.New(githubtest.Options{Token: "the-token-of-github", CI: conclude})
		require.NoError(t, n.host.AddRepo("acme/shop", bare))
		n.host.SetSettings("acme/shop", func(s *githubtest.Settings) { s.Admin, s.CloneURL = true, bare })
		project := n.board.AddProject("SHOP", "Backlog", "Todo", "In Progress", "Done")
		mux := http.NewServeMux()
		mux.Handle("/plane/", http.StripPrefix("/plane", n.board))
		mux.Handle("/github/", http.StripPrefix("/github", n.host))
		outer := httptest.NewServer(mux)
		t.Cleanup(func() { n.board.Close(); n.host.Close(); outer.Close() })
		r := n.read("ORCH_GITHUB_URL="+outer.URL+"/github", "ORCH_PLANE_WEBHOOK_SECRET=plane-webhook-secret-of-128-bits",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+bare+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/acme/shop.git")
		steps := parts[1]
		for i := range steps {
			steps[i].command = strings.ReplaceAll(steps[i].command, "https://plane.example.org", outer.URL+"/plane")
		}
		var id string
		said := r.follow(steps, map[string]func(){
			"begins a card": func() {
				var err error
				id, err = n.board.AddItem(project, "My first card", "<p>what is wanted</p>")
				require.NoError(t, err)
				n.move(id, "To Analyse")
			},
			"approves it": func() {
				n.approve(id)
				n.until("it is done", func() bool { return n.column(id) == "Done" && !owed(n.task(id)) })
			},
		})
		require.Contains(t, said["git log --oneline"], "SHOP-1: rehearsal of the developer")
		require.Contains(t, said["signalbox doctor --json"], `"findings"`)
		require.Len(t, n.host.Settings("acme/shop").Hooks, 1)
		require.Equal(t, "https://box.example.org/webhooks/githost", n.host.Settings("acme/shop").Hooks[0].URL)
	})
}
