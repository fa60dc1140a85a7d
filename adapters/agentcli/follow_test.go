//go:build linux

package agentcli_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// steps reads what is kept of a run's steps, as a kind and its words each.
func steps(t testing.TB, r *agentcli.Runner, c work.Command) (out []string) {
	t.Helper()
	f, err := r.OpenLog(t.Context(), work.LogName{TaskID: c.TaskID, Role: c.Role, Run: c.Run, Attempt: c.Attempt, Stream: work.StreamSteps})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s work.Step
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s), lines.Text())
		require.NotZero(t, s.At)
		out = append(out, strings.TrimSpace(string(s.Kind)+" "+s.Tool+s.Text+s.Path))
	}
	return out
}

// until is a line of a script that waits for a file of the checkout.
func until(name string) string { return "while ! [ -e " + name + " ]; do sleep 0.01; done\n" }

func touch(t testing.TB, c work.Command, name string) {
	t.Helper()
	put(t, "", c.Dir, name)
}

// What an agent does is there to read while it works, without secrets and as it stays.
func TestStepsOfARun(t *testing.T) {
	t.Parallel()
	r := newRunner(t, func(o *agentcli.Options) { o.Hidden = secret.NewRedactor("very-secret-value") })
	c := command(t, `echo '{"type":"tool","tool":"bash","text":"curl very-secret-val\u0075e"}'
echo '{"type":"file","path":"'"$PWD"'/cache.go"}'
`+until("go")+`echo '{"type":"usage","model":"m1","output_tokens":5,"cost_usd":0.5}'
echo '{"type":"result","text":"Done.","session":"s-1"}'`)
	ended := make(chan work.Result)
	go func() { ended <- r.Run(t.Context(), c) }()
	want := []string{"tool bashcurl *****************", "file cache.go"}
	waitFor(t, "its first steps are there", func() bool { return len(steps(t, r, c)) == len(want) })
	require.Equal(t, want, steps(t, r, c))
	touch(t, c, "go")
	res := <-ended
	succeeded(t, res)
	require.Equal(t, "Done.", res.Summary)
	require.Equal(t, "s-1", res.SessionID)
	require.Equal(t, work.Usage{Model: "m1", Output: 5, MicroUSD: 500_000}, res.Usage)
	require.Equal(t, append(want, "usage"), steps(t, r, c))
}

// A run that has cost its limit is ended, by its own word or by the price of its tokens.
func TestRunReachesItsBudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage string
		want  string
	}{
		"a cost":   {`"cost_usd":3`, work.ResultBudget},
		"tokens":   {`"model":"m1","output_tokens":3000000`, work.ResultBudget},
		"unpriced": {`"model":"m2","output_tokens":3000000`, work.ResultOK},
		"less":     {`"cost_usd":2.4`, work.ResultOK},
		"finished": {`"cost_usd":3}` + "'; echo '" + `{"type":"result","text":"done"`, work.ResultOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, func(o *agentcli.Options) { o.Prices = map[string]agentcli.Price{"m1": {Output: 1_000_000}} })
			cmd := command(t, `echo '{"type":"usage",`+c.usage+`}'; echo thinking >&2`+"\n"+until("go"))
			cmd.Agent.MicroUSD = 2_500_000
			if c.want == work.ResultOK {
				go func() {
					waitFor(t, "it was looked at", func() bool { return len(steps(t, r, cmd)) > 0 })
					touch(t, cmd, "go")
				}()
			}
			res := r.Run(t.Context(), cmd)
			require.Equal(t, c.want, res.Kind, res.Reason)
			if c.want == work.ResultBudget {
				require.Equal(t, "stopped: it has cost 3 USD, and its limit is 2.5 USD; the tool's last words: thinking", res.Reason)
				require.EqualValues(t, 3_000_000, res.Usage.MicroUSD)
				require.Equal(t, []string{"usage", "note stopped: it has cost 3 USD, and its limit is 2.5 USD"}, steps(t, r, cmd))
			}
			if name == "unpriced" {
				require.Equal(t, []string{"note what m2 costs is not known: the limit of 2.5 USD cannot end this run", "usage"}, steps(t, r, cmd))
			}
		})
	}
}

// An agent that makes the same call again and again is ended, unless it changes something by that.
func TestRunRepeatsItself(t *testing.T) {
	t.Parallel()
	const call = `echo '{"type":"tool","tool":"bash","text":"make","result":"make: *** [all] Error 1"}'; `
	for name, c := range map[string]struct{ body, want string }{
		"to no effect":         {call, work.ResultStuck},
		"and changes the tree": {call + "echo $i >> made.txt; ", work.ResultOK},
		"and has finished":     {call + `echo '{"type":"result","text":"done"}'; `, work.ResultOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			cmd := command(t, `echo '{"type":"usage","model":"m1","output_tokens":7,"cost_usd":0.5}'`+"\nfor i in 1 2 3 4 5; do for j in 1 2 3 4 5 6 7 8; do "+c.body+"done; sleep 0.6; done; echo '"+`{"type":"result","text":"done"}`+"'")
			res := r.Run(t.Context(), cmd)
			require.Equal(t, c.want, res.Kind, res.Reason)
			if c.want == work.ResultStuck {
				const why = `stopped: 12 of its last 12 calls were bash "make", each with the same result; nothing in its checkout has changed meanwhile; the run has used 7 tokens so far, which cost 0.5 USD`
				require.Equal(t, why, res.Reason)
				all := steps(t, r, cmd)
				require.Equal(t, "note "+why, all[len(all)-1])
			}
		})
	}
}

