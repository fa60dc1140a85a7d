//go:build linux

package gitcli_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// hooking is a kit whose main has programs, with the developer's checkout open.
func hooking(t *testing.T, j *work.Jail, main map[string]string) (*kit, work.Checkout) {
	t.Helper()
	k := setup(t)
	for name, body := range main {
		k.pushMain(name, "#!/bin/sh\n"+body)
	}
	k.shimmed(j)
	k.space.Role, k.space.Keep = stage.Developer, []string{"node_modules"}
	return k, k.reopen()
}

// shimmed is a new process that can run checks and hooks.
func (k *kit) shimmed(j *work.Jail) {
	k.Helper()
	k.g = openGit(k, gitcli.Options{Root: k.root, Shim: []string{"/proc/self/exe", "check-shim"}, Jail: j})
}

// hook runs a command that can be run.
func (k *kit) hook(want int, argv ...string) string {
	k.Helper()
	exit, said, err := k.g.RunHook(k.Context(), k.space, work.Hook{Argv: argv})
	require.NoError(k, err)
	require.Equal(k, want, exit, said)
	return said
}

// A hook works in the checkout, by main's program; what it changes there stays, in the words of
// the environment it finds the task, and nothing of ours.
func TestHook(t *testing.T) {
	t.Setenv("ORCH_GITHUB_TOKEN", "canary-of-a-token")
	k, at := hooking(t, nil, map[string]string{"bin/up": "test -f README.md && test -z \"$ORCH_GITHUB_TOKEN\" || exit 3\nmkdir -p node_modules\necho \"$SIGNALBOX_WORK_ITEM $1\" >node_modules/up\necho printed\nexit 0\n"})
	commit(t, at.Dir, "bin/up", "#!/bin/sh\nexit 9\n")
	k.take()
	at = k.reopen()
	var log bytes.Buffer
	exit, said, err := k.g.RunHook(t.Context(), k.space, work.Hook{Argv: []string{"./bin/up", "now"}, Env: map[string]string{"SIGNALBOX_WORK_ITEM": "APP-1"}, Log: &log})
	require.NoError(t, err)
	require.Equal(t, []any{0, "printed\n", "printed\n"}, []any{exit, said, log.String()}, "main's, not the branch's")
	body, err := os.ReadFile(filepath.Join(at.Dir, "node_modules", "up"))
	require.NoError(t, err)
	require.Equal(t, "APP-1 now\n", string(body))
	k.hook(4, "sh", "-c", "exit 4")
	for _, argv := range [][]string{nil, {"./bin/none"}, {"../x"}} {
		_, _, err := k.g.RunHook(t.Context(), k.space, work.Hook{Argv: argv})
		require.Error(t, err, argv)
	}
	left, err := filepath.Glob(filepath.Join(k.root, "check-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	k.close()
	_, _, err = k.g.RunHook(t.Context(), k.space, work.Hook{Argv: []string{"true"}})
	require.ErrorContains(t, err, "is not there")
}

// A check has a connection of its own, which is closed behind it; what that has refused are the
// last words.
func TestConnection(t *testing.T) {
	t.Parallel()
	k, _ := hooking(t, nil, nil)
	var opened, closed []string
	k.g = openGit(t, gitcli.Options{Root: k.root, Shim: []string{"/proc/self/exe", "check-shim"}, Connect: func(_ context.Context, repo string) (gitcli.Connection, error) {
		opened = append(opened, repo)
		return gitcli.Connection{Env: []string{"HTTPS_PROXY=http://proxy"}, Close: func() []work.Refusal {
			closed = append(closed, repo)
			return []work.Refusal{{Host: "evil.example.org:443", Times: 3}}
		}}, nil
	}})
	require.Equal(t, "http://proxy\nthe network refused evil.example.org:443 (3 times)\n", k.hook(0, "sh", "-c", "echo $HTTPS_PROXY"))
	_, _, err := k.g.RunHook(t.Context(), k.space, work.Hook{Argv: []string{"./none"}})
	require.Error(t, err, "nothing was run, and nothing opened")
	require.Equal(t, []string{k.space.Repo}, opened)
	require.Equal(t, opened, closed)
	k.g = openGit(t, gitcli.Options{Root: k.root, Shim: []string{"/proc/self/exe", "check-shim"}, Connect: func(context.Context, string) (gitcli.Connection, error) {
		return gitcli.Connection{}, errors.New("no way out")
	}})
	_, _, err = k.g.RunHook(t.Context(), k.space, work.Hook{Argv: []string{"true"}})
	require.ErrorContains(t, err, "no way out")
}

// A hook goes out by its proxy, and nowhere else, in a box with a network of its own too.
func TestJailedHookGoesByTheProxy(t *testing.T) {
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("fetched")) }))
	t.Cleanup(host.Close)
	at := host.Listener.Addr().String()
	for _, kind := range []string{jailtest.Landlock, work.BoxBubblewrap} {
		t.Run(kind, func(t *testing.T) {
			box := jailtest.Box(t, kind, []string{"/proc/self/exe", "check-shim"})
			self, err := os.Executable()
			require.NoError(t, err)
			j := jailtest.System(box).And(work.Jail{Proxied: true, Read: []string{self}})
			k, _ := hooking(t, &j, nil)
			link := &egress.Link{Allowed: func(string, stage.Role) []string { return []string{at} }}
			k.g = openGit(t, gitcli.Options{Root: k.root, Shim: []string{"/proc/self/exe", "check-shim"}, Jail: &j, Connect: func(ctx context.Context, repo string) (gitcli.Connection, error) {
				way, err := link.Check(ctx, repo, &j)
				return gitcli.Connection{Env: []string{"PROXY=" + way.Env["HTTP_PROXY"]}, Jail: way.Jail, Close: func() []work.Refusal {
					refused, err := way.Close()
					require.NoError(t, err)
					return refused
				}}, err
			}})
			said := k.hook(0, "sh", "-c", "curl -sS --noproxy '' -x $PROXY http://"+at+"/ >&2; curl -s --noproxy '*' http://"+at+"/ >&2; curl -s --noproxy '' -x $PROXY -o /dev/null http://evil.example.org/; exit 0")
			require.Equal(t, "fetched"+"the network refused evil.example.org:80\n", said)
		})
	}
}

