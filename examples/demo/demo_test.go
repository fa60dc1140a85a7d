package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// TestMain lets the test's own program be the demo, and everything that the demo
// starts itself again as.
func TestMain(m *testing.M) {
	if os.Getenv("DEMO_MAIN") != "" || len(os.Args) > 1 && (os.Args[1] == "server" || os.Args[1] == "agent" || os.Args[1] == "agent-shim" || os.Args[1] == "check-shim") {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// demo plays the whole demonstration in a process of its own and returns its
// summary, in which every card has met its fate.
func demo(t *testing.T, args ...string) summary {
	t.Helper()
	s := played(t, args...)
	judge(t, s)
	return s
}

// judge fails unless every card has met its fate.
func judge(t *testing.T, s summary) {
	t.Helper()
	require.Equal(t, len(cards())+1, s.Tasks)
	require.Equal(t, 1, s.Undone)
	require.Equal(t, count(done), s.Done)
	require.Equal(t, count(stopped), s.Cancelled)
	require.Equal(t, count(blocked)+count(frozen), s.Explained)
	require.Zero(t, s.Duplicates)
	require.Zero(t, s.Lost)
	require.Greater(t, s.Replayed, 5*len(cards()), "every journal is decided again as it was")
}

// played plays the demonstration and returns its summary.
func played(t *testing.T, args ...string) summary {
	t.Helper()
	return playedBy(t, append([]string{os.Args[0], "-exit", "-limit", "30m", "-dir", t.TempDir()}, args...)...)
}

// long skips what make long plays: one whole demo is enough.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() && t.Name() != "TestDemo" {
		t.Skip("make long plays it")
	}
}

// playedBy is played by a command that runs the demonstration.
func playedBy(t *testing.T, argv ...string) summary {
	t.Helper()
	long(t)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), "DEMO_MAIN=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.NoError(t, err, "%s\n%s", errs.String(), out.String())
	var s summary
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s), "the last line is the summary")
	return s
}

// Every card meets its fate: done (with a red gate, with an agent that is killed,
// after another card, with a conflict on main), stopped by a person, Blocked by
// what its deployment did, or waiting for the repository that this has frozen.
func TestDemo(t *testing.T) {
	s := demo(t, "-speed", "20")
	require.GreaterOrEqual(t, s.AgentRuns, 45)
	require.Equal(t, 3, s.Retries, "a red build, a killed agent, a conflict with main")
	require.Positive(t, s.CostUSD)
	require.Empty(t, s.Missing, "every step of the tour is ticked off")
}

// The server is killed 25 times at random moments: nothing is lost, and nothing
// is seen twice.
func TestTwentyFiveKills(t *testing.T) {
	require.GreaterOrEqual(t, demo(t, "-speed", "8", "-kills", "25", "-seed", "7").Restarts, 25)
}

// The server is killed TORTURE times, on the store STORE, at random moments and within its calls, and 3 in 10 webhooks are lost.
// What the outside world has seen is judged after each 40.
func TestTorture(t *testing.T) {
	left, _ := strconv.Atoi(os.Getenv("TORTURE"))
	if left == 0 {
		t.Skip("make torture plays it")
	}
	args := []string{"-speed", "8", "-kills", "40", "-lose", "0.3"}
	if os.Getenv("STORE") == "postgres" {
		args = append(args, "-replicas", "3", "-pauses", "4", "-database-url", pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres"))
	}
	for seed := 1; left > 0; seed++ {
		s := demo(t, append(args, "-seed", strconv.Itoa(seed))...)
		left -= 40
		t.Logf("torture: seed %d, %d starts again in %.0f s, %d agents' runs, %d decisions again: nothing lost, nothing twice; %d kills left",
			seed, s.Restarts, s.Seconds, s.AgentRuns, s.Replayed, max(0, left))
	}
}

// Most webhooks never arrive, and everything ends as it should all the same.
func TestLostWebhooks(t *testing.T) {
	demo(t, "-speed", "20", "-lose", "0.8")
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{{"-speed", "0"}, {"-lose", "2"}, {"-nonsense"}, {"word"}} {
		var out bytes.Buffer
		require.Equal(t, 2, run(args, &out, &out), args)
	}
}

// The agent does the same again when it is run again.
func TestAgentIsIdempotent(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"config", "user.name", "x"}, {"config", "user.email", "x@example.org"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		require.NoError(t, cmd.Run())
	}
	var reports []string
	for range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "agent")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "DEMO_SPEED=1000", "DEMO_DIR="+t.TempDir(), "SIGNALBOX_ROLE=developer", "SIGNALBOX_STAGE=development", "SIGNALBOX_RUN=3",
			"SIGNALBOX_ATTEMPT=1", "SIGNALBOX_WORK_ITEM=GPX-1", "SIGNALBOX_DOCS=docs/work/GPX-1", "SIGNALBOX_TITLE=x")
		out, err := cmd.Output()
		require.NoError(t, err)
		reports = append(reports, string(out))
	}
	require.Equal(t, reports[0], reports[1])
	log, err := exec.CommandContext(t.Context(), "git", "-C", dir, "rev-list", "--count", "HEAD").Output()
	require.NoError(t, err)
	require.Equal(t, "1\n", string(log))
	require.FileExists(t, filepath.Join(dir, "src", "gpx-1.txt"))
}
