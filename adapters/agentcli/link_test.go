//go:build linux

package agentcli_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// turnstile is a Link of the test.
type turnstile struct {
	give agentcli.Opened
	fail error

	mu     sync.Mutex
	seen   agentcli.Seen
	runs   []agentcli.LinkedRun
	closed int
	lives  func() bool // a process of the execution is there
	alive  bool        // one was at the close
}

func (l *turnstile) Open(_ context.Context, x agentcli.LinkedRun) (agentcli.Opened, error) {
	if l.fail != nil {
		return agentcli.Opened{}, l.fail
	}
	l.runs = append(l.runs, x)
	o := l.give
	o.Look = func() agentcli.Seen {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.seen
	}
	o.Close = func() agentcli.Seen {
		l.closed++
		l.alive = l.lives != nil && l.lives()
		return o.Look()
	}
	return o, nil
}

func (l *turnstile) set(s agentcli.Seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = s
}

func linked(t *testing.T, links ...agentcli.Link) *agentcli.Runner {
	t.Helper()
	return newRunner(t, func(o *agentcli.Options) { o.Links = links })
}

// What a link gives is in the environment, the HOME and the command line of the execution, also
// what the allow-list would let by otherwise.
func TestLinkGives(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("ANTHROPIC_API_KEY", "sk-vendor")
	t.Setenv("ANTHROPIC_BASE_URL", "https://elsewhere.example")
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".claude"), 0o700))
	put(t, "{}", home, ".claude/.credentials.json")
	l := &turnstile{give: agentcli.Opened{
		Env:  map[string]string{"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_AUTH_TOKEN": "t"},
		Home: map[string]string{".claude/x/settings.json": "given"},
		Args: []string{"--last"},
	}}
	claude := filepath.Join(t.TempDir(), "claude")
	program(t, claude, `[ "$*" = "-p --last" ] || exit 3
[ -z "${ANTHROPIC_API_KEY+set}" ] && [ "$ANTHROPIC_BASE_URL $ANTHROPIC_AUTH_TOKEN" = "http://127.0.0.1:9 t" ] || exit 4
[ "$(cat $HOME/.claude/x/settings.json)" = given ] || exit 5
[ -e $HOME/.claude/.credentials.json ] && exit 6
echo done
`)
	c := command(t, "")
	c.Agent.Use = claude + " -p"
	without := linked(t).Run(t.Context(), c)
	require.Equal(t, 3, without.ExitCode, without.Reason)
	res := linked(t, l).Run(t.Context(), c)
	succeeded(t, res)
	require.Equal(t, "claude", l.runs[0].Tool)
	require.Equal(t, c.Run, l.runs[0].Run)
	require.Nil(t, res.Measured, "nothing was measured")
}

// What a link adds to the jail of an execution is that execution's alone.
func TestLinkOpensTheJail(t *testing.T) {
	t.Parallel()
	open := t.TempDir()
	l := &turnstile{give: agentcli.Opened{Jail: work.Jail{Write: []string{open}}}}
	for want, links := range map[string][]agentcli.Link{work.ResultOK: {l}, work.ResultFailed: nil} {
		r, _ := jailed(t, jailtest.Box(t, jailtest.Landlock, []string{"/proc/self/exe", "agent-shim"}), func(o *agentcli.Options) { o.Links = links })
		res := r.Run(t.Context(), command(t, "echo x >"+open+"/x && echo fine"))
		require.Equal(t, want, res.Kind, res.Reason)
	}
}

// The usage that a link has measured counts, and what the tool says is beside it.
func TestLinkMeasures(t *testing.T) {
	t.Parallel()
	measured := work.Usage{Model: "m2", Input: 40, Output: 2, MicroUSD: 700_000}
	told := work.Usage{Model: "m1", Output: 5, MicroUSD: 500_000}
	body := `echo '{"type":"usage","model":"m1","output_tokens":5,"cost_usd":0.5}'; echo '{"type":"result","text":"Done."}'`
	for name, c := range map[string]struct {
		seen agentcli.Seen
		want work.Usage
	}{
		"a price":  {agentcli.Seen{Usage: &measured, Estimated: true}, measured},
		"no price": {agentcli.Seen{Usage: &work.Usage{Input: 40}}, work.Usage{Model: "m1", Input: 40, MicroUSD: 500_000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := command(t, body)
			r := linked(t, &turnstile{}, &turnstile{seen: c.seen})
			res := r.Run(t.Context(), run)
			succeeded(t, res)
			require.Equal(t, c.want, res.Usage)
			require.Equal(t, &work.Measured{Told: told, Estimated: c.seen.Estimated}, res.Measured)
			require.True(t, res.Measured.Differs(res.Usage))
			require.Contains(t, steps(t, r, run), "usage")
		})
	}
}