// What was created once counts for as long as the role keeps something of it.
func TestCreatedOnce(t *testing.T) {
	t.Parallel()
	k, at := hooking(t, nil, nil)
	require.False(t, at.Created)
	write(t, at.Dir, ".gitignore", "node_modules\n")
	run(t, at.Dir, "add", ".gitignore")
	run(t, at.Dir, "commit", "--quiet", "-m", "ignore")
	k.take()
	install := func() { k.hook(0, "sh", "-c", "mkdir -p node_modules; echo x >node_modules/x") }
	install()
	require.False(t, k.reopen().Created, "it has ended in the middle")
	install()
	require.NoError(t, k.g.Created(t.Context(), k.space))
	at = k.reopen()
	require.True(t, at.Created)
	require.FileExists(t, filepath.Join(at.Dir, "node_modules", "x"))
	require.True(t, k.reopen().Created)
	require.NoError(t, os.RemoveAll(filepath.Join(at.Dir, "node_modules")))
	require.False(t, k.reopen().Created, "nothing is kept any more")

	install()
	require.NoError(t, k.g.Created(t.Context(), k.space))
	k.space.Role = stage.Tester
	require.False(t, k.reopen().Created, "another role has a place of its own")
	k.close()
	require.Error(t, k.g.Created(t.Context(), k.space))
}

