package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// newcomer is somebody with git, the program and a repository, and nothing else: no setting,
// no account, no agent.
type newcomer struct {
	*world
	env []string // beside PATH and HOME
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	if testing.Short() && !isEveryday(t.Name()) {
		t.Skip("make long plays it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	dir := filepath.Join(t.TempDir(), "app")
	n := &newcomer{world: &world{T: t, parts: &parts{dir: dir, data: filepath.Join(dir, "data"), addr: l.Addr().String(), env: map[string]string{}}}}
	require.NoError(t, os.Mkdir(dir, 0o700))
	n.git(dir, "init", "--quiet", "--initial-branch=trunk")
	n.commit(dir, "README", "an app\n")
	return n
}

// lines collects what a process prints while it runs.
type lines struct {
	mu   sync.Mutex
	body bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.body.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.body.String()
}

// command is the program with arguments, as a process of its own.
func (n *newcomer) command(args ...string) (*exec.Cmd, *lines) {
	cmd := exec.CommandContext(n.Context(), "/proc/self/exe", args...)
	cmd.Dir, cmd.Env = n.dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(n.dir)}, n.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &lines{}
	cmd.Stdout, cmd.Stderr = said, said
	return cmd, said
}

// do runs a command to its end.
func (n *newcomer) do(args ...string) (said string, ok bool) {
	n.Helper()
	cmd, out := n.command(args...)
	err := cmd.Run()
	return out.String(), err == nil
}

// token is that of the file of settings.
func (n *newcomer) token() (token string) {
	n.Helper()
	pairs, err := app.ReadEnvFile(n.path(app.EnvFile))
	require.NoError(n, err)
	for _, pair := range pairs {
		if value, is := strings.CutPrefix(pair, "ORCH_ADMIN_TOKEN="); is {
			token = value
		}
	}
	require.Len(n, token, 64)
	return token
}

// sign opens the board as somebody who has read the token.
func (n *newcomer) sign() *browser {
	n.Helper()
	token := n.token()
	jar, err := cookiejar.New(nil)
	require.NoError(n, err)
	b := &browser{n.world, &http.Client{Jar: jar, Timeout: 30 * time.Second}}
	b.submit("session", url.Values{"token": {token}})
	b.submit("board/name", url.Values{"name": {"Kim"}, "next": {"board"}})
	return b
}

// bare is the copy of the repository in which main moves.
func (n *newcomer) bare() string { return filepath.Join(n.data, "repositories", "local", "app.git") }

// heads are the branches there, each with its commit.
func (n *newcomer) heads() string {
	return n.git(n.bare(), "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
}

// left are directories of rehearsals that are still there.
func (n *newcomer) left() []string {
	found, _ := filepath.Glob(filepath.Join(n.data, "rehearsal-*"))
	return found
}

// From a repository to a card that is Done: two commands, and a card that is moved twice.
func TestFromNothing(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	require.NoError(t, os.WriteFile(n.path("ci.sh"), []byte("#!/bin/sh\ntest -e README\n"), 0o700))
	n.git(n.dir, "add", "--all")
	n.git(n.dir, "commit", "--quiet", "-m", "CI")
	main := "trunk " + n.git(n.dir, "rev-parse", "HEAD")

	said, ok := n.do("init", "--listen", n.addr, "--ci", "./ci.sh", "--agent", "rehearse")
	require.True(t, ok, said)
	for _, at := range stage.Stages() {
		if at != stage.Cancelled {
			require.Contains(t, said, "rehearsal: "+string(at)+"\n")
		}
	}
	require.Contains(t, said, "a card of local/app went through every stage, and nothing is left of it")
	require.NotContains(t, said, "FAIL")
	require.Equal(t, main, n.heads(), "the rehearsal has not moved main, and left no branch")
	require.Empty(t, n.left())
	require.Equal(t, "?? projects.yaml", n.git(n.dir, "status", "--short"), "no secret can be committed")
	files := map[string][]byte{}
	for _, name := range []string{"projects.yaml", app.EnvFile, ".git/info/exclude", ".git/config"} {
		body := contents(t, n.path(name))
		files[name] = body
	}
	info, err := os.Stat(n.path(app.EnvFile))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	said, ok = n.do("init", "--no-rehearse", "--prefix", "OTHER", "--agent", "claude", "--listen", "127.0.0.1:1")
	require.True(t, ok, said)
	require.Contains(t, said, "projects.yaml: has local/app, with cards APP-…; kept as it is\nprojects.yaml:7: project 1 (local/app): prefix: --prefix is not taken: change it here\n")
	require.Contains(t, said, "ORCH_AGENT is rehearse: --agent is not taken: change it here\n")
	require.Contains(t, said, "signalbox.env: complete, nothing was changed\n")
	for name, body := range files {
		require.Equal(t, string(body), string(contents(t, n.path(name))), name)
	}

	said, ok = n.do("doctor", "--json", "--probe")
	require.True(t, ok, said)
	var report struct{ Findings []app.Finding }
	require.NoError(t, json.Unmarshal([]byte(said), &report))
	require.Contains(t, report.Findings, app.Finding{Level: app.LevelOK, What: "APP", Text: "ci: ./ci.sh"})
	require.Contains(t, report.Findings, app.Finding{Level: app.LevelOK, What: "APP", Text: "agent rehearse has run, as it will for cards"})

	id, end := n.firstCard()
	defer end()
	require.Equal(t, "trunk "+n.task(id).MergeSHA, n.heads())
	require.Equal(t, n.task(id).MergeSHA, n.git(n.dir, "ls-remote", "signalbox", "refs/heads/trunk")[:40], "it can be pulled")
}

// firstCard serves, until end is called, and takes a card to Done.
func (n *newcomer) firstCard() (id string, end func()) {
	n.Helper()
	serve, log := n.command("serve")
	require.NoError(n, serve.Start())
	end = func() {
		require.NoError(n, serve.Process.Signal(syscall.SIGTERM))
		require.NoError(n, serve.Wait(), log)
	}
	n.until("the server gets ready", func() bool {
		var into any
		return n.get("/readyz", &into)
	})
	kim, desk := n.sign(), n.desk()
	id = kim.begin("app", "My first card")
	n.until("the analyst finishes", func() bool { return story(n.T, desk, id).Column == string(stage.StatusInReview) })
	kim.submit("board/cards/"+id+"/move", url.Values{"column": {"approved"}})
	n.until("it is done", func() bool { return story(n.T, desk, id).Column == string(stage.StatusDone) && !owed(n.task(id)) })
	return id, end
}

// A rehearsal that fails says where and why, and one that is stopped leaves nothing either.
func TestRehearsalIsCleanedUp(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	require.NoError(t, os.WriteFile(n.path("ci.sh"), []byte("#!/bin/sh\nif [ -e docs/work ]; then echo no documents here; exit 1; fi\n"), 0o700))
	n.git(n.dir, "add", "--all")
	n.git(n.dir, "commit", "--quiet", "-m", "CI")
	said, ok := n.do("init", "--listen", n.addr, "--ci", "./ci.sh", "--agent", "rehearse")
	require.False(t, ok)
	require.Contains(t, said, "local/app: the rehearsal was sent back to development: ")
	require.Contains(t, said, "no documents here")
	require.Equal(t, "trunk "+n.git(n.dir, "rev-parse", "HEAD"), n.heads())
	require.Empty(t, n.left())

	work := filepath.Join(t.TempDir(), "work")
	n.git(filepath.Dir(work), "clone", "--quiet", n.bare(), work)
	put(t, "#!/bin/sh\nsleep 600\n", work, "ci.sh")
	n.git(work, "commit", "--quiet", "--all", "-m", "it takes long")
	n.git(work, "push", "--quiet", "origin", "trunk")
	cmd, out := n.command("init")
	require.NoError(t, cmd.Start())
	n.until("the developer is at work", func() bool { return strings.Contains(out.String(), "rehearsal: development\n") })
	require.Contains(t, n.heads(), "signalbox-rehearsal-")
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Contains(t, out.String(), "the rehearsal was stopped at development")
	require.Equal(t, "trunk "+n.git(work, "rev-parse", "HEAD"), n.heads())
	require.Empty(t, n.left())
	n.until("nothing of it runs any more", func() bool { return len(n.processes("ci.sh")) == 0 })

	t.Log("what one that is killed has left, the next one removes")
	cmd, out = n.command("init")
	require.NoError(t, cmd.Start())
	n.until("CI runs", func() bool { return len(n.processes("ci.sh")) > 0 })
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	n.until("nothing of it runs any more", func() bool { return len(n.processes("ci.sh")) == 0 })
	require.Len(t, n.left(), 1)
	require.Equal(t, 3, strings.Count(n.heads()+"\n", "\n"), "main, the base and the card's branch: %s", n.heads())
	put(t, "#!/bin/sh\n", work, "ci.sh")
	n.git(work, "commit", "--quiet", "--all", "-m", "it takes no time")
	n.git(work, "push", "--quiet", "origin", "trunk")
	said, ok = n.do("init")
	require.True(t, ok, said)
	require.Equal(t, "trunk "+n.git(work, "rev-parse", "HEAD"), n.heads())
	require.Empty(t, n.left())
}
