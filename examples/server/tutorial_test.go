package main

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// step is a line of a command, or what a person does.
type step struct{ command, person string }

// unrun are commands of the documentation that no test runs, and why not.
func unrun() map[string]string {
	const daemon, cluster, boot = "needs a daemon of containers", "needs a cluster", "needs systemd as the first process, and its packages"
	return map[string]string{
		"docker compose up --detach": daemon, "docker compose exec signalbox signalbox doctor": daemon, "docker compose logs signalbox": daemon,
		"kubectl apply --filename kubernetes.yaml": cluster, "kubectl rollout status statefulset/signalbox": cluster,
		"sudo apt-get install ./signalbox_*.deb": boot, "sudo systemctl enable --now signalbox": boot, "sudo systemctl reload signalbox": boot,
		"openssl rand -hex 32 | sudo tee /etc/signalbox/credentials/admin_token": boot,
	}
}

// steps reads a section of the documentation, or a whole page without a heading: the lines of
// its blocks sh, and what a person does. Other blocks are no commands.
func steps(t *testing.T, file, heading string) (out []step) {
	t.Helper()
	fence := ""
	for line := range strings.Lines(section(t, file, heading)) {
		line = strings.TrimSuffix(line, "\n")
		person, isPerson := strings.CutPrefix(line, "<!-- person: ")
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = line
		case line == "```":
			fence = ""
		case fence == "```sh":
			if _, not := unrun()[line]; !not {
				out = append(out, step{command: line})
			}
		case isPerson:
			out = append(out, step{person: strings.TrimSuffix(person, " -->")})
		}
	}
	require.Empty(t, fence)
	return out
}

// reader is somebody who types what the tutorial says into a shell.
type reader struct {
	*newcomer
	home  string // where the reader begins
	in    io.Writer
	out   *bufio.Reader
	serve []int // the numbers of the servers' processes
}

// read gives somebody a shell, in an empty directory, where the program is in the path.
func (n *newcomer) read(env ...string) *reader {
	n.Helper()
	home := n.TempDir()
	bin := filepath.Join(home, "bin")
	require.NoError(n, os.Mkdir(bin, 0o700))
	self, err := os.Executable()
	require.NoError(n, err)
	require.NoError(n, os.Symlink(self, filepath.Join(bin, "signalbox")))
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
	r := &reader{newcomer: n, home: n.dir, in: in, out: bufio.NewReader(out)}
	n.Cleanup(func() {
		for _, pid := range r.serve {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it ends its agents, too
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

// listens is the address that a command gives a server.
var listens = regexp.MustCompile(`ORCH_LISTEN=(\S+)`)

// serves starts a server in the background, where a person would use another terminal.
func (r *reader) serves(command string) {
	r.Helper()
	if at := listens.FindStringSubmatch(command); at != nil {
		r.addr = at[1]
	}
	said := r.types(fmt.Sprintf("%s >serve-%d.log 2>&1 & echo $!", command, len(r.serve)))
	number, err := strconv.Atoi(strings.TrimSpace(said))
	require.NoError(r, err)
	r.serve = append(r.serve, number)
	r.until("the server gets ready", func() bool {
		var into any
		return r.get("/readyz", &into)
	})
}

// stops ends a server that was started, with a signal such as TERM, and waits until it is gone.
func (r *reader) stops(which int, signal string) {
	r.Helper()
	r.types(fmt.Sprintf("kill -%s %d; wait %d || true", signal, r.serve[which], r.serve[which]))
}

// follow does what a page says; persons are what is done besides, mostly on the board.
func (r *reader) follow(steps []step, persons map[string]func()) (said map[string]string) {
	r.Helper()
	said = map[string]string{}
	for _, s := range steps {
		switch {
		case s.person != "":
			require.Contains(r, persons, s.person)
			persons[s.person]()
		case strings.HasSuffix(s.command, "signalbox serve"):
			r.serves(s.command)
		default:
			said[s.command] += r.types(s.command)
		}
	}
	return said
}

// Each command of the tutorial does what the tutorial says.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("make long plays it")
	}
	t.Parallel()
	r := newNewcomer(t).read()
	d := &doer{reader: r}
	said := r.follow(steps(t, "../../docs/tutorial.md", ""), map[string]func(){"begins a card": d.begins, "approves it": d.approves})
	require.Equal(t, string(stage.StatusDone), story(t, r.desk(), d.id).Column)
	require.Contains(t, said["signalbox why APP-1"], "do: Set Approved on the card")
	require.Contains(t, said["git log --oneline"], "APP-1: rehearsal of the developer")
	require.Contains(t, said["ls docs/work docs/work/APP-1"], "rehearsal-APP-1.md")
	require.Contains(t, said["git remote -v"], "data/repositories/local/app.git")
}

// doer does what a person does with a card of our own board.
type doer struct {
	*reader
	kim *browser
	id  string
}

func (d *doer) begins() {
	d.Helper()
	d.parts.dir = filepath.Join(d.home, "app")
	d.data = filepath.Join(d.parts.dir, "data")
	d.kim = d.sign()
	d.id = d.kim.begin("app", "My first card")
	d.until("the analyst finishes", func() bool { return d.task(d.id).Hold == "approval" && !owed(d.task(d.id)) })
}

func (d *doer) approves() {
	d.Helper()
	d.kim.submit("board/cards/"+d.id+"/move", url.Values{"column": {"approved"}})
	d.until("it is done", func() bool { return d.isOver(d.id) && !owed(d.task(d.id)) })
}