// An agent that prints nothing for long is ended; one that prints now and then is not. What is done by then is kept.
func TestStall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ says, want string }{
		"goes on": {"", work.ResultOK},
		"stalls":  {"", work.ResultStalled},
		"is done": {`echo '{"type":"result","text":"Done."}'; `, work.ResultOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var passed atomic.Int64
			r := newRunner(t, func(o *agentcli.Options) {
				o.Now = func() time.Time { return time.Unix(1_000_000_000, passed.Load()) }
			})
			cmd := command(t, "echo one\n"+until("a")+"echo two\n"+until("b")+"echo 'waiting for \033[1mnetwork\033[0m' >&2; "+c.says+"echo three\n"+until("c"))
			cmd.Agent.Timeout = time.Hour
			ended := make(chan work.Result)
			go func() { ended <- r.Run(t.Context(), cmd) }()
			for i, next := range []string{"a", "b", "c"} {
				waitFor(t, "it prints, and goes on", func() bool { return len(steps(t, r, cmd)) == i+1 })
				if next == "c" && name != "goes on" {
					passed.Add(int64(31 * time.Minute))
					break
				}
				passed.Add(int64(20 * time.Minute))
				touch(t, cmd, next)
			}
			res := <-ended
			require.Equal(t, c.want, res.Kind)
			if c.want == work.ResultStalled {
				require.Equal(t, "stopped: it printed nothing for 30m0s; the tool's last words: waiting for network", res.Reason)
			}
		})
	}
}

// A tool that waits for its vendor before a model has said a word is ended after a minute; what
// an agent lets it print later ends nothing.
func TestWaitingForTheVendor(t *testing.T) {
	t.Parallel()
	const limit = `echo 'timestamp=T level=ERROR message="stream error" error.error="AI_APICallError: The usage limit has been reached"' >&2; `
	const words = `echo '{"type":"text","part":{"text":"I begin."}}'; `
	for name, c := range map[string]struct{ script, want, reason string }{
		"before it worked": {limit, work.ResultFailed, "stopped: it waits for its vendor; the tool's last words: The usage limit has been reached"},
		"behind its words": {words + limit, work.ResultStalled, "stopped: it printed nothing for 3m0s; the tool's last words: " + strings.Trim(limit[len("echo "):], "'&;>2 ")},
		"something else":   {"echo thinking >&2; ", work.ResultStalled, "stopped: it printed nothing for 3m0s; the tool's last words: thinking"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var passed atomic.Int64
			r := newRunner(t, func(o *agentcli.Options) {
				o.Now = func() time.Time { return time.Unix(1_000_000_000, passed.Load()) }
				o.Presets = map[string]agentcli.Preset{"o": {Argv: []string{"sh", "-c", c.script + "touch printed; exec sleep 1000"}, Format: agentout.OpenCode}}
			})
			cmd := command(t, "")
			cmd.Agent = work.Agent{Use: "o", Timeout: time.Hour, Stall: 3 * time.Minute}
			ended := make(chan work.Result)
			go func() { ended <- r.Run(t.Context(), cmd) }()
			waitFor(t, "it has printed", func() bool { _, err := os.Stat(filepath.Join(cmd.Dir, "printed")); return err == nil })
			waits := time.NewTicker(20 * time.Millisecond)
			defer waits.Stop()
			var res work.Result
			for res.Kind == "" {
				select {
				case res = <-ended:
				case <-waits.C: // each look comes before half a minute has passed
					passed.Add(int64(time.Second))
				}
			}
			require.Equal(t, c.want, res.Kind, res.Reason)
			require.Equal(t, c.reason, res.Reason)
			require.Equal(t, c.want == work.ResultFailed, res.Trouble.Kind == work.TroubleLimit)
		})
	}
}

// What the tool said last is not lost when it is stopped.
func TestTimeoutHasTheToolsReason(t *testing.T) {
	t.Parallel()
	r := newRunner(t, func(o *agentcli.Options) {
		o.Presets = map[string]agentcli.Preset{"c": {Argv: []string{"sh", "-c", `echo '{"type":"error","message":"Reconnecting… waiting for network"}'; sleep 1000`}, Format: agentout.Codex}}
	})
	c := command(t, "")
	c.Agent = work.Agent{Use: "c", Timeout: 300 * time.Millisecond}
	res := r.Run(t.Context(), c)
	require.Equal(t, work.ResultTimeout, res.Kind)
	require.Equal(t, "stopped after 300ms; the tool's last words: Reconnecting… waiting for network", res.Reason)
	require.Zero(t, res.Trouble)
}