// A run that a link stops ends so, while it works, and also when the tool has ended before it
// was seen, unless it was done.
func TestLinkStops(t *testing.T) {
	t.Parallel()
	stop := agentcli.Seen{Kind: work.ResultBudget, Why: "stopped: enough", Refused: []work.Refusal{{Host: "evil.example", Times: 1}}}
	late := &turnstile{}
	c := command(t, until("never"))
	r := linked(t, late)
	ended := make(chan work.Result)
	go func() { ended <- r.Run(t.Context(), c) }()
	waitFor(t, "it works", func() bool { return len(alive(t, strings.Trim(c.Agent.Use, "'"))) > 0 })
	late.set(stop)
	res := <-ended
	require.Equal(t, work.ResultBudget, res.Kind)
	require.Contains(t, res.Reason, "stopped: enough")
	require.Contains(t, steps(t, r, c), "note refused: evil.example")

	early := &turnstile{seen: stop}
	res = linked(t, early).Run(t.Context(), command(t, "echo words; exit 1"))
	require.Equal(t, work.ResultBudget, res.Kind)
	require.Equal(t, 1, early.closed)
	succeeded(t, linked(t, early).Run(t.Context(), command(t, `echo '{"type":"result","text":"Done."}'`)))
}

// What the vendor has said to the link is the trouble of a run that failed, in the tool's words.
func TestLinkFindsTrouble(t *testing.T) {
	t.Parallel()
	trouble := work.Trouble{Kind: work.TroubleLimit, Until: time.Date(2031, 5, 4, 8, 0, 0, 0, time.UTC)}
	l := &turnstile{seen: agentcli.Seen{Trouble: trouble}}
	res := linked(t, l).Run(t.Context(), command(t, "echo 'come back tomorrow' >&2; exit 1"))
	require.Equal(t, work.ResultFailed, res.Kind)
	require.Equal(t, trouble, res.Trouble)
	require.Contains(t, res.Reason, "come back tomorrow")
	res = linked(t, l).Run(t.Context(), command(t, "echo fine"))
	require.Equal(t, work.ResultOK, res.Kind)
	require.Zero(t, res.Trouble)
}

// A link is closed once, when nothing of the execution lives, on every way out.
func TestLinkIsClosedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		limit time.Duration
		later error
		want  string
	}{
		"it ends":        {body: "echo fine", want: work.ResultOK},
		"it is killed":   {body: "kill -9 $$", want: work.ResultFailed},
		"it hangs":       {body: until("never"), limit: time.Second, want: work.ResultTimeout},
		"it leaves some": {body: "trap '' TERM; (sleep 60; :) & echo fine", want: work.ResultOK},
		"a later link":   {body: "echo fine", later: errors.New("no way"), want: work.ResultFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := command(t, c.body)
			run.Agent.Timeout = cmp.Or(c.limit, run.Agent.Timeout)
			lives := func() bool { return len(alive(t, strings.Trim(run.Agent.Use, "'"))) > 0 }
			first, second := &turnstile{lives: lives}, &turnstile{fail: c.later}
			res := linked(t, first, second).Run(t.Context(), run)
			require.Equal(t, c.want, res.Kind, res.Reason)
			require.Equal(t, 1, first.closed)
			require.False(t, first.alive)
			if c.later != nil {
				require.Contains(t, res.Reason, "no way")
				require.Zero(t, second.closed, "it was not opened")
			}
		})
	}
	t.Run("it is cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		run := command(t, "touch here\n"+until("never"))
		l := &turnstile{}
		ended := make(chan work.Result)
		r := linked(t, l)
		go func() { ended <- r.Run(ctx, run) }()
		waitFor(t, "it works", func() bool {
			_, err := os.Stat(filepath.Join(run.Dir, "here"))
			return err == nil
		})
		cancel()
		require.Equal(t, work.ResultCancelled, (<-ended).Kind)
		require.Equal(t, 1, l.closed)
	})
}
