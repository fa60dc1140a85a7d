//go:build linux

package agentcli_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// jailed is a runner whose agents are confined to the system and what is their own.
func jailed(t *testing.T, box work.Box, change func(*agentcli.Options)) (r *agentcli.Runner, dir string) {
	t.Helper()
	dir = t.TempDir()
	o := options(dir)
	j := jailtest.System(box)
	self, err := os.Executable() // it is the shim
	require.NoError(t, err)
	j.Read = append(j.Read, self)
	o.Jail = &j
	if change != nil {
		change(&o)
	}
	r = newly(t, o)
	return r, dir
}

// inEachJail runs a test in every kind of jail that this machine has.
func inEachJail(t *testing.T, test func(t *testing.T, box work.Box)) {
	t.Helper()
	for _, kind := range jailtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, jailtest.Box(t, kind, []string{"/proc/self/exe", "agent-shim"}))
		})
	}
}

// An agent in the jail has its checkout, its git directory, its outbox, HOME and TMPDIR,
// and nothing of another task or of the service.
func TestJailedAgent(t *testing.T) {
	t.Parallel()
	inEachJail(t, jailedAgent)
}

func jailedAgent(t *testing.T, box work.Box) {
	r, dir := jailed(t, box, nil)
	foreign := filepath.Join(dir, "logs", "foreign")
	require.NoError(t, os.WriteFile(foreign, []byte("not yours"), 0o600))
	c := command(t, `echo x >here && echo x >"$HOME/x" && echo x >"$TMPDIR/x" && echo x >"$SIGNALBOX_REPORT" && cat "$SIGNALBOX_PROMPT_FILE" /dev/stdin >/dev/null || exit 3
echo said >/dev/stderr || exit 4
cat "`+foreign+`" && exit 5
ls "$(dirname "$SIGNALBOX_PROMPT_FILE")" && exit 6
echo x >"$(dirname "$HOME")/x" && exit 7
tr '\0' '\n' </proc/$PPID/environ && exit 8
kill -0 $PPID && exit 9
grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status || exit 10
grep -q '^CapBnd:[[:space:]]*0*$' /proc/self/status || test $(id -u) != 0 || exit 11
grep -q '^NoNewPrivs:[[:space:]]*1$' /proc/self/status || exit 12
grep -q '^Seccomp:[[:space:]]*2$' /proc/self/status || exit 13
echo done`)
	c.Report = "review.md"
	if box.Kind == work.BoxContainer {
		c.Jail.Read = append(c.Jail.Read, filepath.Dir(strings.Trim(c.Agent.Use, "'"))) // the script is not the image's
	}
	res := r.Run(t.Context(), c)
	succeeded(t, res)
	require.FileExists(t, filepath.Join(c.Dir, "here"))
	text, err := r.Report(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, "x\n", text)
	left, err := os.ReadDir(filepath.Join(dir, "homes"))
	require.NoError(t, err)
	require.Empty(t, left, "its HOME is gone")
}

// What cannot be confined is not run.
func TestJailThatCannotBeEntered(t *testing.T) {
	t.Parallel()
	inEachJail(t, unenterable)
}

func unenterable(t *testing.T, box work.Box) {
	r, dir := jailed(t, box, func(o *agentcli.Options) { o.Jail.Write = append(o.Jail.Write, "/no/such/directory") })
	c := command(t, `touch `+filepath.Join(dir, "ran")+`; touch ran`)
	res := r.Run(t.Context(), c)
	require.Equal(t, work.ResultFailed, res.Kind)
	require.Contains(t, res.Reason, "/no/such/directory")
	require.NoFileExists(t, filepath.Join(dir, "ran"))
	require.NoFileExists(t, filepath.Join(c.Dir, "ran"))

	r, dir = jailed(t, box, nil)
	c = command(t, "")
	planted := filepath.Join(t.TempDir(), "link") // a checkout that has become a link
	require.NoError(t, os.Symlink(dir, planted))
	c.Jail.Write = []string{planted}
	res = r.Run(t.Context(), c)
	require.Equal(t, work.ResultFailed, res.Kind)
	require.Contains(t, res.Reason, "symbolic link")
}

// Honest work goes on: git, builds, tests that listen, scripts.
func TestHonestWorkInTheJail(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{jailtest.Landlock, work.BoxBubblewrap} { // in a container the tools are its image's
		t.Run(kind, func(t *testing.T) { honestWork(t, jailtest.Box(t, kind, []string{"/proc/self/exe", "agent-shim"})) })
	}
}