// Of a run that was cut off, tokens count only when their price is known: a budget takes one
// that says nothing for its estimate, and one without a price for all that there is.
func TestUsageOfACutRun(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]work.Usage{"m1": {Model: "m1", Output: 5, MicroUSD: 5}, "m2": {Model: "m2"}} {
		r := newRunner(t, func(o *agentcli.Options) {
			o.Presets = map[string]agentcli.Preset{"c": {Argv: []string{"echo", `{"type":"assistant","message":{"model":"` + name + `","content":[{"type":"text","text":"x"}],"usage":{"output_tokens":5}}}`}, Format: agentout.Claude}}
			o.Prices = map[string]agentcli.Price{"m1": {Output: 1_000_000}}
		})
		c := command(t, "")
		c.Agent.Use = "c"
		require.Equal(t, want, r.Run(t.Context(), c).Usage)
	}
}

// What is wrong with the tool itself is said, of failures that are the tool's.
func TestTrouble(t *testing.T) {
	t.Parallel()
	const login = `{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key"}`
	const retried = `echo '{"type":"system","subtype":"api_retry","attempt":2,"error_status":429,"error":"rate_limit"}'; `
	for name, c := range map[string]struct {
		script string
		kind   string
		want   work.TroubleKind
		reason string
	}{
		"a failure":                {"echo '" + login + "'; exit 1", work.ResultFailed, work.TroubleLogin, "Invalid API key"},
		"a success":                {"echo '" + login + `'; echo '{"type":"result","subtype":"success","result":"Invalid API key"}'`, work.ResultOK, "", ""},
		"a forged end":             {"echo '" + login + "'; exit 0", work.ResultFailed, "", "Invalid API key"},
		"a refused key":            {`echo '{"type":"system","subtype":"api_retry","attempt":3,"error_status":401,"error":"authentication_failed"}'; sleep 1000`, work.ResultFailed, work.TroubleLogin, "stopped: it tries again what cannot succeed; the tool's last words: the answer of the API was authentication_failed (401)"},
		"a tool killed":            {"echo '" + login + "'; kill -9 $$", work.ResultFailed, "", "Invalid API key"},
		"its own parser":           {`echo "error: unknown option '--verbose'" >&2; for i in 1 2 3; do echo usage >&2; done; exit 1`, work.ResultFailed, work.TroubleOutdated, "exit code 1: error: unknown option '--verbose'"},
		"its own limit":            {`echo '{"type":"result","subtype":"error_max_budget_usd","is_error":true,"errors":["Reached maximum budget ($1)"],"total_cost_usd":1.2}'; exit 1`, work.ResultBudget, "", "stopped: it has cost 1.2 USD, and its limit is 1 USD: Reached maximum budget ($1)"},
		"another form":             {`echo "version 9 speaks"`, work.ResultOK, "", ""},
		"a limit to its time-out":  {retried + "sleep 1000", work.ResultTimeout, work.TroubleLimit, "stopped after 1s; the tool's last words: the answer of the API was rate_limit (429)"},
		"a limit behind its words": {retried + `echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I begin."}]}}'; sleep 1000`, work.ResultTimeout, "", "stopped after 1s; the tool's last words: the answer of the API was rate_limit (429)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, func(o *agentcli.Options) {
				o.Presets = map[string]agentcli.Preset{"c": {Argv: []string{"sh", "-c", c.script}, Format: agentout.Claude, Vendor: "anthropic"}}
			})
			cmd := command(t, "")
			cmd.Agent = work.Agent{Use: "c", MicroUSD: 1_000_000}
			if c.kind == work.ResultTimeout {
				cmd.Agent.Timeout = time.Second
			}
			res := r.Run(t.Context(), cmd)
			require.Equal(t, c.kind, res.Kind, res.Reason)
			require.Equal(t, work.Trouble{Kind: c.want}, res.Trouble)
			require.Equal(t, c.reason, res.Reason)
			require.Equal(t, "c anthropic", res.Agent+" "+res.Vendor)
			if name == "another form" {
				require.Equal(t, "version 9 speaks", res.Summary)
				require.Equal(t, []string{"note the output of sh has not the form that was expected: what it printed is taken for its words, and its cost is not known"}, steps(t, r, cmd))
			}
		})
	}
	r := newRunner(t, func(o *agentcli.Options) {
		o.Presets = map[string]agentcli.Preset{"g": {Argv: []string{"sh", "-c", "echo 'Attempt 3 failed with status 429. Retrying with backoff...' >&2; sleep 1000"}, Format: agentout.Gemini}}
	})
	cmd := command(t, "")
	cmd.Agent = work.Agent{Use: "g", Timeout: time.Second}
	require.Equal(t, work.TroubleLimit, r.Run(t.Context(), cmd).Trouble.Kind)
	cmd = command(t, "")
	cmd.Agent.Use = "no-such-agent --x"
	res := newRunner(t).Run(t.Context(), cmd)
	require.Equal(t, work.TroubleMissing, res.Trouble.Kind)
	require.Contains(t, res.Reason, "no-such-agent is not installed")
	cmd = command(t, "echo no-such-agent is not installed >&2; exit 127")
	require.Zero(t, newRunner(t).Run(t.Context(), cmd).Trouble)
}