// A hook that commits, or checks something else out, is refused, and nothing of it is taken
// for the agent's: not at once, and not by the next attempt.
func TestHooksDoNotCommit(t *testing.T) {
	t.Parallel()
	const as = "git config user.name h; git config user.email h@example.org; "
	for name, script := range map[string]string{
		"a commit":      as + "echo x >x; git add x; git commit -q -m x",
		"another head":  "git checkout -q --detach",
		"another name":  "git switch -q -c other",
		"an older head": "git reset -q --hard HEAD~1",
	} {
		k, at := hooking(t, nil, nil)
		head := commit(t, at.Dir, "mine.txt", "the agent's\n")
		require.Equal(t, head, k.take().SHA)
		_, _, err := k.g.RunHook(t.Context(), k.space, work.Hook{Argv: []string{"sh", "-c", script}})
		require.ErrorContains(t, err, "hooks must not", name)
		require.Equal(t, head, k.take().SHA, name)
		at = k.reopen()
		require.Equal(t, head, run(t, at.Dir, "rev-parse", "HEAD"), name)
		require.Equal(t, "feature/APP-1-cache", run(t, at.Dir, "branch", "--show-current"), name)
		head = commit(t, at.Dir, "more.txt", "the agent's\n")
		require.Equal(t, head, k.take().SHA, "%s: what the agent does goes on", name)
	}
}

// What an agent has committed is taken after a hook that keeps to the rule, and a service that
// dies while a hook works takes nothing of the hook.
func TestHooksAndCommits(t *testing.T) {
	t.Parallel()
	k, at := hooking(t, nil, nil)
	begin := k.take().SHA
	k.hook(0, "sh", "-c", "echo changed >README.md")
	head := commit(t, at.Dir, "mine.txt", "the agent's\n")
	k.hook(0, "true")
	require.Equal(t, head, k.take().SHA)
	require.NotEqual(t, begin, head)

	ctx, cancel := context.WithCancel(t.Context())
	old, ended := k.g, make(chan error, 1)
	go func() {
		_, _, err := old.RunHook(ctx, k.space, work.Hook{Argv: []string{"sh", "-c",
			"git config user.name h; git config user.email h@example.org; echo x >x; git add x; git commit -q -m x; exec sleep 4242"}})
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(running(t, "sleep\x004242\x00")) > 0 }, time.Minute, 10*time.Millisecond)
	k.shimmed(nil) // another process over the same directory
	require.Equal(t, head, k.take().SHA)
	at = k.reopen()
	require.Equal(t, head, run(t, at.Dir, "rev-parse", "HEAD"))
	require.NotEmpty(t, at.Left.Ref, "people find it")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// A hook is ended with its context, with all that it has started, and what clears the task away
// waits for that.
func TestHookIsEnded(t *testing.T) {
	t.Parallel()
	k, at := hooking(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := k.g.RunHook(ctx, k.space, work.Hook{Argv: []string{"sh", "-c", "trap '' TERM; setsid sleep 4241 & while :; do touch late; done"}})
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(running(t, "sleep\x004241\x00")) > 0 }, time.Minute, 10*time.Millisecond)
	cancel()
	k.close()
	require.Empty(t, running(t, "sleep\x004241\x00"))
	require.NoDirExists(t, at.Dir)
	require.ErrorIs(t, <-ended, context.Canceled)
}

// In the jail a hook has the checkout and its repository, as the agent has, and of the service's
// directories nothing else.
func TestHookInTheJail(t *testing.T) {
	t.Parallel()
	j := jail.System()
	k, at := hooking(t, &j, map[string]string{"bin/hook": "echo x >new && echo x >$HOME/x && git status >/dev/null || exit 3\n" +
		"cat $0 >/dev/null || exit 4\necho x >>$0 && exit 5\nls " + "../../../mirrors" + " && exit 6\nls .. && exit 7\nkill -0 $PPID && exit 8\nexit 0\n"})
	k.hook(0, "./bin/hook")
	require.FileExists(t, filepath.Join(at.Dir, "new"))
	_, err := os.Stat(filepath.Join(k.mirror(), "new"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