func honestWork(t *testing.T, box work.Box) {
	for name, body := range map[string]string{
		"git": `git init -q repo && cd repo && git config user.email a@b && git config user.name n && echo x >f && git add f && git commit -qm m && git clone -q . ../copy && git -C ../copy log --oneline`,
		"go": `cat >go.mod <<E
module m
E
cat >m_test.go <<E
package m
import ("net"; "testing")
func TestM(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil { t.Fatal(err) }
	if _, err := net.Dial("tcp4", l.Addr().String()); err != nil { t.Fatal(err) }
}
E
CGO_ENABLED=0 go test -vet=off .`,
		"node": `node -e 'const s = require("http").createServer((q, r) => r.end("ok")).listen(0, "127.0.0.1", () => fetch("http://127.0.0.1:" + s.address().port).then(r => r.text()).then(t => {
	require("child_process").execSync("echo " + t); require("fs").writeFileSync(require("os").tmpdir() + "/x", t); new (require("worker_threads").Worker)("1", {eval: true}).on("exit", () => process.exit(0)) }))'`,
		"npm":    `npm --version`,
		"sh":     `printf 'b\na\n' | sort | (while read l; do echo "$l"; done) >out; mkfifo p; (echo x >p &); cat p; ln -s out l; ln out h; mv h h2; cp -p out c; chmod 700 c; tar cf t.tar out; timeout 5 true; xargs -n1 echo <out`,
		"python": `python3 -c 'import subprocess, tempfile, threading; subprocess.check_call(["true"]); tempfile.NamedTemporaryFile()'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name == "go" {
				t.Skip("make long plays it: Go's build cache is empty")
			}
			if _, err := exec.LookPath(name); err != nil && name != "python" {
				t.Skipf("%s is missing", name)
			}
			if _, err := os.Stat("/usr/bin/python3"); name == "python" && err != nil {
				t.Skip("python3 is missing")
			}
			r, _ := jailed(t, box, func(o *agentcli.Options) { o.Jail.Ports = []work.Ports{{First: 32768, Last: 60999}} })
			c := command(t, "set -e; PATH=/usr/bin:$PATH\n"+body+"\necho done")
			c.Agent.Timeout = 5 * time.Minute
			res := r.Run(t.Context(), c)
			succeeded(t, res)
		})
	}
}

// A box does not stand between the agent and the order to stop: it arrives, and has its
// grace.
func TestATermIsHeardInTheJail(t *testing.T) {
	t.Parallel()
	inEachJail(t, func(t *testing.T, box work.Box) {
		c := command(t, `trap 'echo bye >bye; exit 143' TERM; echo started >started; while :; do sleep 0.02; done`)
		c.Jail.Read = []string{filepath.Dir(strings.Trim(c.Agent.Use, "'"))}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			waitFor(t, "the agent starts", func() bool { return exists(filepath.Join(c.Dir, "started")) })
			cancel()
		}()
		r, _ := jailed(t, box, func(o *agentcli.Options) { o.TermGrace = 20 * time.Second })
		res := r.Run(ctx, c)
		require.Equal(t, work.ResultCancelled, res.Kind, res.Reason)
		require.Equal(t, 143, res.ExitCode)
		require.FileExists(t, filepath.Join(c.Dir, "bye"))
	})
}

// Nothing outlives a run in a jail, whatever was killed, as the kernel may when memory is short: not what has left its session, its
// parents and its environment, and not the container.
func TestKilledShimOfAJail(t *testing.T) {
	t.Parallel()
	inEachJail(t, func(t *testing.T, box work.Box) {
		day := aDay(t)
		c := command(t, `(cd /; exec env -i setsid sh -c 'trap "" TERM; sleep `+day+`; true') &
trap '' TERM
echo started >started
sleep `+day)
		c.Jail.Read = []string{filepath.Dir(strings.Trim(c.Agent.Use, "'"))}
		r, dir := jailed(t, box, nil)
		go func() {
			waitFor(t, "the agent starts", func() bool { return exists(filepath.Join(c.Dir, "started")) && len(alive(t, "sleep\x00"+day)) >= 2 })
			waitFor(t, "the shim has looked", func() bool { // what has dropped the mark it notes, once a second; a box needs no note
				records, _ := filepath.Glob(filepath.Join(dir, "state", "*.json"))
				for _, name := range records {
					var rec struct {
						Shim   struct{ PID int }
						Strays []any
					}
					body, err := os.ReadFile(name)
					if err != nil || json.Unmarshal(body, &rec) != nil || rec.Shim.PID == 0 || len(rec.Strays) == 0 && box.Kind == "" {
						continue
					}
					return syscall.Kill(rec.Shim.PID, syscall.SIGKILL) == nil
				}
				return false
			})
		}()
		res := r.Run(t.Context(), c)
		require.Equal(t, work.ResultFailed, res.Kind)
		require.Equal(t, -1, res.ExitCode)
		require.Contains(t, res.Reason, "supervisor was killed")
		require.Empty(t, alive(t, "sleep\x00"+day))
		left, err := filepath.Glob(filepath.Join(dir, "state", "*"))
		require.NoError(t, err)
		require.Empty(t, left)
		if box.Kind == work.BoxContainer {
			out, err := exec.CommandContext(t.Context(), box.Program, "ps", "--all", "--quiet", "--filter", "name=signalbox-").Output()
			require.NoError(t, err)
			require.Empty(t, strings.TrimSpace(string(out)))
		}
	})
}
